/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* reference.c - what a reference got in a read section shows, and for how long. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "maps.h"
#include "rng.h"
#include "threads.h"

static void *ref_of(struct um_map *map, uint32_t key)
{
	return um_map_lookup_ref(map, &key);
}

static void put_key(struct um_map *map, uint32_t key, const void *value)
{
	check_ok(um_map_update_elem(map, &key, value, BPF_ANY));
}

static uint64_t waiting(struct um_map *map)
{
	struct um_map_stats st = { .sz = sizeof(st) };

	check_ok(um_map_get_stats(map, &st));
	return st.waiting;
}

static void a_value_stays_where_it_is_while_its_neighbours_change(void)
{
	uint32_t keys[101], i;

	colliding_keys(keys, 101);
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct um_map *map = small_map(101, flags | BPF_F_ZERO_SEED);
		uint64_t value = 10, *p;

		put_key(map, keys[50], &value);
		check_ok(um_read_lock(map));
		p = ref_of(map, keys[50]);
		check(p);
		for (i = 0; i < 101; i++) {
			if (i != 50)
				put_key(map, keys[i], &value);
			*p += 1;
			check(ref_of(map, keys[50]) == p);
		}
		for (i = 0; i < 101; i++) {
			if (i != 50)
				check_ok(um_map_delete_elem(map, &keys[i]));
			*p += 1;
			check(ref_of(map, keys[50]) == p);
		}
		um_read_unlock(map);
		check_ok(um_map_lookup_elem(map, &keys[50], &value));
		check_eq(value, 10 + 202);
		um_map_close(map);
	}
}

static void live_keys_have_values_of_their_own(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .value_size = 24, .max = 300, .map_flags = flags };
		struct um_map *map = make_map(&s);
		char *ref[300], value[24] = { 0 };
		struct rng r = rng_new(test_seed, 1);
		uint32_t i, j, round;

		for (round = 0; round < 3; round++) {
			for (i = 0; i < 2000; i++) { /* mix the elements */
				uint32_t key = rng_below(&r, 300);

				if (um_map_delete_elem(map, &key))
					put_key(map, key, value);
			}
			for (i = 0; i < 300; i++)
				put_key(map, i, value);
			check_ok(um_read_lock(map));
			for (i = 0; i < 300; i++) {
				ref[i] = ref_of(map, i);
				check(ref[i]);
				for (j = 0; j < i; j++)
					check(labs(ref[i] - ref[j]) >= 24);
			}
			um_read_unlock(map);
		}
		um_map_close(map);
	}
}

static bool all(const unsigned char *p, unsigned char byte, size_t size)
{
	while (size--)
		if (*p++ != byte)
			return false;
	return true;
}

/* What an insert answers that meets no spare element: it may not wait for itself. */
static void fill_spares(struct um_map *map, const void *value)
{
	uint32_t key, n = 0;
	int err;

	do {
		key = 1000 + n;
		err = um_map_update_elem(map, &key, value, BPF_ANY);
		if (!err)
			check_ok(um_map_delete_elem(map, &key));
		check(++n < 1000000);
	} while (!err);
	check_err(err, -EBUSY);
	check(!ref_of(map, key));
}

static void a_reference_never_shows_another_keys_value(void)
{
	unsigned char aa[64], bb[64];
	uint32_t a = 1, b = 2;

	memset(aa, 0xaa, sizeof(aa));
	memset(bb, 0xbb, sizeof(bb));
	for (uint32_t i = 0; i < 4; i++) {
		struct shape s = { .value_size = 64, .max = 1 + i / 2, .map_flags = i % NR_MODES };
		struct um_map *map = make_map(&s);
		const unsigned char *p;

		put_key(map, a, aa);
		check_ok(um_read_lock(map));
		p = ref_of(map, a);
		check(p);
		check_ok(um_map_delete_elem(map, &a));
		check(!ref_of(map, a));
		check_ok(um_map_update_elem(map, &b, bb, BPF_NOEXIST));
		check(all(p, 0xaa, 64) && ref_of(map, b) != p);
		check_ok(um_map_delete_elem(map, &b));
		fill_spares(map, bb);
		check(all(p, 0xaa, 64));
		check_eq(map_count(map), 0);
		check(waiting(map) > 0);
		um_read_unlock(map);
		check_ok(um_synchronize(map));
		/* and now there is room again */
		check_eq(fill_up(map, 10), s.max);
		check_counts(map, s.max);
		um_map_close(map);
	}
}

