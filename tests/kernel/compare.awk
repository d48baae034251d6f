# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# compare.awk - usermap's answers against the kernel's, line by line. Files:
# known differences, the kernel's answers, usermap's. Exits 1 if they disagree.

function fail(text) {
	print name ":" FNR ": " text
	failed = 1
}

# a map that usermap can make: type HASH, no lock in the value
function is_hash(	i) {
	for (i = 3; i < NF - 1; i++)
		if ($i ~ /^type=/ && $i != "type=hash" && $i != "type=1" || $i == "btf=lock")
			return 0
	return 1
}

FNR == 1 { file++ }

file == 1 {
	if ($1 == name)
		known[substr($0, length(name) + 2)] = 1
	next
}

file == 2 { want[FNR] = $0; lines = FNR; next }

$1 == "create" { hash[$2] = is_hash() }

$0 in known { used[$0] = 1; next }

$NF == "SKIP" {
	if ($1 !~ /_batch$/ && hash[$2])
		fail("skipped, although it is about a HASH map: " $0)
	skipped++
	next
}

$0 != want[FNR] { fail("kernel  " want[FNR] "\n" name ":" FNR ": usermap " $0) }

{ compared++ }

END {
	if (FNR != lines)
		fail(FNR " answers instead of " lines)
	for (line in known)
		if (!(line in used))
			fail("this known difference is not there: " line)
	if (!compared)
		fail("nothing compared")
	printf "%s: %d lines as the kernel, %d skipped, %d known differences\n", name, compared,
		skipped, length(used)
	exit failed
}
