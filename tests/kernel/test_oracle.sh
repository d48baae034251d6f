#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# test_oracle.sh - what usermap-oracle refuses, it says, with status 2.
set -u

oracle=$1
failed=0

# refused PATTERN ARGUMENT...
refused() {
	local pattern=$1 out status
	shift
	out=$("$oracle" "$@" 2>&1 >/dev/null)
	status=$?
	if [ $status -ne 2 ] || [[ $out != $pattern ]]; then
		echo "FAIL: usermap-oracle $*: exit $status: $out"
		failed=1
	fi
}

refused '*: cannot read the script /: Is a directory' /
refused '*: cannot read the script /no/such: No such file or directory' /no/such
refused '*: unknown option --nonesuch*usage: *' --nonesuch
refused '*: unknown option -Z*usage: *' -Z /dev/null
refused 'usage: *'
refused 'usage: *' one two
"$oracle" /dev/null || failed=1
"$oracle" --help | grep -q '^usage: ' || failed=1
exit $failed
