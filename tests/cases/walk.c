/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* walk.c - walks end, miss nothing that stays, and repeat nothing. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include "check.h"
#include "maps.h"
#include "rng.h"
#include "threads.h"

#define STAYING 1000
#define CHURN_FIRST 10000
#define CHURNING 1000

struct busy_map {
	struct um_map *map;
	uint32_t value_size;
	atomic_bool stop;
	atomic_uint churned;
};

static void put_key(struct busy_map *b, uint32_t key, uint64_t n)
{
	unsigned char value[64];

	value_of(n, value, b->value_size);
	check_ok(um_map_update_elem(b->map, &key, value, BPF_ANY));
}

static void churn(int index, void *arg)
{
	struct busy_map *b = arg;
	uint32_t i, key;

	while (!atomic_load(&b->stop)) {
		for (i = (uint32_t)index; i < CHURNING; i += 2)
			put_key(b, CHURN_FIRST + i, CHURN_FIRST + i);
		for (i = (uint32_t)index; i < CHURNING; i += 2) {
			key = CHURN_FIRST + i;
			check_ok(um_map_delete_elem(b->map, &key));
		}
		atomic_fetch_add(&b->churned, 1);
	}
}

/* How often each key came, and that its value was its own. */
struct tally {
	uint8_t stay[STAYING], come_and_go[CHURNING];
	uint32_t steps;
};

static void note(struct tally *t, struct busy_map *b, uint32_t key, const void *value, bool by_ref)
{
	uint64_t n;

	if (by_ref)
		check(value_ref_number(value, b->value_size, &n));
	else
		check(value_number(value, b->value_size, &n));
	check_msg(n == key, "key %u came with the value of %llu", key, (unsigned long long)n);
	check(++t->steps <= STAYING + CHURNING);
	if (key < STAYING) {
		t->stay[key]++;
	} else {
		check(key - CHURN_FIRST < CHURNING);
		t->come_and_go[key - CHURN_FIRST]++;
	}
}

static void judge(const struct tally *t)
{
	uint32_t i;

	for (i = 0; i < STAYING; i++)
		check_msg(t->stay[i] == 1, "key %u, there all the time, came %u times", i,
			  t->stay[i]);
	for (i = 0; i < CHURNING; i++)
		check_msg(t->come_and_go[i] <= 1, "key %u came %u times", CHURN_FIRST + i,
			  t->come_and_go[i]);
}

static void walk_by_cursor(struct busy_map *b)
{
	struct tally t = { .steps = 0 };
	unsigned char value[64];
	struct um_iter *it;
	uint32_t key;
	int err;

	check_ok(um_iter_open(b->map, &it));
	while (!(err = um_iter_next(it, &key, value)))
		note(&t, b, key, value, false);
	check_err(err, -ENOENT);
	um_iter_close(it);
	judge(&t);
}

struct each {
	struct busy_map *b;
	struct tally *t;
};

static int on_each(const void *key, void *value, void *ctx)
{
	struct each *e = ctx;
	uint32_t k;

	memcpy(&k, key, sizeof(k));
	note(e->t, e->b, k, value, true);
	return 0;
}

static void walk_by_callback(struct busy_map *b)
{
	struct tally t = { .steps = 0 };
	struct each e = { b, &t };
	int ret = um_map_for_each_elem(b->map, on_each, &e, 0);

	check_msg(ret >= 0, "for_each answers %s", errno_text(ret));
	check_eq(ret, t.steps);
	judge(&t);
}

static void walk_while_keys_come_and_go(void (*walk)(struct busy_map *b), uint32_t value_size)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .value_size = value_size, .max = 2000, .map_flags = flags };
		struct busy_map b = { .map = make_map(&s), .value_size = value_size };
		struct team t;
		uint32_t i;

		for (i = 0; i < STAYING; i++)
			put_key(&b, i, i);
		team_start(&t, 2, churn, &b);
		for (i = 0;
		     i < (SANITIZED ? 10 : 50) || atomic_load(&b.churned) < (SANITIZED ? 5 : 20);
		     i++)
			walk(&b);
		atomic_store(&b.stop, true);
		team_join(&t);
		um_map_close(b.map);
	}
}