static void a_replaced_value_stays_for_who_refers_to_it(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .value_size = 16, .max = 4, .map_flags = flags };
		struct um_map *map = make_map(&s);
		uint64_t old[2] = { 1, 1 }, new[2] = { 2, 2 }, got[2], *p;

		put_key(map, 5, old);
		check_ok(um_read_lock(map));
		p = ref_of(map, 5);
		put_key(map, 5, new);
		check(p[0] == 1 && p[1] == 1);
		check(ref_of(map, 5) != p);
		um_read_unlock(map);
		check_ok(um_map_lookup_elem(map, &(uint32_t){ 5 }, got));
		check(got[0] == 2 && got[1] == 2);
		um_map_close(map);
	}
}

static void a_small_value_is_replaced_in_place(void)
{
	struct um_map *map = small_map(4, 0);
	uint64_t value = 1, *p;

	put_key(map, 5, &value);
	check_ok(um_read_lock(map));
	p = ref_of(map, 5);
	value = 2;
	put_key(map, 5, &value);
	check(ref_of(map, 5) == p && *p == 2);
	check_err(um_map_add_elem(map, &(uint32_t){ 5 }, 0, 3), 0);
	check(*p == 5);
	um_read_unlock(map);
	um_map_close(map);
}

static void sections_nest_and_nobody_waits_for_himself(void)
{
	struct um_map *map = small_map(4, 0);

	check_ok(um_read_lock(map));
	check_ok(um_read_lock(map));
	check_err(um_synchronize(map), -EBUSY);
	um_read_unlock(map);
	check_err(um_synchronize(map), -EBUSY);
	um_read_unlock(map);
	check_ok(um_synchronize(map));
	check_ok(um_synchronize(map));
	um_map_close(map);
}

static void maps_that_reuse_at_once_never_make_a_writer_wait(void)
{
	unsigned char value[64] = { 0 };

	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = {
			.value_size = 64, .max = 2, .map_flags = flags, .um_flags = UM_F_REUSE
		};
		struct um_map *map = make_map(&s);
		const unsigned char *p;
		uint32_t i, key;

		memset(value, 0xaa, sizeof(value));
		put_key(map, 1, value);
		check_ok(um_read_lock(map));
		p = ref_of(map, 1);
		memset(value, 0xbb, sizeof(value));
		for (i = 0; i < 50000; i++) {
			put_key(map, 1, value);
			key = 1000 + i;
			put_key(map, key, value);
			check_ok(um_map_delete_elem(map, &key));
		}
		/* whatever it shows, its memory is still there */
		check(all(p, 0xaa, 64) || all(p, 0xbb, 64));
		check_eq(waiting(map), 0);
		um_read_unlock(map);
		um_map_close(map);
	}
}

/* ---- with threads ---- */

struct scene {
	struct um_map *map;
	uint64_t step;
};

static void check_word(const void *p, uint64_t want, int times)
{
	while (times--)
		check_eq(load(p), want);
}

static void hold_a_reference(int index, void *arg)
{
	struct scene *s = arg;
	uint64_t until;
	void *p;

	check_ok(um_read_lock(s->map));
	p = ref_of(s->map, 1);
	check(p);
	store(&s->step, 1);
	for (until = now_ns() + 3000000; now_ns() < until;)
		check_word(p, 0x11, 1000);
	wait_for(&s->step, 2);
	check_word(p, 0x11, 1000);
	store(&s->step, 3);
	um_read_unlock(s->map);
}

