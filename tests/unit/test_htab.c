/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_htab.c - chains, replacement, and what readers rely on. */
#include "unit.h"

#include <stdlib.h>
#include "chain.h"

#define NR 2000u

static struct um_map *chain_map(uint32_t value_size, uint32_t flags)
{
	UM_OPTS(um_map_opts, o, .map_flags = BPF_F_ZERO_SEED | flags, .nr_cpus = 4);

	return unit_map(8, value_size, 3000, &o);
}

static void assert_value(struct um_map *map, uint64_t key, uint64_t want)
{
	uint64_t value = ~want;

	assert_ok(get8(map, key, &value));
	assert_int_equal(value, want);
}

static void fill(struct um_map *map, const uint64_t *keys, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		assert_ok(put8(map, keys[i], keys[i] * 3));
}

static void a_chain_of_2000_keys_finds_each_and_no_other(void **state)
{
	struct rng r = rng_new(test_seed, 0);
	struct um_map *map = chain_map(8, 0);
	uint64_t keys[NR], absent, value;
	uint32_t i, j;

	keys_of_bucket(map, 100, keys, NR);
	shuffle(keys, NR, &r);
	fill(map, keys, NR);
	for (i = 0; i < NR; i++)
		assert_value(map, keys[i], keys[i] * 3);
	for (i = 0, absent = 1ull << 40; i < 100; i++) {
		absent = next_in_bucket_of(map, absent, 100);
		assert_int_equal(get8(map, absent, &value), -ENOENT);
		assert_int_equal(del8(map, absent), -ENOENT);
	}
	shuffle(keys, NR, &r);
	for (i = 0; i < NR; i++) {
		assert_ok(del8(map, keys[i]));
		assert_int_equal(get8(map, keys[i], &value), -ENOENT);
		for (j = i + 1; j < NR; j += 97)
			assert_value(map, keys[j], keys[j] * 3);
	}
	assert_int_equal(unit_stats(map).count, 0);
	um_map_close(map);
}

static void overflow_buckets_come_back(void **state)
{
	struct rng r = rng_new(test_seed, 1);
	struct um_map *map = chain_map(8, 0);
	uint64_t keys[NR], fresh = 0;
	uint32_t i, round;

	keys_of_bucket(map, 7, keys, NR);
	for (round = 0; round < 6; round++) {
		shuffle(keys, NR, &r);
		fill(map, keys, NR);
		if (!round)
			fresh = map->arena.hdr->ovf_fresh;
		assert_int_equal(map->arena.hdr->ovf_fresh, fresh);
		shuffle(keys, NR, &r);
		for (i = 0; i < NR; i++)
			assert_ok(del8(map, keys[i]));
		assert_int_equal(map->htab.buckets[7].next, 0);
	}
	/* 199 would do for 2,000 keys in 200 buckets, the home among them */
	assert_int_equal(fresh, 200);
	um_map_close(map);
}

static void a_chain_that_thins_out_uses_its_holes(void **state)
{
	struct rng r = rng_new(test_seed, 2);
	struct um_map *map = chain_map(8, BPF_F_NO_PREALLOC);
	uint64_t keys[NR], fresh;
	uint32_t i;

	keys_of_bucket(map, 0, keys, NR);
	fill(map, keys, 1000);
	fresh = map->arena.hdr->ovf_fresh;
	for (i = 0; i < 20000; i++) {
		uint32_t out = rng_below(&r, 1000), in = 1000 + rng_below(&r, 1000);
		uint64_t key = keys[out];

		assert_ok(del8(map, key));
		assert_ok(put8(map, keys[in], keys[in] * 3));
		keys[out] = keys[in];
		keys[in] = key;
	}
	assert_int_equal(map->arena.hdr->ovf_fresh, fresh);
	for (i = 0; i < NR; i++)
		if (i < 1000)
			assert_value(map, keys[i], keys[i] * 3);
		else
			assert_int_equal(del8(map, keys[i]), -ENOENT);
	um_map_close(map);
}

static void keys_of_one_bucket_and_one_tag_are_told_apart(void **state)
{
	struct um_map *map = chain_map(8, 0);
	uint64_t keys[40], key = 0, value;
	uint32_t i;

	for (i = 0; i < 40; i++) {
		do
			key = next_in_bucket_of(map, key, 3);
		while (i && tag_of(map, key) != tag_of(map, keys[0]));
		keys[i] = key;
	}
	for (i = 0; i < 40; i += 2)
		assert_ok(put8(map, keys[i], keys[i] * 3));
	for (i = 0; i < 40; i++)
		if (i % 2)
			assert_int_equal(get8(map, keys[i], &value), -ENOENT);
		else
			assert_value(map, keys[i], keys[i] * 3);
	um_map_close(map);
}