static void a_cursor_gives_what_stays_once_while_keys_come_and_go(void)
{
	walk_while_keys_come_and_go(walk_by_cursor, 8);
	walk_while_keys_come_and_go(walk_by_cursor, 48);
}

static void for_each_gives_what_stays_once_while_keys_come_and_go(void)
{
	walk_while_keys_come_and_go(walk_by_callback, 8);
	walk_while_keys_come_and_go(walk_by_callback, 48);
}

static void delete_even(int index, void *arg)
{
	struct busy_map *b = arg;
	uint32_t key;

	for (key = 0; key < STAYING; key += 2)
		check_ok(um_map_delete_elem(b->map, &key));
}

static void a_key_that_vanishes_under_a_walk_is_no_error(void)
{
	for (uint32_t round = 0; round < 60; round++) {
		struct shape s = { .max = STAYING, .map_flags = round % NR_MODES };
		struct busy_map b = { .map = make_map(&s), .value_size = 8 };
		struct tally t = { .steps = 0 };
		struct um_iter *it;
		struct team team;
		uint64_t value;
		uint32_t key;
		int err;

		for (key = 0; key < STAYING; key++)
			put_key(&b, key, key);
		team_start(&team, 1, delete_even, &b);
		check_ok(um_iter_open(b.map, &it));
		while (!(err = um_iter_next(it, &key, &value)))
			note(&t, &b, key, &value, false);
		check_err(err, -ENOENT);
		um_iter_close(it);
		for (key = 0; key < STAYING; key++)
			check(key % 2 ? t.stay[key] == 1 : t.stay[key] <= 1);
		team_join(&team);
		check_counts(b.map, STAYING / 2);
		um_map_close(b.map);
	}
}

static int count_call(const void *key, void *value, void *ctx)
{
	(*(int *)ctx)++;
	return 0;
}

static void a_walk_sees_every_place_of_a_map_of_any_size(void)
{
	for (uint32_t max = 1; max <= 64; max++) {
		struct um_map *map = small_map(max, max % NR_MODES);
		int calls = 0;

		check_eq(fill_up(map, max * 1000), max);
		check_counts(map, max);
		check_err(um_map_for_each_elem(map, count_call, &calls, 0), (int)max);
		check_eq(calls, max);
		um_map_close(map);
	}
}

static void updating_the_current_key_does_not_prolong_a_walk(void)
{
	static const uint32_t value_sizes[] = { 8, 64 };
	uint32_t keys[2], key = 0, steps, seen[2];
	unsigned char value[64] = { 0 };
	size_t i;

	colliding_keys(keys, 2);
	for (i = 0; i < 4; i++) {
		struct shape s = { .value_size = value_sizes[i / 2],
				   .max = 2,
				   .map_flags = BPF_F_ZERO_SEED | (uint32_t)(i % 2) };
		struct um_map *map = make_map(&s);
		int err = 0;

		check_ok(um_map_update_elem(map, &keys[0], value, BPF_ANY));
		check_ok(um_map_update_elem(map, &keys[1], value, BPF_ANY));
		for (steps = 0; steps < 3; steps++) {
			err = um_map_get_next_key(map, steps ? &key : NULL, &key);
			if (err)
				break;
			seen[steps % 2] = key;
			check_ok(um_map_update_elem(map, &key, value, BPF_ANY));
		}
		check_err(err, -ENOENT);
		check_eq(steps, 2);
		check(seen[0] != seen[1]);
		um_map_close(map);
	}
}

static void next_key_starts_over_when_it_has_to(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct um_map *map = small_map(8, flags);
		uint32_t first, key, absent = 99;
		uint64_t value = 1;

		check_err(um_map_get_next_key(map, NULL, &key), -ENOENT);
		check_err(um_map_get_next_key(map, &absent, &key), -ENOENT);
		for (key = 0; key < 8; key++)
			check_ok(um_map_update_elem(map, &key, &value, BPF_ANY));
		check_ok(um_map_get_next_key(map, NULL, &first));
		check_ok(um_map_get_next_key(map, &absent, &key));
		check_eq(key, first);
		check_ok(um_map_delete_elem(map, &first));
		check_ok(um_map_get_next_key(map, &first, &key));
		check(key != first);
		um_map_close(map);
	}
}

