#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# usermap batch: quoting, comments, the first failure ends it.
. "$(dirname "$0")/lib.sh"

run map create flows type hash key 4 value 8 entries 16 name flows
cat >"$T/good" <<'END'
# a comment

map update name flows key u32 1 value u64 1	# behind a command
  map lookup "name" 'flows' \
	key 1 0 0 0
map getnext name flows
END
check good 0 $'key: 01 00 00 00  value: 01 00 00 00 00 00 00 00\nkey: None\nnext key:\n01 00 00 00\nprocessed 3 commands' '' \
	batch file "$T/good"
check good_json 0 '[[]{"command":[[]"map","update","name","flows","key","u32","1","value","u64","1"],"output":null},{"command":[[]"map","lookup","name","flows","key","1","0","0","0"],"output":{"key":[[]*],"value":[[]*]}},{"command":[[]*],"output":{"key":null,"next_key":*}}]' '' \
	-j batch file "$T/good"
check good_pretty 0 $'[[]\n    {\n        "command": *\n        "output": null\n    },\n    {*}\n]' '' \
	-p batch file "$T/good"

cat >"$T/absent" <<'END'
map lookup name flows key u32 9
map delete name flows key u32 1
END
check first_failure_ends_it 254 $'key:\n09 00 00 00\n\nNot found' '' batch file "$T/absent"
check first_failure_json 254 '[[]{"command":[[]*],"output":null}]' '' -j batch file "$T/absent"
check the_rest_was_not_run 0 'key: 01*' '' map lookup name flows key u32 1
echo 'map delete name flows key u32 9' >"$T/delete"
check error_text 254 '' 'Error: delete failed: No such file or directory' batch file "$T/delete"
check error_json 254 '[[]{"command":[[]*],"output":{"error":"delete failed: No such file or directory"}}]' '' \
	-j batch file "$T/delete"
echo "map lookup name 'flows" >"$T/quote"
check open_quote 255 '' 'Error: line 1: a quote does not end' batch file "$T/quote"
check open_quote_json 255 '[[]{"error":"line 1: a quote does not end"}]' '' -j batch file "$T/quote"
echo 'batch file x' >"$T/nested"
check nested 255 '' "Error: a batch can't run another batch" batch file "$T/nested"
echo 'map nonesuch' >"$T/unknown"
check unknown 255 '' $'Error: unknown command \'map nonesuch\'\nUsage: *' batch file "$T/unknown"
check unknown_json 255 '[[]{"command":[[]*],"output":{"error":"*"}}]' '' -j batch file "$T/unknown"
: >"$T/empty"
check empty 0 'processed 0 commands' '' batch file "$T/empty"
check empty_json 0 '[[]]' '' -j batch file "$T/empty"
printf 'map dump name flows\\' >"$T/no_end"
check no_line_end 0 $'key: 01*\nFound 1 element\nprocessed 1 commands' '' batch file "$T/no_end"
check no_file 255 '' "Error: Can't open file ($T/none): No such file or directory" \
	batch file "$T/none"
check a_folder 255 '' "Error: Can't read file ($T): *" batch file "$T"
check too_few 255 '' 'Error: too few parameters for batch*' batch
check standard_input 0 $'*Found 1 element\nprocessed 1 commands' '' \
	batch file - < <(echo map dump name flows)
finish
