/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* usermap_parse.c - words of a command line: numbers, DATA, and what follows MAP. */
#include "usermap_cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {
	[BPF_MAP_TYPE_HASH] = "hash",
	[BPF_MAP_TYPE_ARRAY] = "array",
	[BPF_MAP_TYPE_PROG_ARRAY] = "prog_array",
	[BPF_MAP_TYPE_PERF_EVENT_ARRAY] = "perf_event_array",
	[BPF_MAP_TYPE_PERCPU_HASH] = "percpu_hash",
	[BPF_MAP_TYPE_PERCPU_ARRAY] = "percpu_array",
	[BPF_MAP_TYPE_STACK_TRACE] = "stack_trace",
	[BPF_MAP_TYPE_CGROUP_ARRAY] = "cgroup_array",
	[BPF_MAP_TYPE_LRU_HASH] = "lru_hash",
	[BPF_MAP_TYPE_LRU_PERCPU_HASH] = "lru_percpu_hash",
	[BPF_MAP_TYPE_LPM_TRIE] = "lpm_trie",
	[BPF_MAP_TYPE_ARRAY_OF_MAPS] = "array_of_maps",
	[BPF_MAP_TYPE_HASH_OF_MAPS] = "hash_of_maps",
	[BPF_MAP_TYPE_DEVMAP] = "devmap",
	[BPF_MAP_TYPE_SOCKMAP] = "sockmap",
	[BPF_MAP_TYPE_CPUMAP] = "cpumap",
	[BPF_MAP_TYPE_XSKMAP] = "xskmap",
	[BPF_MAP_TYPE_SOCKHASH] = "sockhash",
	[BPF_MAP_TYPE_CGROUP_STORAGE] = "cgroup_storage",
	[BPF_MAP_TYPE_REUSEPORT_SOCKARRAY] = "reuseport_sockarray",
	[BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE] = "percpu_cgroup_storage",
	[BPF_MAP_TYPE_QUEUE] = "queue",
	[BPF_MAP_TYPE_STACK] = "stack",
	[BPF_MAP_TYPE_SK_STORAGE] = "sk_storage",
	[BPF_MAP_TYPE_DEVMAP_HASH] = "devmap_hash",
	[BPF_MAP_TYPE_STRUCT_OPS] = "struct_ops",
	[BPF_MAP_TYPE_RINGBUF] = "ringbuf",
	[BPF_MAP_TYPE_INODE_STORAGE] = "inode_storage",
	[BPF_MAP_TYPE_TASK_STORAGE] = "task_storage",
	[BPF_MAP_TYPE_BLOOM_FILTER] = "bloom_filter",
	[BPF_MAP_TYPE_USER_RINGBUF] = "user_ringbuf",
};

#define NR_TYPES (sizeof(type_names) / sizeof(type_names[0]))

/* BPF_MAP_TYPE_UNSPEC: there is no such type. */
enum bpf_map_type cli_type(const char *name)
{
	size_t i;

	for (i = 0; i < NR_TYPES; i++)
		if (type_names[i] && !strcmp(type_names[i], name))
			return (enum bpf_map_type)i;
	return BPF_MAP_TYPE_UNSPEC;
}

/* NULL: a type without a name here. */
const char *cli_type_name(uint32_t type)
{
	return type < NR_TYPES ? type_names[type] : NULL;
}

/* The next word, NULL behind the last. */
char *cli_next(struct args *args)
{
	if (args->nr == 0)
		return NULL;
	args->nr--;
	return *args->v++;
}

/* Words may be cut short, as in bpftool and ip(8). */
bool cli_is(const char *word, const char *full)
{
	return *word && !strncmp(full, word, strlen(word));
}

/* 0; -EINVAL, not a number; -ERANGE, above max. Signs and blanks are no part of one. */
int cli_number(const char *word, int base, uint64_t max, uint64_t *number)
{
	unsigned long long n;
	char *end;

	if (!isxdigit((unsigned char)*word))
		return -EINVAL;
	errno = 0;
	n = strtoull(word, &end, base);
	if (*end)
		return -EINVAL;
	if (errno || n > max)
		return -ERANGE;
	*number = n;
	return 0;
}

