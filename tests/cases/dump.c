/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* dump.c - counts and whole walks, of small maps and of a million entries in use. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include "check.h"
#include "maps.h"
#include "rng.h"
#include "threads.h"

static void key_zero_is_a_key(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct um_map *map = small_map(8, flags);
		uint32_t key = 0, n = 0, seen = 0;
		uint64_t value = 1;
		struct um_iter *it;

		check_ok(um_map_update_elem(map, &key, &value, BPF_ANY));
		key = 5;
		value = 2;
		check_ok(um_map_update_elem(map, &key, &value, BPF_ANY));
		check_counts(map, 2);
		check_ok(um_iter_open(map, &it));
		for (; !um_iter_next(it, &key, &value); n++) {
			check((key == 0 && value == 1) || (key == 5 && value == 2));
			seen |= 1u << key;
		}
		um_iter_close(it);
		check_eq(n, 2);
		check_eq(seen, 1 | 1 << 5);
		um_map_close(map);
	}
}

static void a_full_map_says_how_full_and_how_often_refused(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct um_map *map = small_map(4096, flags);
		struct um_map_stats st = { .sz = sizeof(st) };
		uint64_t value = 1;
		uint32_t key;

		for (key = 0; key < 5000; key++)
			check_err(um_map_update_elem(map, &key, &value, BPF_ANY),
				  key < 4096 ? 0 : -E2BIG);
		check_ok(um_map_get_stats(map, &st));
		check_eq(st.count, 4096);
		check_eq(st.refused, 904);
		check(!st.busy && !st.nomem && !st.timeouts && !st.waiting && !st.recoveries);
		um_map_close(map);
	}
}

enum { ENTRIES = SCALED(1000000), STAY = 1u << 31 };

struct big {
	struct um_map *map;
	atomic_bool stop;
};

static void change_without_pause(int index, void *arg)
{
	struct big *b = arg;
	struct rng r = rng_new(test_seed, (uint64_t)index);
	uint64_t value = 1;

	while (!atomic_load(&b->stop)) {
		uint32_t key = rng_below(&r, ENTRIES / 2);

		if (um_map_delete_elem(b->map, &key))
			check_ok(um_map_update_elem(b->map, &key, &value, BPF_ANY));
	}
}

static void a_dump_of_a_million_entries_ends_while_the_map_changes(void)
{
	struct shape s = { .max = ENTRIES, .backing = MEMFD };
	struct big b = { .map = make_map(&s) };
	static uint8_t came[ENTRIES / 2];
	struct um_iter *it;
	struct team t;
	uint32_t key, i;
	uint64_t value;
	int err;

	for (i = 0; i < ENTRIES / 2; i++) {
		key = STAY | i;
		value = i;
		check_ok(um_map_update_elem(b.map, &key, &value, BPF_NOEXIST));
		key = i;
		check_ok(um_map_update_elem(b.map, &key, &value, BPF_NOEXIST));
	}
	check_eq(map_count(b.map), ENTRIES / 2 * 2);
	team_start(&t, 1, change_without_pause, &b);
	check_ok(um_iter_open(b.map, &it));
	while (!(err = um_iter_next(it, &key, &value)))
		if (key & STAY) {
			check(value == (key & ~(uint32_t)STAY) && !came[value]);
			came[value] = 1;
		}
	check_err(err, -ENOENT);
	um_iter_close(it);
	atomic_store(&b.stop, true);
	team_join(&t);
	for (i = 0; i < ENTRIES / 2; i++)
		check(came[i]);
	um_map_close(b.map);
}

static const struct test tests[] = {
	{ "key_zero_is_a_key", key_zero_is_a_key },
	{ "a_full_map_says_how_full_and_how_often_refused",
	  a_full_map_says_how_full_and_how_often_refused },
	{ "a_dump_of_a_million_entries_ends_while_the_map_changes",
	  a_dump_of_a_million_entries_ends_while_the_map_changes },
};

TEST_MAIN(tests)
