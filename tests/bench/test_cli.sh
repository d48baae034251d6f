#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# test_cli.sh USERMAP_BENCH - exit statuses and sentences of the command itself.
set -u
bench=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0

# expect STATUS TEXT ARGUMENT... - the status, and TEXT in what it says
expect() {
	want=$1 text=$2
	shift 2
	"$bench" "$@" >"$dir/all" 2>&1
	got=$?
	if [ $got -ne "$want" ] || ! grep -qF -e "$text" "$dir/all"; then
		echo "usermap-bench $*: status $got, not $want with '$text':" >&2
		cat "$dir/all" >&2
		bad=1
	fi
}

expect 0 '- htab-lookup' -l
expect 0 'Available benchmarks:' --list
expect 0 '  table-lock ' -l
expect 0 'Usage: usermap-bench' -h
expect 2 'benchmark name is not specified'
expect 2 "benchmark 'nonesuch' not found" nonesuch
expect 2 "benchmark 'nonesuch' not found" htab-lookup nonesuch
expect 2 "back end 'nonesuch' not found" --impl usermap,nonesuch htab-lookup
expect 2 '-p takes whole numbers from 1 to 1024' -p x htab-lookup
expect 2 '--entries has 5 twice' --entries 5,5 htab-lookup
expect 2 'unrecognized option' --nonesuch htab-lookup
expect 2 'no consuming threads' -c 1 htab-lookup
expect 2 'give --entries 4 or more' -p 4 --entries 2 htab-update
expect 2 'keys of 1 bytes are too few' --key 1 --entries 200 htab-lookup
expect 1 "cannot write $dir/none/x.json" -j "$dir/none/x.json" htab-lookup
expect 0 'table-lock is left out of htab-lookup' --impl table-lock htab-lookup
expect 0 'at --cpus 1000' --impl usermap,kernel --cpus 1000 -w 0 -d 0.01 --repeat 1 \
	--entries 100 htab-lookup

# What is wrong with the second benchmark is said before the first one runs.
expect 2 'no consuming threads' -c 1 htab-lookup htab-update
if grep -q 'started' "$dir/all"; then
	echo "a benchmark ran before the options of all were looked at" >&2
	bad=1
fi

# A refused command leaves the file that was there alone.
echo before >"$dir/old.json"
"$bench" -j "$dir/old.json" -c 1 htab-lookup 2>/dev/null
[ "$(cat "$dir/old.json")" = before ] || {
	echo "a refused command changed the file of -j" >&2
	bad=1
}
# And makes none.
"$bench" -j "$dir/new.json" -c 1 htab-lookup 2>/dev/null
[ ! -e "$dir/new.json" ] || {
	echo "a refused command made the file of -j" >&2
	bad=1
}

# -q leaves the tables only.
"$bench" -q -w 0 -d 0.01 --repeat 1 --entries 100 --impl usermap htab-lookup \
	>"$dir/out" 2>"$dir/err"
grep -q "Benchmark 'htab-lookup'" "$dir/out" && bad=1
[ ! -s "$dir/err" ] || bad=1
exit $bad