/* ---- walks ---- */

static int by_hash(const void *a, const void *b)
{
	static const uint64_t zero[2];
	uint64_t x = hash_key(a, 8, zero), y = hash_key(b, 8, zero);

	return x < y ? -1 : x > y;
}

static void a_walk_gives_each_key_once_in_the_order_of_hashes(void **state)
{
	struct rng r = rng_new(test_seed, 3);
	struct um_map *map = chain_map(8, 0);
	uint64_t keys[2500], key, value;
	struct um_iter *it;
	uint32_t i;

	keys_of_bucket(map, 461, keys, 1000);
	for (i = 1000; i < 2500; i++)
		keys[i] = rng_next(&r);
	fill(map, keys, 2500);
	qsort(keys, 2500, 8, by_hash);
	assert_ok(um_iter_open(map, &it));
	for (i = 0; i < 2500; i++) {
		assert_ok(um_iter_next(it, &key, &value));
		assert_int_equal(key, keys[i]);
		assert_int_equal(value, keys[i] * 3);
	}
	assert_int_equal(um_iter_next(it, &key, &value), -ENOENT);
	um_iter_close(it);
	for (i = 0; i < 2500; i++) {
		assert_ok(um_map_get_next_key(map, i ? &key : NULL, &key));
		assert_int_equal(key, keys[i]);
	}
	assert_int_equal(um_map_get_next_key(map, &key, &key), -ENOENT);
	um_map_close(map);
}

static uint32_t occupied(const struct um_map *map)
{
	uint32_t i, n = 0;

	for (i = 0; i < (map->htab.nr_buckets + 63) / 64; i++)
		n += (uint32_t)__builtin_popcountll(map->htab.occupancy[i]);
	return n;
}

static void a_walk_forgets_the_buckets_it_finds_empty(void **state)
{
	struct um_map *map = chain_map(8, 0);
	uint64_t key;

	for (key = 0; key < 3000; key++)
		assert_ok(put8(map, key, key));
	for (key = 0; key < 3000; key++)
		if (key != 5)
			assert_ok(del8(map, key));
	assert_true(occupied(map) > 400);
	assert_ok(um_map_get_next_key(map, NULL, &key));
	assert_int_equal(um_map_get_next_key(map, &key, &key), -ENOENT);
	assert_int_equal(occupied(map), 1);
	assert_ok(put8(map, 6, 1));
	assert_int_equal(occupied(map), 2);
	um_map_close(map);
}

/* ---- replacement ---- */

static void value_of(uint8_t *value, uint32_t size, uint64_t n)
{
	uint32_t i;

	for (i = 0; i < size; i++)
		value[i] = (uint8_t)(n >> 8 * (i % 4)) ^ (uint8_t)i;
}

static void values_of_a_word_are_replaced_in_place_and_larger_ones_not(void **state)
{
	uint8_t value[64], got[66];
	uint32_t size, i;
	uint64_t key = 1;

	for (size = 1; size <= 64; size++) {
		struct um_map *map = chain_map(size, 0);
		struct bucket *home = &map->htab.buckets[home_of(map, key)];
		uint32_t version;
		void *ref, *now;

		value_of(value, size, 0);
		version = home->version;
		assert_ok(um_map_update_elem(map, &key, value, BPF_NOEXIST));
		assert_int_equal(home->version, version); /* an arrival needs no new one */
		for (i = 1; i < 50; i++) {
			assert_ok(um_read_lock(map));
			ref = um_map_lookup_ref(map, &key);
			version = home->version;
			value_of(value, size, i);
			assert_ok(um_map_update_elem(map, &key, value, BPF_EXIST));
			now = um_map_lookup_ref(map, &key);
			assert_int_equal(now == ref, size <= 8);
			assert_int_equal(home->version != version, size > 8);
			um_read_unlock(map);
			memset(got, 0xa5, sizeof(got));
			assert_ok(um_map_lookup_elem(map, &key, got + 1));
			assert_memory_equal(got + 1, value, size);
			assert_int_equal(got[0], 0xa5);
			assert_int_equal(got[size + 1], 0xa5);
		}
		assert_int_equal(unit_stats(map).count, 1);
		um_map_close(map);
	}
}

