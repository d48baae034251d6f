#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# What each command says when it fails, and its exit status, plain and in JSON.
. "$(dirname "$0")/lib.sh"

F=$T/maps/flows
fails()
{
	local name=$1 want=$2 text=$3
	shift 3
	check "$name" "$want" '' "Error: $text" "$@"
	check "${name}_json" "$want" "{\"error\":\"${text//\"/\\\"}\"}" '' -j "$@"
	check "${name}_pretty" "$want" $'{\n    "error": "'"${text//\"/\\\"}"$'"\n}' '' -p "$@"
}

run map create "$F" type hash key 4 value 8 entries 2 name flows
run map update pinned "$F" key u32 1 value u64 1
run map create frozen type hash key 4 value 8 entries 2 name frozen
run map freeze name frozen
U=(map update pinned "$F" key u32)

check absent 254 $'key:\n09 00 00 00\n\nNot found' '' map lookup pinned "$F" key 9 0 0 0
check absent_json 254 null '' -j map lookup pinned "$F" key 9 0 0 0
check absent_pretty 254 null '' -p map lookup pinned "$F" key 9 0 0 0
fails next_of_the_last 254 "can't get next key: No such file or directory" \
	map getnext pinned "$F" key u32 1
fails next_in_an_empty_map 254 "can't get next key: No such file or directory" \
	map getnext name frozen
fails delete_absent 254 'delete failed: No such file or directory' \
	map delete pinned "$F" key u32 9
fails noexist_there 239 'update failed: File exists' "${U[@]}" 1 value u64 2 noexist
fails exist_absent 254 'update failed: No such file or directory' "${U[@]}" 9 value u64 2 exist
run "${U[@]}" 2 value u64 2
fails full 249 'update failed: Argument list too long' "${U[@]}" 3 value u64 3
fails frozen_update 255 'update failed: Operation not permitted' \
	map update name frozen key u32 1 value u64 1
fails frozen_delete 255 'delete failed: Operation not permitted' map delete name frozen key u32 1
fails frozen_freeze 255 'failed to freeze map: Operation not permitted' map freeze name frozen
fails pin_to_what_exists 239 "can't pin the object ($T/maps/frozen): File exists" \
	map pin pinned "$F" frozen
fails create_what_exists 239 "can't pin the object ($F): File exists" \
	map create "$F" type hash key 4 value 8 entries 2 name x
fails no_folder 254 \
	"can't pin the object ($T/none/x): No such file or directory (there is no directory $T/none)" \
	map create "$T/none/x" type hash key 4 value 8 entries 2 name x

fails no_such_id 255 'get map by id (99999): No such file or directory' map show id 99999
fails no_such_name 255 "no map in $T/maps is named nono" map show name nono
fails no_such_file 255 "bpf obj get ($T/none): No such file or directory" map dump pinned "$T/none"
fails id_abc 255 "can't parse abc as ID" map show id abc
fails id_too_large 255 "can't parse 4294967296 as ID" map show id 4294967296
fails id_of_nothing 255 "what is 'id'?" map show id
fails foreign_map_word 255 "expected 'id', 'name' or 'pinned', got: 'foo'?" map dump foo bar
fails name_with_slash 255 "can't parse name: *" map show name a/b

L=(map lookup pinned "$F")
fails short_key 255 'key expected 4 bytes got 3' "${L[@]}" key 1 0 0
fails short_key_word 255 'error parsing byte: value' "${U[@]:0:5}" 1 0 0 value 1 0 0 0 0 0 0 0
fails no_key_bytes 255 'key expected 4 bytes got 0' "${L[@]}" key
fails short_value 255 'value expected 8 bytes got 2' "${U[@]}" 1 value 1 2
fails no_byte 255 'error parsing byte: zz' "${L[@]}" key zz 0 0 0
fails no_octal 255 'error parsing byte: 08' "${L[@]}" key 08 0 0 0
fails empty_word 255 'error parsing byte: ' "${L[@]}" key '' 0 0 0
fails hex_prefix_alone 255 'error parsing byte: 0x' "${L[@]}" key 0x 0 0 0
fails byte_above_255 255 'error parsing byte: 300 is above 255' "${L[@]}" key 300 0 0 0
fails hex_above_255 255 'error parsing byte: 100 is above 255' "${L[@]}" key hex 100 0 0 0
fails huge_byte 255 'error parsing byte: 99999999999999999999 is above 255' \
	"${L[@]}" key 99999999999999999999 0 0 0
fails u32_too_large 255 'error parsing u32: 4294967296 is too large' "${L[@]}" key u32 4294967296
fails u64_too_large 255 'error parsing u64: 18446744073709551616 is too large' \
	"${U[@]}" 1 value u64 18446744073709551616