static void nothing_is_freed_under_a_reader(void)
{
	for (uint32_t i = 0; i < 2 * NR_BACKINGS; i++) {
		struct shape shape = { .value_size = 16,
				       .max = 4,
				       .map_flags = i % NR_MODES,
				       .backing = i / NR_MODES };
		struct scene s = { .map = make_map(&shape) };
		uint64_t value[2] = { 0x11, 0x11 };
		uint32_t key = 1;
		struct team t;

		put_key(s.map, 1, value);
		team_start(&t, 1, hold_a_reference, &s);
		wait_for(&s.step, 1);
		check_ok(um_map_delete_elem(s.map, &key));
		value[0] = 0x22;
		put_key(s.map, 2, value);
		store(&s.step, 2);
		/* waits for the section, whose references stay good until its end */
		um_map_close(s.map);
		check_eq(load(&s.step), 3);
		team_join(&t);
		um_map_unlink("map");
	}
}

static void a_map_closed_in_a_section_lives_until_its_end(void)
{
	struct um_map *map = small_map(4, 0);
	uint64_t value = 77, *p;

	put_key(map, 1, &value);
	check_ok(um_read_lock(map));
	p = ref_of(map, 1);
	um_map_close(map);
	check_eq(*p, 77);
	um_read_unlock(map);
}

static void stay_in_a_section(int index, void *arg)
{
	struct scene *s = arg;

	check_ok(um_read_lock(s->map));
	store(&s->step, 1);
	wait_for(&s->step, 2);
	um_read_unlock(s->map);
	store(&s->step, 3);
}

static void a_reader_that_stays_costs_writers_a_timeout_and_no_more(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape shape = {
			.value_size = 64, .max = 2, .map_flags = flags, .lock_timeout_ms = 30
		};
		struct scene s = { .map = make_map(&shape) };
		unsigned char value[64] = { 1 };
		struct um_map_stats st = { .sz = sizeof(st) };
		struct team t;
		uint32_t key = 1, n = 0;
		int err;

		team_start(&t, 1, stay_in_a_section, &s);
		wait_for(&s.step, 1);
		check_err(um_synchronize(s.map), -ETIMEDOUT);
		while (!(err = um_map_update_elem(s.map, &key, value, BPF_ANY)))
			check(++n < 100000);
		check_err(err, -ETIMEDOUT);
		check_ok(um_map_lookup_elem(s.map, &key, value));
		check_ok(um_map_delete_elem(s.map, &key)); /* needs no element */
		check_ok(um_map_get_stats(s.map, &st));
		check(st.timeouts > 0);
		store(&s.step, 2);
		wait_for(&s.step, 3);
		check_ok(um_synchronize(s.map));
		check_ok(um_map_update_elem(s.map, &key, value, BPF_ANY));
		team_join(&t);
		um_map_close(s.map);
	}
}

/* Two threads of a fresh process get their numbers and records at one moment. */
struct pair {
	struct um_map *map;
	uint64_t there, inside;
};

static void meet(uint64_t *word)
{
	add(word, 1);
	while (load(word) < 2)
		;
}

static void enter_or_wait(int index, void *arg)
{
	struct pair *p = arg;

	meet(&p->there);
	check_ok(um_read_lock(p->map));
	if (index)
		um_read_unlock(p->map);
	meet(&p->inside);
	if (index) /* not -EBUSY: it is the other one who is inside */
		check_err(um_synchronize(p->map), -ETIMEDOUT);
	else
		wait_for(&p->inside, 3);
	add(&p->inside, 1);
	if (!index)
		um_read_unlock(p->map);
}

static void start_two_at_once(void *arg)
{
	struct shape s = { .max = 1, .lock_timeout_ms = 1 };
	struct pair p = { .map = make_map(&s) };

	run_team(2, enter_or_wait, &p);
	check_ok(um_synchronize(p.map));
	um_map_close(p.map);
}

