/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* copies.c - every copy a call hands out is one value that the key had, whole. */
#include <errno.h>
#include <stdatomic.h>
#include "check.h"
#include "maps.h"
#include "rng.h"
#include "threads.h"

enum { WRITERS = 4, READERS = 4, KEYS = 4, VALUE = 64 };

struct overwrite {
	struct um_map *map;
	uint32_t copies; /* for each reader */
	atomic_uint readers;
	bool deletes; /* writers also take keys out */
	atomic_ullong read;
};

static void check_copy(const unsigned char *value)
{
	uint64_t n;

	check_msg(value_number(value, VALUE, &n), "a copy is two values mixed");
}

static int turn(void *value, void *ctx)
{
	uint64_t n;

	check_msg(value_number(value, VALUE, &n), "an upsert was given two values mixed");
	value_of(n + 1, value, VALUE);
	return 0;
}

static void overwrite_one(struct overwrite *o, struct rng *r)
{
	unsigned char value[VALUE];
	uint32_t key = rng_below(r, KEYS), what = rng_below(r, 16);
	int err;

	value_of(rng_next(r), value, VALUE);
	if (o->deletes && what == 0) {
		err = um_map_delete_elem(o->map, &key);
		check(!err || err == -ENOENT);
	} else if (o->deletes && what == 1) {
		err = um_map_lookup_and_delete_elem(o->map, &key, value);
		check(!err || err == -ENOENT);
		check_copy(value);
	} else if (what < 4) {
		err = um_map_upsert_elem(o->map, &key, value, turn, NULL);
		check(err == 0 || err == 1);
	} else {
		check_ok(um_map_update_elem(o->map, &key, value, BPF_ANY));
	}
}

static void read_by_walk(struct overwrite *o)
{
	unsigned char value[VALUE];
	struct um_iter *it;
	uint32_t key, n = 0;
	int err;

	check_ok(um_iter_open(o->map, &it));
	while (!(err = um_iter_next(it, &key, value))) {
		check_copy(value);
		n++;
	}
	check_err(err, -ENOENT);
	check(n <= KEYS && (o->deletes || n == KEYS));
	um_iter_close(it);
}

static void overwrite_or_read(int index, void *arg)
{
	struct overwrite *o = arg;
	struct rng r = rng_new(test_seed, (uint64_t)index);
	unsigned char value[VALUE];
	uint32_t i, key;

	if (index < WRITERS) {
		while (atomic_load(&o->readers))
			overwrite_one(o, &r);
		return;
	}
	for (i = 0; i < o->copies; i++) {
		int err;

		key = rng_below(&r, KEYS);
		err = um_map_lookup_elem(o->map, &key, value);
		check_msg(!err || (o->deletes && err == -ENOENT), "a look-up answers %s",
			  errno_text(err));
		if (!err)
			check_copy(value);
		if (i % 64 == 0)
			read_by_walk(o);
	}
	atomic_fetch_sub(&o->readers, 1);
}

static void race(bool deletes)
{
	for (uint32_t i = 0; i < NR_MODES * 2; i++) {
		/* a place that is being given back is not free yet, so room for all writers */
		struct shape s = { .value_size = VALUE,
				   .max = KEYS + WRITERS,
				   .map_flags = i % NR_MODES,
				   .backing = i / NR_MODES ? MEMFD : PRIVATE };
		struct overwrite o = { .map = make_map(&s),
				       .copies = SCALED(200000),
				       .readers = READERS,
				       .deletes = deletes };
		unsigned char value[VALUE];
		uint32_t key;

		for (key = 0; key < KEYS; key++) {
			value_of(key, value, VALUE);
			check_ok(um_map_update_elem(o.map, &key, value, BPF_ANY));
		}
		run_team(WRITERS + READERS, overwrite_or_read, &o);
		um_map_close(o.map);
	}
}

static void copies_are_whole_while_values_are_replaced(void)
{
	race(false);
}

static void copies_are_whole_while_keys_come_and_go(void)
{
	race(true);
}

/* One key is replaced without pause: it is never absent, and never goes back. */
struct clock {
	struct um_map *map;
	atomic_bool stop;
	uint32_t value_size;
};

static void tick_or_watch(int index, void *arg)
{
	struct clock *c = arg;
	unsigned char value[VALUE];
	uint64_t n, last = 0;
	uint32_t key = 1, i;

	if (index == 0) {
		for (n = 1; !atomic_load(&c->stop); n++) {
			value_of(n, value, c->value_size);
			check_ok(um_map_update_elem(c->map, &key, value, BPF_EXIST));
		}
		return;
	}
	for (i = 0; i < SCALED(400000); i++) {
		check_ok(um_map_lookup_elem(c->map, &key, value));
		check(value_number(value, c->value_size, &n));
		check_msg(n >= last, "an older value came after a newer one");
		last = n;
	}
	atomic_store(&c->stop, true);
}

static void a_key_that_is_replaced_is_never_absent_and_never_old(void)
{
	for (uint32_t i = 0; i < NR_MODES * 2; i++) {
		uint32_t value_size = i / NR_MODES ? 8 : VALUE, key = 1;
		struct shape s = { .value_size = value_size, .max = 1, .map_flags = i % NR_MODES };
		struct clock c = { .map = make_map(&s), .value_size = value_size };
		unsigned char value[VALUE];

		value_of(0, value, value_size);
		check_ok(um_map_update_elem(c.map, &key, value, BPF_ANY));
		run_team(3, tick_or_watch, &c);
		um_map_close(c.map);
	}
}

static const struct test tests[] = {
	{ "copies_are_whole_while_values_are_replaced",
	  copies_are_whole_while_values_are_replaced },
	{ "copies_are_whole_while_keys_come_and_go", copies_are_whole_while_keys_come_and_go },
	{ "a_key_that_is_replaced_is_never_absent_and_never_old",
	  a_key_that_is_replaced_is_never_absent_and_never_old },
};

TEST_MAIN(tests)
