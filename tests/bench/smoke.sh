#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# smoke.sh USERMAP_BENCH CHECK_JSON ROWS IMPL BENCH OPTION... - one back end for a moment.
#
# The figures do not matter, but every operation must have ended as it is meant
# to, and the JSON must be as it must be. Skips where the back end cannot run.
set -u
bench=$1 check=$2 rows=$3 impl=$4
shift 4
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

"$bench" -w 0 -d 0.05 --repeat 2 --impl "$impl" -j "$dir/out.json" "$@" >"$dir/out" 2>"$dir/err"
status=$?
cat "$dir/out"
cat "$dir/err" >&2
if [ $status -eq 1 ] && grep -q "^usermap-bench: $impl cannot run here: " "$dir/err"; then
	exit 77
fi
[ $status -eq 0 ] || exit 1
"$check" "$dir/out.json" "$rows"