/* The size of an integer word (u8, u16, u32, u64), 0 for any other word. */
static uint32_t integer_size(const char *word)
{
	if (!strcmp(word, "u8"))
		return 1;
	if (!strcmp(word, "u16"))
		return 2;
	if (!strcmp(word, "u32"))
		return 4;
	if (!strcmp(word, "u64"))
		return 8;
	return 0;
}

static void store_integer(unsigned char *to, uint32_t size, uint64_t number)
{
	uint32_t u32 = (uint32_t)number;
	uint16_t u16 = (uint16_t)number;

	switch (size) {
	case 1:
		*to = (unsigned char)number;
		break;
	case 2:
		memcpy(to, &u16, sizeof(u16));
		break;
	case 4:
		memcpy(to, &u32, sizeof(u32));
		break;
	default:
		memcpy(to, &number, sizeof(number));
	}
}

/* `u32 N` and the like: N in the byte order of this machine. */
static int parse_integer(struct cli *cli, struct args *args, const char *type, int base,
			 unsigned char *to, uint32_t room)
{
	uint32_t size = integer_size(type);
	const char *word = cli_next(args);
	uint64_t number;
	int err;

	if (!word)
		return cli_err(cli, "%s needs a number behind it", type);
	err = cli_number(word, base, UINT64_MAX >> (64 - 8 * size), &number);
	if (err)
		return cli_err(cli, "error parsing %s: %s%s", type, word,
			       err == -ERANGE ? " is too large" : "");
	if (size > room)
		return cli_err(cli, "%s %s does not fit, there is room for %u more byte%s", type,
			       word, room, room == 1 ? "" : "s");
	store_integer(to, size, number);
	return 0;
}

/* DATA of exactly size bytes. */
static int parse_data(struct cli *cli, struct args *args, const char *what, unsigned char *to,
		      uint32_t size)
{
	uint32_t done = 0;
	uint64_t byte;
	int base = 0, err;

	if (args->nr > 0 && cli_is(*args->v, "hex")) {
		base = 16;
		cli_next(args);
	}
	while (done < size && args->nr > 0) {
		const char *word = cli_next(args);

		if (integer_size(word)) {
			if (parse_integer(cli, args, word, base, to + done, size - done))
				return -1;
			done += integer_size(word);
			continue;
		}
		err = cli_number(word, base, 255, &byte);
		if (err)
			return cli_err(cli, "error parsing byte: %s%s", word,
				       err == -ERANGE ? " is above 255" : "");
		to[done++] = (unsigned char)byte;
	}
	if (done < size)
		return cli_err(cli, "%s expected %u bytes got %u", what, size, done);
	return 0;
}

static int parse_flag(const char *word, uint64_t *flags)
{
	if (cli_is(word, "any"))
		*flags = BPF_ANY;
	else if (cli_is(word, "noexist"))
		*flags = BPF_NOEXIST;
	else if (cli_is(word, "exist"))
		*flags = BPF_EXIST;
	else
		return -EINVAL;
	return 0;
}

/* `key DATA`, and for an update `value DATA` and a flag, in any order. */
int cli_parse_entry(struct cli *cli, struct args *args, struct cli_map *m, struct entry_args *want)
{
	bool found_value = false, found_flag = false;
	const char *word;

	want->found_key = false;
	want->flags = BPF_ANY;
	while ((word = cli_next(args))) {
		if (cli_is(word, "key")) {
			if (want->found_key)
				return cli_err(cli, "duplicate key");
			if (parse_data(cli, args, "key", m->key, m->info.key_size))
				return -1;
			want->found_key = true;
		} else if (cli_is(word, "value")) {
			if (!want->has_value)
				return cli_err(cli, "unnecessary value");
			if (found_value)
				return cli_err(cli, "duplicate value");
			if (parse_data(cli, args, "value", m->value, m->info.value_size))
				return -1;
			found_value = true;
		} else if (want->has_value && !parse_flag(word, &want->flags)) {
			if (found_flag)
				return cli_err(cli, "flags specified multiple times: %s", word);
			found_flag = true;
		} else {
			return cli_err(cli, "expected key or value, got: %s", word);
		}
	}
	if (!want->found_key && !want->key_optional)
		return cli_err(cli, "did not find key");
	if (!found_value && want->has_value)
		return cli_err(cli, "did not find value");
	return 0;
}
