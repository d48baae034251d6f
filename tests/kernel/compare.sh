#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# compare.sh ORACLE NAME [differences] - play scripts/NAME.txt and compare the
# answers with expected/NAME.out, the kernel's.
#
# Without a third argument every line must be the same. With it, ORACLE plays
# against usermap: SKIP is taken on lines about maps of another type than HASH
# and on batch calls, and the lines written in that file are the known
# differences, each of which must be there.

here=$(dirname "$0")
got=$(mktemp) || exit 99
trap 'rm -f "$got"' EXIT

"$1" "$here/scripts/$2.txt" >"$got"
status=$?
[ $status -eq 0 ] || exit $status

if [ $# -eq 2 ]; then
	diff "$here/expected/$2.out" "$got"
	exit
fi
awk -v name="$2" -f "$here/compare.awk" "$3" "$here/expected/$2.out" "$got"
