#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# What each command prints when it succeeds, letter by letter.
. "$(dirname "$0")/lib.sh"

F=$T/maps/flows
check create_prints_nothing 0 '' '' map create "$F" type hash key 4 value 8 entries 16 name flows
check dump_of_nothing 0 'Found 0 elements' '' map dump pinned "$F"
check update_prints_nothing 0 '' '' \
	map update pinned "$F" key 1 0 0 0 value 42 0 0 0 0 0 0 0
check one_element 0 $'key: 01 00 00 00  value: 2a 00 00 00 00 00 00 00\nFound 1 element' '' \
	map dump pinned "$F"
check hex_and_a_flag 0 '' '' \
	map update pinned "$F" value hex 2b 0 0 0 0 0 0 0xff key 2 0 0 0 noexist
check lookup_is_an_entry_alone 0 'key: 02 00 00 00  value: 2b 00 00 00 00 00 00 ff' '' \
	map lookup pinned "$F" key 2 0 0 0
run map dump pinned "$F"
assert dump_of_two diff <(sort "$T/out") - <<'END'
Found 2 elements
key: 01 00 00 00  value: 2a 00 00 00 00 00 00 00
key: 02 00 00 00  value: 2b 00 00 00 00 00 00 ff
END

check decimal_hex_octal 0 '' '' map update pinned "$F" key 0x10 010 8 0 value 0 1 2 3 4 5 6 255
check same_key_by_integer 0 'key: 10 08 08 00  value: 00 01 02 03 04 05 06 ff' '' \
	map lookup pinned "$F" key u32 0x80810
check delete_prints_nothing 0 '' '' map delete pinned "$F" key u16 0x0810 u8 8 0
check integers_are_native 0 '' '' map update pinned "$F" key u32 1 value u64 0x1122334455667788 exist
if [ "$(printf '\1\0' | od -An -tu2 | tr -d ' ')" = 1 ]; then
	check little_endian 0 'key: 01 00 00 00  value: 88 77 66 55 44 33 22 11' '' \
		map lookup pinned "$F" key hex 1 0 0 0
fi
check words_may_be_cut 0 '' '' map up pin "$F" k u32 1 v u64 42 e

check walk_of_one 0 '' '' map delete pinned "$F" key u32 2
check first_key 0 $'key: None\nnext key:\n01 00 00 00' '' map getnext pinned "$F"
check absent_key_gives_the_first 0 $'key:\n09 00 00 00\nnext key:\n01 00 00 00' '' \
	map getnext pinned "$F" key u32 9

# Sizes decide the layout: both at most 16 and together at most 24 on one line.
layout()
{
	local name=$1 key_size=$2 value_size=$3 key value
	key=$(seq -s ' ' 1 "$key_size")
	value=$(seq -s ' ' 1 "$value_size")
	check "${name}_create" 0 '' '' map create "$name" type hash key "$key_size" \
		value "$value_size" entries 4 name "$name"
	check "${name}_update" 0 '' '' map update name "$name" key $key value $value
	check "$name" 0 "$4" '' map lookup name "$name" key $key
}
layout one_line 9 15 \
	'key: 01 02 03 04 05 06 07 08  09  value: 01 02 03 04 05 06 07 08  09 0a 0b 0c 0d 0e 0f'
layout two_lines 16 9 \
	$'key: 01 02 03 04 05 06 07 08  09 0a 0b 0c 0d 0e 0f 10\nvalue: 01 02 03 04 05 06 07 08  09'
layout long_value 2 17 \
	$'key:\n01 02\nvalue:\n01 02 03 04 05 06 07 08  09 0a 0b 0c 0d 0e 0f 10\n11'
layout long_key 33 1 $'key:\n01 02 03 04 05 06 07 08  09 0a 0b 0c 0d 0e 0f 10
11 12 13 14 15 16 17 18  19 1a 1b 1c 1d 1e 1f 20\n21\nvalue:\n01'
check long_key_not_found 254 $'key:\n00 02 03 04 05 06 07 08  09 0a 0b 0c 0d 0e 0f 10
11 12 13 14 15 16 17 18  19 1a 1b 1c 1d 1e 1f 20\n21\n\nNot found' '' \
	map lookup name long_key key 0 $(seq 2 33)

id=$(id_of pinned "$F")
check show 0 "$id: hash  name flows  flags 0x0
	key 4B  value 8B  max_entries 16  memlock +([0-9])B" '' map show pinned "$F"
check list_by_id 0 "$id: hash  name flows  flags 0x0?*" '' map list id "$id"
check stats_on_demand 0 "$id: hash  name flows  flags 0x0
	key 4B  value 8B  max_entries 16  memlock +([0-9])B
	count 1  refused 0  busy 0  nomem 0  lock_waits 0  timeouts 0  waiting 0  recoveries 0" '' \
	-s map show pinned "$F"
check on_demand 0 '' '' map create nopre type hash key 4 value 8 entries 16 name nopre flags 1
check flags_are_hex 0 "+([0-9]): hash  name nopre  flags 0x1?*" '' map show name nopre
check freeze_prints_nothing 0 '' '' map freeze name nopre
check frozen 0 $'*\n\tkey 4B*B\n\tfrozen' '' map show name nopre
check paths_on_demand 0 $'*\n\tpinned '"$T/maps/nopre"$'\n\tfrozen' '' -f map show name nopre
run map
assert map_alone_shows_all [ "$(grep -c '^[0-9]*: hash  name ' "$T/out")" = 6 ]
assert sorted_by_id sort -c -n <(grep '^[0-9]' "$T/out")
check options_may_follow 0 "$id: hash*count 1*" '' map show id "$id" --stats

check pin_is_another_path 0 '' '' map pin pinned "$F" "$T/maps/second"
check two_paths_one_map 0 "$id: hash*"$'\n\t'"pinned $F"$'\n\t'"pinned $T/maps/second" '' \
	-f map show id "$id"
check pinned_finds_both 0 "$id: hash*"$'\n\t'"pinned $F"$'\n\t'"pinned $T/maps/second" '' \
	-f map show pinned second
check one_map_by_its_second_name 0 'key: 01*' '' map lookup name second key u32 1
run map show
assert a_map_is_listed_once [ "$(grep -c "^$id: " "$T/out")" = 1 ]

check version 0 $'usermap v+([0-9.])\nusing libusermap v+([0-9.])' '' version
check version_option 0 $'usermap v*' '' -V
check help_is_no_error 0 '' 'Usage: usermap *map { show | list }*DATA := *' map help
check help 0 '' 'Usage: usermap *OBJECT := { map }*' help
check nothing_asked 0 '' 'Usage: usermap *'
finish