static void a_cursor_outlives_the_deletion_of_what_it_gave(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct um_map *map = small_map(500, flags);
		uint32_t key, n = 0;
		struct um_iter *it;
		uint64_t value;

		check_eq(fill_up(map, 0), 500);
		check_ok(um_iter_open(map, &it));
		while (!um_iter_next(it, &key, &value)) {
			check_ok(um_map_delete_elem(map, &key));
			n++;
		}
		um_iter_close(it);
		check_eq(n, 500);
		check_counts(map, 0);
		um_map_close(map);
	}
}

/* One bucket with a chain of overflow buckets, changed at random under a cursor. */
static void a_cursor_keeps_its_place_in_a_chain_that_changes(void)
{
	enum { N = 60 };
	struct rng r = rng_new(test_seed, 1);
	uint32_t keys[N], key, i;
	uint64_t value = 0;
	int round;

	colliding_keys(keys, N);
	for (round = 0; round < 400; round++) {
		struct um_map *map = small_map(N, BPF_F_ZERO_SEED | (uint32_t)(round % 2));
		uint8_t came[N] = { 0 }, touched[N] = { 0 };
		struct um_iter *it;

		for (i = 0; i < N; i++)
			check_ok(um_map_update_elem(map, &keys[i], &value, BPF_ANY));
		check_ok(um_iter_open(map, &it));
		while (!um_iter_next(it, &key, &value)) {
			for (i = 0; i < N && keys[i] != key; i++)
				;
			check(i < N && !came[i]);
			came[i] = 1;
			for (int change = 0; change < 3; change++) {
				i = rng_below(&r, N);
				touched[i] = 1;
				if (um_map_delete_elem(map, &keys[i]))
					check_ok(um_map_update_elem(map, &keys[i], &value,
								    BPF_NOEXIST));
			}
		}
		um_iter_close(it);
		for (i = 0; i < N; i++)
			check_msg(came[i] || touched[i], "a key that stayed was missed");
		um_map_close(map);
	}
}

static void a_cursor_and_next_key_go_in_one_order(void)
{
	struct um_map *map = small_map(3000, 0);
	uint32_t key, next = 0, n = 0;
	struct um_iter *it;

	fill_up(map, 0);
	check_ok(um_iter_open(map, &it));
	while (!um_iter_next(it, &key, NULL)) {
		check_ok(um_map_get_next_key(map, n ? &next : NULL, &next));
		check_eq(next, key);
		n++;
	}
	um_iter_close(it);
	check_eq(n, 3000);
	um_map_close(map);
}

static const struct test tests[] = {
	{ "a_cursor_gives_what_stays_once_while_keys_come_and_go",
	  a_cursor_gives_what_stays_once_while_keys_come_and_go },
	{ "for_each_gives_what_stays_once_while_keys_come_and_go",
	  for_each_gives_what_stays_once_while_keys_come_and_go },
	{ "a_key_that_vanishes_under_a_walk_is_no_error",
	  a_key_that_vanishes_under_a_walk_is_no_error },
	{ "a_walk_sees_every_place_of_a_map_of_any_size",
	  a_walk_sees_every_place_of_a_map_of_any_size },
	{ "updating_the_current_key_does_not_prolong_a_walk",
	  updating_the_current_key_does_not_prolong_a_walk },
	{ "next_key_starts_over_when_it_has_to", next_key_starts_over_when_it_has_to },
	{ "a_cursor_outlives_the_deletion_of_what_it_gave",
	  a_cursor_outlives_the_deletion_of_what_it_gave },
	{ "a_cursor_keeps_its_place_in_a_chain_that_changes",
	  a_cursor_keeps_its_place_in_a_chain_that_changes },
	{ "a_cursor_and_next_key_go_in_one_order", a_cursor_and_next_key_go_in_one_order },
};

TEST_MAIN(tests)
