# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# example.awk - the program in the section EXAMPLES of a manual page.
/^\.Sh/ { examples = $2 == "EXAMPLES" }
/^\.Ed/ { inside = 0 }
inside {
	gsub(/\\&/, "")
	gsub(/\\e/, "\\")
	print
}
examples && /^\.Bd -literal/ { inside = 1 }
