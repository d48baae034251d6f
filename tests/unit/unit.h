/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * unit.h - what the unit tests are written in: cmocka in the main thread, and
 * check() (check.h) in other threads and in children.
 *
 * Options: -s SEED, and one word, a cmocka pattern of test names ("*full*").
 */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* check.h has these words, too: its fail() ends the process, from any thread */
#undef run_tests
#undef fail
#undef fail_msg
#define fail_msg(...)                                 \
	do {                                          \
		print_error(__VA_ARGS__);          \
		print_error("\n");                 \
		_fail(__FILE__, __LINE__);            \
	} while (0)
#include "check.h"
#include "rng.h"
#include "threads.h"
#include "map/map.h"

#define assert_ok(call) assert_int_equal(call, 0)

/* Seed first; a directory for maps without '/'; a watchdog instead of a hang. */
int unit_start(int argc, char **argv);
int unit_finish(int failed);

#define UNIT_MAIN(tests)                                                               \
	int main(int argc, char **argv)                                                \
	{                                                                              \
		if (unit_start(argc, argv))                                            \
			return 99;                                                     \
		return unit_finish(cmocka_run_group_tests_name(__FILE__, tests, NULL, NULL)); \
	}

/* A file in the program's directory, in one of four buffers. */
const char *unit_path(const char *name);

/* A hash map or the failure of the test. */
struct um_map *unit_map(uint32_t key_size, uint32_t value_size, uint32_t max_entries,
			const struct um_map_opts *opts);
struct um_map *unit_open(const char *path);

struct um_map_stats unit_stats(const struct um_map *map);
struct um_map_info unit_info(const struct um_map *map);

/* An arena as um_map_create() has it: joined and attached. @path: NULL or a file. */
struct um_arena *unit_arena(const struct um_params *p, const char *path);
struct um_params unit_params(uint32_t key_size, uint32_t value_size, uint32_t max_entries);

/* 8-byte keys and values. */
static inline int put8(struct um_map *map, uint64_t key, uint64_t value)
{
	return um_map_update_elem(map, &key, &value, BPF_ANY);
}

static inline int get8(struct um_map *map, uint64_t key, uint64_t *value)
{
	return um_map_lookup_elem(map, &key, value);
}

static inline int del8(struct um_map *map, uint64_t key)
{
	return um_map_delete_elem(map, &key);
}

#endif
