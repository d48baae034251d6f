/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* usermap_print.c - maps and entries as plain text and as JSON, laid out as by bpftool. */
#include "usermap_cli.h"

#include <inttypes.h>
#include <stdlib.h>

#define BYTES_A_LINE 16 /* a blank more behind the eighth */
#define BYTES_SIDE_BY_SIDE 24

static void print_hex(const unsigned char *bytes, uint32_t size)
{
	static const char digit[] = "0123456789abcdef";
	uint32_t i, column;

	for (i = 0; i < size; i++) {
		column = i % BYTES_A_LINE;
		if (i > 0)
			putc_unlocked(column ? ' ' : '\n', stdout);
		if (column == BYTES_A_LINE / 2)
			putc_unlocked(' ', stdout);
		putc_unlocked(digit[bytes[i] >> 4], stdout);
		putc_unlocked(digit[bytes[i] & 15], stdout);
	}
}

/* A label on a line of its own, the bytes below. */
void print_bytes(const char *label, const unsigned char *bytes, uint32_t size)
{
	fputs_unlocked(label, stdout);
	putc_unlocked('\n', stdout);
	print_hex(bytes, size);
	putc_unlocked('\n', stdout);
}

void print_entry(const struct cli_map *m)
{
	uint32_t key_size = m->info.key_size, value_size = m->info.value_size;

	if (key_size > BYTES_A_LINE || value_size > BYTES_A_LINE) {
		print_bytes("key:", m->key, key_size);
		print_bytes("value:", m->value, value_size);
		return;
	}
	fputs_unlocked("key: ", stdout);
	print_hex(m->key, key_size);
	fputs_unlocked(key_size + value_size > BYTES_SIDE_BY_SIDE ? "\nvalue: " : "  value: ",
		       stdout);
	print_hex(m->value, value_size);
	putc_unlocked('\n', stdout);
}

/* The line a map begins with. */
void print_map_line(const struct um_map_info *info)
{
	const char *type = cli_type_name(info->type);

	printf("%u: ", info->id);
	if (type)
		printf("%s  ", type);
	else
		printf("type %u  ", info->type);
	if (info->name[0])
		printf("name %s  ", info->name);
	printf("flags 0x%x\n", info->map_flags);
}

static void print_stats(const struct cli_map *m)
{
	struct um_map_stats s = { .sz = sizeof(s) };

	if (um_map_get_stats(m->map, &s))
		return;
	printf("\tcount %" PRIu64 "  refused %" PRIu64 "  busy %" PRIu64 "  nomem %" PRIu64
	       "  lock_waits %" PRIu64 "  timeouts %" PRIu64 "  waiting %" PRIu64
	       "  recoveries %" PRIu64 "\n",
	       s.count, s.refused, s.busy, s.nomem, s.lock_waits, s.timeouts, s.waiting,
	       s.recoveries);
}

/* Map i of the list, which also holds the map's other paths. */
void print_map(struct cli *cli, const struct cli_map *m, const struct map_list *list, size_t i)
{
	size_t path;

	print_map_line(&m->info);
	printf("\tkey %uB  value %uB  max_entries %u  memlock %" PRIu64 "B\n", m->info.key_size,
	       m->info.value_size, m->info.max_entries, m->info.memory_used);
	if (cli->show_stats)
		print_stats(m);
	for (path = i; cli->show_paths && path < list->nr; path++)
		if (map_ref_same(&list->ref[i], &list->ref[path]))
			printf("\tpinned %s\n", list->ref[path].path);
	if (m->info.frozen)
		printf("\tfrozen\n");
}

void cli_json_entry(struct jw *out, const struct cli_map *m)
{
	jw_open(out, '{');
	jw_key(out, "key");
	jw_bytes(out, m->key, m->info.key_size);
	jw_key(out, "value");
	jw_bytes(out, m->value, m->info.value_size);
	jw_close(out);
}

static json_t *type_value(const struct um_map_info *info)
{
	const char *type = cli_type_name(info->type);

	return type ? json_string(type) : json_integer(info->type);
}

static json_t *json_stats(const struct cli_map *m)
{
	struct um_map_stats s = { .sz = sizeof(s) };

	if (um_map_get_stats(m->map, &s))
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "count", (json_int_t)s.count,
			 "refused", (json_int_t)s.refused, "busy", (json_int_t)s.busy, "nomem",
			 (json_int_t)s.nomem, "lock_waits", (json_int_t)s.lock_waits, "timeouts",
			 (json_int_t)s.timeouts, "waiting", (json_int_t)s.waiting, "recoveries",
			 (json_int_t)s.recoveries);
}

static json_t *json_paths(const struct map_list *list, size_t i)
{
	json_t *array = json_array();
	size_t path;

	for (path = i; path < list->nr; path++)
		if (map_ref_same(&list->ref[i], &list->ref[path]))
			json_array_append_new(array, jw_text(list->ref[path].path));
	return array;
}

/* Add the members of more; NULL if memory ran out on the way. */
static json_t *joined(json_t *map, json_t *more)
{
	bool whole = map && more && !json_object_update(map, more);

	json_decref(more);
	if (whole)
		return map;
	json_decref(map);
	return NULL;
}

/* bpftool's members in bpftool's order, then usermap's own. */
json_t *cli_json_map(struct cli *cli, const struct cli_map *m, const struct map_list *list,
		     size_t i)
{
	const struct um_map_info *info = &m->info;
	json_t *map = json_pack("{s:I, s:o}", "id", (json_int_t)info->id, "type", type_value(info));

	if (info->name[0])
		map = joined(map, json_pack("{s:o}", "name", jw_text(info->name)));
	map = joined(map,
		     json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "flags",
			       (json_int_t)info->map_flags, "bytes_key", (json_int_t)info->key_size,
			       "bytes_value", (json_int_t)info->value_size, "max_entries",
			       (json_int_t)info->max_entries, "bytes_memlock",
			       (json_int_t)info->memory_used, "frozen", (json_int_t)info->frozen));
	if (cli->show_paths)
		map = joined(map, json_pack("{s:o}", "pinned", json_paths(list, i)));
	return joined(map, json_pack("{s:o, s:I, s:I, s:I, s:I, s:o}", "path",
				     jw_text(list->ref[i].path), "bytes_max",
				     (json_int_t)info->memory_max, "um_flags",
				     (json_int_t)info->um_flags, "nr_cpus",
				     (json_int_t)info->nr_cpus, "creator_pid",
				     (json_int_t)info->creator_pid, "stats", json_stats(m)));
}

/* The members a map begins with when its elements follow; the object stays open. */
void cli_json_map_line(struct jw *out, const struct um_map_info *info)
{
	jw_key(out, "id");
	jw_put(out, json_integer(info->id));
	jw_key(out, "type");
	jw_put(out, type_value(info));
	if (info->name[0]) {
		jw_key(out, "name");
		jw_put(out, jw_text(info->name));
	}
	jw_key(out, "flags");
	jw_put(out, json_integer(info->map_flags));
}