static void keys_are_compared_to_the_last_byte(void **state)
{
	uint8_t key[70];
	uint32_t size, i;
	uint64_t value;

	for (size = 1; size <= 70; size++) {
		struct um_map *map = unit_map(size, 8, 200, NULL);

		memset(key, 0x11, sizeof(key));
		for (i = 0; i < size; i++) {
			key[i] ^= 0x80;
			value = i;
			assert_ok(um_map_update_elem(map, key, &value, BPF_NOEXIST));
			key[i] ^= 0x80;
		}
		assert_int_equal(um_map_lookup_elem(map, key, &value), -ENOENT);
		for (i = 0; i < size; i++) {
			key[i] ^= 0x80;
			assert_ok(um_map_lookup_elem(map, key, &value));
			assert_int_equal(value, i);
			key[i] ^= 0x80;
		}
		um_map_close(map);
	}
}

static void a_value_stays_in_its_place_while_its_chain_changes(void **state)
{
	struct rng r = rng_new(test_seed, 4);
	struct um_map *map = chain_map(24, 0);
	uint64_t keys[101], value[3] = { 1, 2, 3 }, *ref;
	uint32_t i;

	keys_of_bucket(map, 9, keys, 101);
	for (i = 0; i < 101; i++)
		assert_ok(um_map_update_elem(map, &keys[i], value, BPF_NOEXIST));
	assert_ok(um_read_lock(map));
	ref = um_map_lookup_ref(map, &keys[100]);
	shuffle(keys, 100, &r);
	for (i = 0; i < 100; i++)
		assert_ok(del8(map, keys[i]));
	(*ref)++;
	for (i = 0; i < 100; i++)
		assert_ok(um_map_update_elem(map, &keys[i], value, BPF_NOEXIST));
	assert_ptr_equal(um_map_lookup_ref(map, &keys[100]), ref);
	assert_int_equal(*ref, 2);
	um_read_unlock(map);
	um_map_close(map);
}

/* ---- the two halves of an upsert ---- */

static int update_if(struct um_map *map, uint64_t key, const void *value, const struct seen *seen)
{
	struct call c;
	int err;

	WRITE_CALL(map, &c, err, err = um_htab_update_if(&map->htab, &c, &key, value, seen));
	return err;
}

static void a_change_depends_on_what_was_seen(uint32_t value_size)
{
	struct um_map *map = chain_map(value_size, 0);
	uint64_t key = 5, a[8] = { 1 }, b[8] = { 2 }, got[8];
	struct seen absent, present;

	assert_ok(um_htab_look(&map->htab, &key, got, &absent));
	assert_int_equal(absent.e, 0);
	assert_ok(um_map_update_elem(map, &key, a, BPF_ANY));
	assert_int_equal(update_if(map, key, b, &absent), -EAGAIN);
	assert_ok(um_htab_look(&map->htab, &key, got, &present));
	assert_memory_equal(got, a, value_size);
	assert_ok(um_map_update_elem(map, &key, b, BPF_ANY));
	assert_int_equal(update_if(map, key, a, &present), -EAGAIN);
	assert_ok(um_htab_look(&map->htab, &key, got, &present));
	assert_ok(del8(map, key));
	assert_int_equal(update_if(map, key, a, &present), -EAGAIN);
	assert_int_equal(unit_stats(map).count, 0);
	assert_ok(um_htab_look(&map->htab, &key, got, &absent));
	assert_ok(update_if(map, key, a, &absent));
	assert_ok(um_htab_look(&map->htab, &key, got, &present));
	assert_ok(update_if(map, key, b, &present));
	assert_ok(um_map_lookup_elem(map, &key, got));
	assert_memory_equal(got, b, value_size);
	um_map_close(map);
}

static void an_upsert_stores_only_over_what_it_has_seen(void **state)
{
	a_change_depends_on_what_was_seen(4);
	a_change_depends_on_what_was_seen(8);
	a_change_depends_on_what_was_seen(64);
}

/* ---- capacity ---- */

