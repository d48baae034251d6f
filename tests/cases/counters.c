/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* counters.c - counters kept in values lose nothing, whichever way they are added to. */
#include <errno.h>
#include <string.h>
#include "check.h"
#include "maps.h"
#include "threads.h"

#define THREADS 8
#define ADDS SCALED(1000000)

struct counting {
	struct um_map *map;
	uint32_t keys; /* the keys are 0 .. keys - 1 */
	uint32_t adds;
};

static uint64_t total(struct counting *c)
{
	uint64_t value, sum = 0;
	uint32_t key;

	for (key = 0; key < c->keys; key++) {
		check_ok(um_map_lookup_elem(c->map, &key, &value));
		sum += value;
	}
	return sum;
}

static void add_by_reference(int index, void *arg)
{
	struct counting *c = arg;
	uint32_t i, key;

	for (i = 0; i < c->adds; i++) {
		void *ref;

		key = i % c->keys;
		check_ok(um_read_lock(c->map));
		ref = um_map_lookup_ref(c->map, &key);
		check(ref);
		add(ref, 1);
		um_read_unlock(c->map);
	}
}

static void add_by_call(int index, void *arg)
{
	struct counting *c = arg;
	uint32_t i, key, inserted = 0;

	for (i = 0; i < c->adds; i++) {
		int ret;

		key = i % c->keys;
		ret = um_map_add_elem(c->map, &key, 0, 1);
		check(ret == 0 || ret == 1);
		inserted += (uint32_t)ret;
	}
	check(inserted <= c->keys);
}

static int increment(void *value, void *ctx)
{
	uint64_t word;

	memcpy(&word, value, sizeof(word));
	word++;
	memcpy(value, &word, sizeof(word));
	return 0;
}

static void add_by_upsert(int index, void *arg)
{
	struct counting *c = arg;
	uint64_t one = 1;
	uint32_t i, key;

	for (i = 0; i < c->adds; i++) {
		int ret;

		key = i % c->keys;
		ret = um_map_upsert_elem(c->map, &key, &one, increment, NULL);
		check_msg(ret == 0 || ret == 1, "upsert answers %s", errno_text(ret));
	}
}

static void count_with(void (*fn)(int index, void *arg), bool insert, uint32_t keys, uint32_t adds)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct counting c = { .map = small_map(keys, flags), .keys = keys, .adds = adds };
		uint64_t zero = 0;
		uint32_t key;

		for (key = 0; insert && key < keys; key++)
			check_ok(um_map_update_elem(c.map, &key, &zero, BPF_NOEXIST));
		run_team(THREADS, fn, &c);
		check_eq(total(&c), (uint64_t)THREADS * adds);
		check_counts(c.map, keys);
		um_map_close(c.map);
	}
}

static void atomic_adds_through_references_are_exact(void)
{
	count_with(add_by_reference, true, 1, ADDS);
	count_with(add_by_reference, true, 64, ADDS);
}

static void the_librarys_own_add_is_exact(void)
{
	count_with(add_by_call, true, 1, ADDS);
	count_with(add_by_call, false, 1, ADDS / 4);
	count_with(add_by_call, false, 64, ADDS);
}

static void upserts_lose_nothing(void)
{
	count_with(add_by_upsert, true, 1, ADDS / 4);
	count_with(add_by_upsert, false, 1, ADDS / 4);
	count_with(add_by_upsert, false, 64, ADDS / 4);
}

/* Values too large to be changed in place: an upsert then replaces the element. */
struct large {
	struct um_map *map;
	uint32_t adds;
};

static int increment_last(void *value, void *ctx)
{
	return increment((char *)value + 2048 - 8, NULL);
}

static void upsert_large(int index, void *arg)
{
	static const char zeros[2048];
	struct large *l = arg;
	uint32_t i, key = 7;

	for (i = 0; i < l->adds; i++) {
		int ret = um_map_upsert_elem(l->map, &key, zeros, increment_last, NULL);

		check_msg(ret == 0 || ret == 1, "upsert answers %s", errno_text(ret));
		if (ret == 1)
			check_err(um_map_upsert_elem(l->map, &key, zeros, increment_last, NULL), 0);
	}
}

static void upserts_of_large_values_lose_nothing(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .value_size = 2048, .max = 4, .map_flags = flags };
		struct large l = { .map = make_map(&s), .adds = 2000 };
		uint64_t value[2048 / 8];
		uint32_t key = 7;

		run_team(4, upsert_large, &l);
		check_ok(um_map_lookup_elem(l.map, &key, value));
		check_eq(value[2048 / 8 - 1], 4 * 2000);
		um_map_close(l.map);
	}
}

/* Adds race with look-up-and-deletes; what is taken out plus what is left is all. */
struct drain {
	struct um_map *map;
	uint64_t drained;
	uint32_t adders;
};

static void add_or_drain(int index, void *arg)
{
	struct drain *d = arg;
	uint32_t key, i;

	if (index == 0) {
		for (i = 0; i < 100000; i++) {
			uint64_t value;

			key = i % 256;
			if (!um_map_lookup_and_delete_elem(d->map, &key, &value))
				add(&d->drained, value);
		}
		return;
	}
	for (i = 0; i < 25000; i++) {
		int ret;

		key = (i * 7 + (uint32_t)index) % 256;
		ret = um_map_add_elem(d->map, &key, 0, 1);
		check(ret == 0 || ret == 1);
	}
}

static void adds_survive_that_the_map_is_drained(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		/* places that are being given back are not free yet */
		struct drain d = { .map = small_map(256 + 5, flags) };
		uint64_t value, left = 0;
		uint32_t key;

		run_team(5, add_or_drain, &d);
		for (key = 0; key < 256; key++)
			if (!um_map_lookup_elem(d.map, &key, &value))
				left += value;
		check_eq(d.drained + left, 4 * 25000);
		um_map_close(d.map);
	}
}

static void an_add_refuses_places_that_are_none(void)
{
	struct shape s = { .value_size = 20, .max = 1 };
	struct um_map *map = make_map(&s);
	uint32_t key = 1;
	uint64_t words[3] = { 0 };

	check_err(um_map_add_elem(map, &key, 4, 1), -EINVAL);
	check_err(um_map_add_elem(map, &key, 16, 1), -EINVAL);
	check_err(um_map_add_elem(map, &key, 12, 1), -EINVAL);
	check_err(um_map_add_elem(map, &key, (size_t)-8, 1), -EINVAL);
	check_counts(map, 0);
	check_err(um_map_add_elem(map, &key, 8, 5), 1);
	check_err(um_map_add_elem(map, &key, 0, (uint64_t)-1), 0);
	check_err(um_map_add_elem(map, &key, 8, (uint64_t)-2), 0);
	check_ok(um_map_lookup_elem(map, &key, words));
	check(words[0] == ~0ull && words[1] == 3 && words[2] == 0);
	key = 2;
	check_err(um_map_add_elem(map, &key, 0, 1), -E2BIG);
	um_map_close(map);
}

static const struct test tests[] = {
	{ "atomic_adds_through_references_are_exact", atomic_adds_through_references_are_exact },
	{ "the_librarys_own_add_is_exact", the_librarys_own_add_is_exact },
	{ "upserts_lose_nothing", upserts_lose_nothing },
	{ "upserts_of_large_values_lose_nothing", upserts_of_large_values_lose_nothing },
	{ "adds_survive_that_the_map_is_drained", adds_survive_that_the_map_is_drained },
	{ "an_add_refuses_places_that_are_none", an_add_refuses_places_that_are_none },
};

TEST_MAIN(tests)
