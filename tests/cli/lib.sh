# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# lib.sh - what the tests of the command share; to be sourced by bash.
#
#   check NAME STATUS STDOUT STDERR ARGUMENT...
#
# runs usermap with the arguments and compares. STDOUT and STDERR are patterns
# of bash, for the text without its last line feeds. What -j or -p printed is
# read by a JSON parser at the end, in finish.
set -u

usermap=$1
T=$(mktemp -d "${TMPDIR:-/dev/shm}/usermap-cli.XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT
mkdir "$T/maps" "$T/json"
export USERMAP_DIR=$T/maps
cases=0
failures=0

fail()
{
	failures=$((failures + 1))
	printf 'FAIL %s\n' "$@"
}

run()
{
	"$usermap" "$@" >"$T/out" 2>"$T/err"
	status=$?
}

check()
{
	local name=$1 want=$2 out=$3 err=$4
	shift 4
	cases=$((cases + 1))
	run "$@"
	local got_out got_err
	got_out=$(<"$T/out")
	got_err=$(<"$T/err")
	if [ "$status" != "$want" ]; then
		fail "$name: exit $status, not $want" "$got_out" "$got_err"
	elif [[ $got_out != $out ]]; then
		fail "$name: printed" "$got_out" "instead of" "$out"
	elif [[ $got_err != $err ]]; then
		fail "$name: said" "$got_err" "instead of" "$err"
	fi
	case ${1-} in
	-*[jp]*) cp "$T/out" "$T/json/$cases-$name" ;;
	esac
}

# assert NAME COMMAND...: the command succeeds
assert()
{
	local name=$1
	shift
	cases=$((cases + 1))
	"$@" || fail "$name"
}

all_json()
{
	/usr/bin/python3 - "$T"/json/* <<-'END'
		import json, sys
		bad = 0
		for path in sys.argv[1:]:
		    try:
		        json.load(open(path, encoding="utf-8"))
		    except ValueError as error:
		        print("FAIL", path.split("/")[-1], "is not JSON:", error)
		        bad = 1
		sys.exit(bad)
	END
}

finish()
{
	[ -z "$(ls "$T/json")" ] || assert json_is_valid all_json
	echo "$cases cases, $failures failed"
	[ "$failures" = 0 ]
	exit
}

# The number a map's file carries.
id_of()
{
	run -j map show "$@"
	sed 's/^{"id":\([0-9]*\),.*/\1/' "$T/out"
}