static void a_full_map_refuses_in_the_right_order(void **state)
{
	static const uint32_t sizes[] = { 8, 40 };
	uint32_t s, round;

	for (s = 0; s < 2; s++) {
		UM_OPTS(um_map_opts, o, .map_flags = BPF_F_ZERO_SEED, .spares = 1);
		struct um_map *map = unit_map(8, sizes[s], 200, &o);
		uint64_t keys[201], value[5] = { 0 };
		uint32_t i;

		keys_of_bucket(map, 2, keys, 201); /* no miss of this chain is sure */
		for (round = 0; round < 3; round++) {
			for (i = 0; i < 200; i++)
				assert_ok(um_map_update_elem(map, &keys[i], value, BPF_NOEXIST));
			assert_int_equal(um_map_update_elem(map, &keys[200], value, BPF_ANY), -E2BIG);
			assert_int_equal(um_map_update_elem(map, &keys[200], value, BPF_NOEXIST),
					 -E2BIG);
			assert_int_equal(um_map_update_elem(map, &keys[200], value, BPF_EXIST),
					 -ENOENT);
			assert_int_equal(um_map_update_elem(map, &keys[0], value, BPF_NOEXIST),
					 -EEXIST);
			for (i = 0; i < 200; i++)
				assert_ok(um_map_update_elem(map, &keys[i], value, BPF_EXIST));
			assert_int_equal(unit_stats(map).refused, 2 * (round + 1));
			for (i = 0; i < 200; i++)
				assert_ok(del8(map, keys[i]));
		}
		um_map_close(map);
	}
}

/* ---- contents that lie ---- */

static void damaged_indexes_and_links_end_a_search(void **state)
{
	struct um_map *map = chain_map(8, 0);
	struct bucket *home = &map->htab.buckets[1];
	uint64_t keys[40], value, other;

	keys_of_bucket(map, 1, keys, 40);
	fill(map, keys, 30);
	value = home->elem[0];
	home->elem[0] = UINT32_MAX;
	assert_int_equal(get8(map, keys[0], &other), -ENOENT);
	home->elem[0] = (uint32_t)value;
	map->htab.overflow[home->next].next = home->next; /* a ring */
	assert_int_equal(get8(map, keys[39], &other), -ENOENT);
	assert_ok(um_map_get_next_key(map, NULL, &other));
	home->next = UINT32_MAX;
	assert_int_equal(get8(map, keys[39], &other), -ENOENT);
	assert_value(map, keys[0], keys[0] * 3);
	um_map_close(map);
}

static void an_insert_that_gets_no_overflow_bucket_gives_all_back(void **state)
{
	UM_OPTS(um_map_opts, o, .map_flags = BPF_F_ZERO_SEED, .nr_cpus = 4);
	struct um_map *map = unit_map(8, 8, 20, &o);
	uint64_t keys[11], key, fresh = map->arena.hdr->ovf_fresh;
	uint32_t i;

	keys_of_bucket(map, 0, keys, 11);
	fill(map, keys, 10);
	map->arena.hdr->ovf_fresh = 0; /* damage that looks like "none left" */
	for (i = 0; i < 100; i++)
		assert_int_equal(put8(map, keys[10], 1), -ENOMEM);
	assert_int_equal(unit_stats(map).count, 10);
	assert_int_equal(unit_stats(map).nomem, 100);
	map->arena.hdr->ovf_fresh = fresh;
	assert_ok(put8(map, keys[10], 1));
	for (key = 1ull << 40, i = 11; i < 20; i++)
		assert_ok(put8(map, key++, 1));
	assert_int_equal(put8(map, key, 1), -E2BIG);
	um_map_close(map);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_chain_of_2000_keys_finds_each_and_no_other),
	cmocka_unit_test(overflow_buckets_come_back),
	cmocka_unit_test(a_chain_that_thins_out_uses_its_holes),
	cmocka_unit_test(keys_of_one_bucket_and_one_tag_are_told_apart),
	cmocka_unit_test(a_walk_gives_each_key_once_in_the_order_of_hashes),
	cmocka_unit_test(a_walk_forgets_the_buckets_it_finds_empty),
	cmocka_unit_test(values_of_a_word_are_replaced_in_place_and_larger_ones_not),
	cmocka_unit_test(keys_are_compared_to_the_last_byte),
	cmocka_unit_test(a_value_stays_in_its_place_while_its_chain_changes),
	cmocka_unit_test(an_upsert_stores_only_over_what_it_has_seen),
	cmocka_unit_test(a_full_map_refuses_in_the_right_order),
	cmocka_unit_test(an_insert_that_gets_no_overflow_bucket_gives_all_back),
	cmocka_unit_test(damaged_indexes_and_links_end_a_search),
};

UNIT_MAIN(tests)
