#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# JSON: bpftool's members in its order and spelling, then usermap's; always valid.
. "$(dirname "$0")/lib.sh"

F=$T/maps/flows
check empty_list 0 '[[]]' '' -j map show
check create_is_null 0 null '' -j map create "$F" type hash key 4 value 8 entries 16 name flows
check update_is_null 0 null '' -p map update pinned "$F" key u32 1 value u64 42
check lookup 0 '{"key":[[]"0x01","0x00","0x00","0x00"],"value":[[]"0x2a","0x00","0x00","0x00","0x00","0x00","0x00","0x00"]}' '' \
	-j map lookup pinned "$F" key u32 1
check getnext_first 0 '{"key":null,"next_key":[[]"0x01","0x00","0x00","0x00"]}' '' \
	-j map getnext pinned "$F"
check getnext_of_absent 0 '{"key":[[]"0x07","0x00","0x00","0x00"],"next_key":[[]"0x01","0x00","0x00","0x00"]}' '' \
	-j map getnext pinned "$F" key u32 7
id=$(id_of pinned "$F")
head="{\"id\":$id,\"type\":\"hash\",\"name\":\"flows\",\"flags\":0,\"bytes_key\":4,\"bytes_value\":8"
head+=',"max_entries":16,"bytes_memlock":+([0-9]),"frozen":0'
tail='"bytes_max":+([0-9]),"um_flags":0,"nr_cpus":+([0-9]),"creator_pid":+([0-9]),"stats":{"count":1,"refused":0,"busy":0,"nomem":0,"lock_waits":0,"timeouts":0,"waiting":0,"recoveries":0}}'
check show 0 "$head,\"path\":\"$F\",$tail" '' -j map show pinned "$F"
check show_paths 0 "$head,\"pinned\":[[]\"$F\"],\"path\":\"$F\",$tail" '' -jf map show id "$id"
check list_is_an_array 0 "[[]$head,\"path\":\"$F\",$tail]" '' -j map list
check pretty_indents_by_4 0 $'{\n    "id": '"$id"$',\n    "type": "hash",\n    "name": "flows",\n*\n    "stats": {\n        "count": 1,\n*\n    }\n}' '' \
	-p map show pinned "$F"
check pretty_list 0 $'[[]\n    {\n        "id": '"$id"$',\n*\n        "stats": {\n            "count": 1,\n*\n        }\n    }\n]' '' \
	-p map show
check version 0 '{"version":"+([0-9.])","libusermap_version":"+([0-9.])"}' '' -j version
check help_is_valid_too 0 null 'Usage: *' -j map help

# U32: a map {0: 1, 5: 2} shows both entries, key 0 among them.
run map create u32 type hash key 4 value 4 entries 8 name u32
check u32_empty_dump 0 '[[]]' '' -j map dump name u32
check u32_empty_dump_pretty 0 '[[]]' '' -p map dump name u32
run map update name u32 key u32 0 value u32 1
run map update name u32 key u32 5 value u32 2
same_as()
{
	/usr/bin/python3 - "$T/out" "$1" <<'END'
import json, sys
got = json.load(open(sys.argv[1]))
want = json.loads(sys.argv[2])
for entry in got:
    assert list(entry) == ["key", "value"], entry
got.sort(key=lambda entry: entry["key"])
sys.exit(got != want)
END
}
both='[{"key":["0x00","0x00","0x00","0x00"],"value":["0x01","0x00","0x00","0x00"]},
       {"key":["0x05","0x00","0x00","0x00"],"value":["0x02","0x00","0x00","0x00"]}]'
check u32_plain 0 '*key: 0? 00 00 00  value: 0? 00 00 00*Found 2 elements' '' map dump name u32
assert u32_plain_has_key_0 grep -qx 'key: 00 00 00 00  value: 01 00 00 00' "$T/out"
assert u32_plain_has_key_5 grep -qx 'key: 05 00 00 00  value: 02 00 00 00' "$T/out"
check u32_json 0 '[[]{"key":*},{"key":*}]' '' -j map dump name u32
assert u32_json_is_right same_as "$both"
check u32_pretty 0 $'[[]\n    {\n        "key": [[]"0x0*"],\n        "value": [[]*]\n    },\n    {*}\n]' '' \
	-p map dump name u32
assert u32_pretty_is_right same_as "$both"

# A name that fits several maps.
run map create other type hash key 4 value 4 entries 8 name u32
run map update pinned other key u32 9 value u32 9
check several_refused 255 '{"error":"several maps match this handle"}' '' \
	-j map lookup name u32 key u32 0
check several_refused_plain 255 '' 'Error: several maps match this handle' \
	map update name u32 key u32 0 value u32 0
check several_shown 0 '[[]{"id":*,"name":"u32",*},{"id":*,"name":"u32",*}]' '' -j map show name u32
check several_dumped 0 '[[]{"id":+([0-9]),"type":"hash","name":"u32","flags":0,"elements":[[]{"key":*}],"path":"*"},{"id":*}]' '' \
	-j map dump name u32
check several_dumped_pretty 0 '*"elements": *' '' -p map dump name u32
check several_dumped_plain 0 $'+([0-9]): hash  name u32  flags 0x0\nkey: *Found ? element*\n\n+([0-9]): hash  name u32  flags 0x0\nkey: *\nFound ? element?(s)' '' \
	map dump name u32

# Files that are no maps are left out, and said; a file's odd name stays JSON.
echo text >"$T/maps/text"
mkfifo "$T/maps/pipe"
mkdir "$T/maps/folder"
echo text >"$T/maps/.hidden"
check left_out 0 '*' "Left out $T/maps/text: this is not a map" -j map show
for i in 1 2 3; do echo text >"$T/maps/text$i"; done
check left_out_many 0 '*' \
	"$(printf "Left out $T/maps/text*\n%.0s" 1 2 3)"$'\n'"Left out 1 more file in $T/maps: not a map" \
	map show
rm "$T/maps"/text[123]
check a_name_that_is_no_map 255 '' "Error: bpf obj get ($T/maps/text): ?*" map dump name text
rm "$T/maps/text"
odd=$T/maps/$'\xff"\\\n\xc3\xa9'
check odd_name 0 null '' -j map create "$odd" type hash key 4 value 8 entries 16 name odd
check odd_path 0 '*' '' -jf map show pinned "$odd"
check odd_list 0 '*' '' -jf map show
check odd_error 239 '{"error":*}' '' -j map create "$odd" type hash key 4 value 8 entries 16 name odd
export USERMAP_DIR=$T/none
none="There is no directory $T/none, which USERMAP_DIR names"
check no_folder_no_maps 0 '' "$none" map show
check no_folder_no_maps_json 0 '[[]]' "$none" -j map show
check no_folder_no_id 255 '' 'Error: get map by id (1): No such file or directory' map show id 1
finish