fails u32_alone 255 'u32 needs a number behind it' "${L[@]}" key u32
fails u32_of_a_word 255 'error parsing u32: x' "${L[@]}" key u32 x
fails no_room 255 'u64 1 does not fit, there is room for 4 more bytes' "${L[@]}" key u64 1
fails no_room_left 255 'u16 1 does not fit, there is room for 1 more byte' "${L[@]}" key 1 2 3 u16 1
fails key_missing 255 'did not find key' "${L[@]}"
fails value_missing 255 'did not find value' "${U[@]}" 1
fails other_word 255 'expected key or value, got: 0' "${L[@]}" key 1 0 0 0 0
fails flag_for_a_lookup 255 'expected key or value, got: any' "${L[@]}" key 1 0 0 0 any
fails value_for_a_lookup 255 'unnecessary value' "${L[@]}" key 1 0 0 0 value 1
fails two_keys 255 'duplicate key' "${L[@]}" key 1 0 0 0 key 1 0 0 0
fails two_values 255 'duplicate value' "${U[@]}" 1 value u64 1 value u64 1
fails two_flags 255 'flags specified multiple times: any' "${U[@]}" 1 value u64 1 exist any

C=(map create new type hash key 4 value 8)
bad='map create failed: Invalid argument'
fails entries_0 255 "$bad" "${C[@]}" entries 0 name x
fails entries_none 255 "$bad" "${C[@]}" name x
fails key_0 255 "$bad" map create new type hash key 0 value 8 entries 2 name x
fails value_0 255 "$bad (the value size must not be 0)" \
	map create new type hash key 4 value 0 entries 2 name x
fails bad_name 255 "$bad" "${C[@]}" entries 2 name 'a b'
fails bad_flags 255 "$bad" "${C[@]}" entries 2 name x flags 0x80000000
fails long_name 255 'map name abcdefghijklmnop is longer than 15 characters' \
	"${C[@]}" entries 2 name abcdefghijklmnop
fails unknown_type 255 'unrecognized map type: nonesuch' \
	map create new type nonesuch key 4 value 8 entries 2 name x
fails no_name 255 'map name not specified' "${C[@]}" entries 2
fails number_of_words 255 "can't parse x as key size" \
	map create new type hash key x value 8 entries 2 name x
fails entries_too_large 255 "can't parse 4294967300 as max entries" \
	"${C[@]}" entries 4294967300 name x
fails key_twice 255 'key size already specified' "${C[@]}" key 4 entries 2 name x
fails type_twice 255 'map type already specified' "${C[@]}" type hash entries 2 name x
fails nothing_behind 255 "'flags' needs a word behind it: the flags" \
	"${C[@]}" entries 2 name x flags
fails unknown_arg 255 'unknown arg bogus' "${C[@]}" entries 2 name x bogus 1
fails too_many_cpus 255 "$bad (cpus is at most 1024)" "${C[@]}" entries 2 name x cpus 1025
assert nothing_was_made [ ! -e "$T/maps/new" ]
check type_to_come 255 '' 'Error: map create failed: ?*' \
	map create new type lru_hash key 4 value 8 entries 2 name x
assert that_says_more_than_a_number [ "$(grep -c 'Unknown error' "$T/err")" = 0 ]

with_usage()
{
	local name=$1 text=$2
	shift 2
	check "$name" 255 '' "Error: $text"$'\nUsage: usermap *' "$@"
	check "${name}_json" 255 "{\"error\":\"$text\"}" '' -j "$@"
}
with_usage unknown_command "unknown command 'map nonesuch'" map nonesuch
with_usage unknown_object "unknown object 'foo'" foo
with_usage arguments_missing "'lookup' needs at least 2 arguments, 0 found" map lookup
with_usage arguments_missing_create "'create' needs at least 7 arguments, 3 found" \
	map create new type hash
with_usage too_many "'dump' takes 2 arguments, 3 found" map dump pinned "$F" extra
with_usage unknown_option "unrecognized option '-Z'" -Z
fails negative_byte 255 'error parsing number: -1 has a sign' "${L[@]}" key -1 0 0 0
fails negative_id 255 'error parsing number: -7 has a sign' map show id -7
fails negative_long 255 'error parsing number: -12 has a sign' map show id -12
with_usage unknown_first_letter "unrecognized option '-Z'" -Zs map show
with_usage unknown_letter "unrecognized option '-Z'" map show -fZ
with_usage unknown_long_option "unrecognized option '--nonesuch'" --nonesuch map show

# Files that are refused, each with a sentence of its own.
refused()
{
	local name=$1 file=$2
	check "$name" 255 '' "Error: bpf obj get ($file): ?*" map dump pinned "$file"
	sed 's/.*): //' "$T/err" >>"$T/sentences"
	check "${name}_json" 255 "{\"error\":\"bpf obj get ($file): ?*\"}" '' -j map dump pinned "$file"
	check "${name}_write" 255 '' "Error: bpf obj get ($file): ?*" \
		map update pinned "$file" key u32 1 value u64 1
}
echo 'no map at all, but some text' >"$T/text"
head -c 4096 "$F" >"$T/cut"
refused not_a_map "$T/text"
refused cut_short "$T/cut"
assert sentences_differ [ "$(sort "$T/sentences" | uniq -d | wc -l)" = 0 ]
refused a_folder "$T/maps"
assert no_bare_number [ "$(grep -c 'Unknown error' "$T/sentences")" = 0 ]

"$usermap" map dump pinned "$F" >/dev/full 2>"$T/err"
assert output_that_is_lost_is_an_error [ $? = 255 ]
assert and_is_said [ "$(<"$T/err")" = "Error: can't write the output: No space left on device" ]
finish