static void threads_that_start_at_once_have_records_of_their_own(void)
{
	int round;

	for (round = 0; round < SCALED(1200); round++)
		run_child(start_two_at_once, NULL);
}

struct mill {
	struct um_map *map;
	atomic_bool stop;
	atomic_uint readers;
};

enum { MILL_KEYS = 8, MILL_VALUE = 40, MILL_SECTIONS = SCALED(100000) };

static void grind(struct mill *m, struct rng *r)
{
	unsigned char value[MILL_VALUE];
	uint32_t key = rng_below(r, MILL_KEYS);

	value_of((uint64_t)key << 32 | rng_below(r, 1 << 30), value, sizeof(value));
	if (rng_below(r, 4))
		put_key(m->map, key, value);
	else
		um_map_delete_elem(m->map, &key);
}

/* The value a reference shows is its key's, whole, and never becomes another one. */
static void look_closely(struct mill *m, struct rng *r)
{
	uint32_t key = rng_below(r, MILL_KEYS);
	uint64_t first, again;
	void *p;
	int i;

	check_ok(um_read_lock(m->map));
	p = ref_of(m->map, key);
	if (p) {
		check(value_ref_number(p, MILL_VALUE, &first));
		check_eq(first >> 32, key);
		for (i = 0; i < 20; i++) {
			check(value_ref_number(p, MILL_VALUE, &again));
			check_eq(again, first);
		}
	}
	um_read_unlock(m->map);
}

static void grind_or_look(int index, void *arg)
{
	struct mill *m = arg;
	struct rng r = rng_new(test_seed, (uint64_t)index);
	int i;

	if (index < 2) {
		while (!atomic_load(&m->stop))
			grind(m, &r);
		return;
	}
	for (i = 0; i < MILL_SECTIONS; i++)
		look_closely(m, &r);
	if (atomic_fetch_sub(&m->readers, 1) == 1)
		atomic_store(&m->stop, true);
}

static void references_stay_what_they_are_while_writers_replace_and_delete(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .value_size = MILL_VALUE,
				   .max = MILL_KEYS,
				   .map_flags = flags,
				   .lock_timeout_ms = 60000 };
		struct mill m = { .map = make_map(&s), .readers = 3 };

		run_team(5, grind_or_look, &m);
		um_map_close(m.map);
	}
}

static const struct test tests[] = {
	{ "a_value_stays_where_it_is_while_its_neighbours_change",
	  a_value_stays_where_it_is_while_its_neighbours_change },
	{ "live_keys_have_values_of_their_own", live_keys_have_values_of_their_own },
	{ "a_reference_never_shows_another_keys_value",
	  a_reference_never_shows_another_keys_value },
	{ "a_replaced_value_stays_for_who_refers_to_it",
	  a_replaced_value_stays_for_who_refers_to_it },
	{ "a_small_value_is_replaced_in_place", a_small_value_is_replaced_in_place },
	{ "sections_nest_and_nobody_waits_for_himself",
	  sections_nest_and_nobody_waits_for_himself },
	{ "maps_that_reuse_at_once_never_make_a_writer_wait",
	  maps_that_reuse_at_once_never_make_a_writer_wait },
	{ "nothing_is_freed_under_a_reader", nothing_is_freed_under_a_reader },
	{ "a_map_closed_in_a_section_lives_until_its_end",
	  a_map_closed_in_a_section_lives_until_its_end },
	{ "a_reader_that_stays_costs_writers_a_timeout_and_no_more",
	  a_reader_that_stays_costs_writers_a_timeout_and_no_more },
	{ "threads_that_start_at_once_have_records_of_their_own",
	  threads_that_start_at_once_have_records_of_their_own },
	{ "references_stay_what_they_are_while_writers_replace_and_delete",
	  references_stay_what_they_are_while_writers_replace_and_delete },
};

TEST_MAIN(tests)
