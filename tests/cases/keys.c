/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* keys.c - every byte of a key counts, and keys that share a bucket do not meet. */
#include <errno.h>
#include <string.h>
#include "check.h"
#include "maps.h"
#include "rng.h"

struct padded {
	uint64_t a;
	uint32_t b;
};

static void padding_is_part_of_the_key(void)
{
	struct shape s = { .key_size = sizeof(struct padded), .max = 4 };
	struct um_map *map = make_map(&s);
	unsigned char dirty[sizeof(struct padded)], clean[sizeof(struct padded)];
	struct padded p = { 1, 2 };
	uint64_t value = 7;

	check_eq(sizeof(struct padded), 16);
	memset(dirty, 0xff, sizeof(dirty));
	memset(clean, 0, sizeof(clean));
	memcpy(dirty, &p, 12);
	memcpy(clean, &p, 12);
	check_ok(um_map_update_elem(map, dirty, &value, BPF_ANY));
	check_err(um_map_lookup_elem(map, clean, &value), -ENOENT);
	check_ok(um_map_lookup_elem(map, dirty, &value));
	check_ok(um_map_update_elem(map, clean, &value, BPF_NOEXIST));
	check_counts(map, 2);
	um_map_close(map);
}

static void keys_that_differ_in_one_bit_are_different_keys(void)
{
	static const uint32_t sizes[] = { 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 64, 100, 300 };
	unsigned char key[300];
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint32_t bits = sizes[i] * 8, bit, value, got;
		struct shape s = { .key_size = sizes[i], .value_size = 4, .max = bits + 1 };
		struct um_map *map = make_map(&s);

		key_of(9, key, sizes[i]);
		for (bit = 0; bit <= bits; bit++) { /* the last one flips nothing */
			key[bit / 8 % sizes[i]] ^= bit < bits ? 1 << bit % 8 : 0;
			value = bit;
			check_ok(um_map_update_elem(map, key, &value, BPF_NOEXIST));
			key[bit / 8 % sizes[i]] ^= bit < bits ? 1 << bit % 8 : 0;
		}
		for (bit = 0; bit <= bits; bit++) {
			key[bit / 8 % sizes[i]] ^= bit < bits ? 1 << bit % 8 : 0;
			check_ok(um_map_lookup_elem(map, key, &got));
			check_eq(got, bit);
			key[bit / 8 % sizes[i]] ^= bit < bits ? 1 << bit % 8 : 0;
		}
		check_counts(map, bits + 1);
		um_map_close(map);
	}
}

static void unaligned_keys_and_values_are_taken_and_given(void)
{
	static const uint32_t sizes[] = { 1, 3, 4, 6, 8, 12, 16, 20, 33 };
	unsigned char buf[128], out[128];
	size_t i, shift;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct shape s = { .key_size = sizes[i], .value_size = sizes[i], .max = 8 };
		struct um_map *map = make_map(&s);

		for (shift = 0; shift < 8; shift++) {
			uint64_t n;

			key_of((uint32_t)shift, buf + shift, sizes[i]);
			value_of(shift + 1, buf + 64 + shift, sizes[i]);
			memset(out, 0xee, sizeof(out));
			check_ok(um_map_update_elem(map, buf + shift, buf + 64 + shift, BPF_ANY));
			check_ok(um_map_lookup_elem(map, buf + shift, out + 9 - shift));
			check(value_number(out + 9 - shift, sizes[i], &n) && n == shift + 1);
			/* and not a byte beside it */
			check(out[8 - shift] == 0xee && out[9 - shift + sizes[i]] == 0xee);
		}
		um_map_close(map);
	}
}

static void lookup(struct um_map *map, uint32_t key, uint64_t want)
{
	uint64_t value;

	check_ok(um_map_lookup_elem(map, &key, &value));
	check_eq(value, want);
}

static void put_key(struct um_map *map, uint32_t key, uint64_t value)
{
	check_ok(um_map_update_elem(map, &key, &value, BPF_ANY));
}

static void deleting_one_of_three_colliding_keys_leaves_two(void)
{
	static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					  { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	uint32_t keys[3], i;

	colliding_keys(keys, 3);
	for (i = 0; i < 6 * 3 * NR_MODES; i++) {
		struct um_map *map = small_map(3, BPF_F_ZERO_SEED | i % NR_MODES);
		const int *order = orders[i / NR_MODES % 6];
		int gone = (int)(i / NR_MODES / 6), left = (gone + 1) % 3, last = (gone + 2) % 3, j;

		for (j = 0; j < 3; j++)
			put_key(map, keys[order[j]], 100 + (uint64_t)order[j]);
		check_ok(um_map_delete_elem(map, &keys[gone]));
		lookup(map, keys[left], 100 + (uint64_t)left);
		lookup(map, keys[last], 100 + (uint64_t)last);
		put_key(map, keys[left], 55);
		check_counts(map, 2);
		lookup(map, keys[left], 55);
		check_ok(um_map_delete_elem(map, &keys[left]));
		check_err(um_map_lookup_elem(map, &keys[left], &(uint64_t){ 0 }), -ENOENT);
		lookup(map, keys[last], 100 + (uint64_t)last);
		check_counts(map, 1);
		um_map_close(map);
	}
}

/* The same at random, with far more keys than a bucket has places. */
static void a_long_chain_of_colliding_keys_keeps_all_of_them(void)
{
	enum { N = 80 };
	struct rng r = rng_new(test_seed, 1);
	uint32_t keys[N], i, step;

	colliding_keys(keys, N);
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct um_map *map = small_map(N, flags | BPF_F_ZERO_SEED);
		uint64_t there[N] = { 0 }, got, n = 0;

		for (step = 0; step < 20000; step++) {
			i = rng_below(&r, N);
			if (there[i] && rng_below(&r, 2)) {
				check_ok(um_map_delete_elem(map, &keys[i]));
				there[i] = 0;
				n--;
			} else {
				n += !there[i];
				there[i] = step + 1;
				put_key(map, keys[i], there[i]);
			}
			i = rng_below(&r, N);
			if (there[i])
				lookup(map, keys[i], there[i]);
			else
				check_err(um_map_lookup_elem(map, &keys[i], &got), -ENOENT);
			if (step % 500 == 0)
				check_counts(map, n);
		}
		for (i = 0; i < N; i++)
			check_eq(um_map_delete_elem(map, &keys[i]), there[i] ? 0 : -ENOENT);
		check_counts(map, 0);
		check_eq(fill_up(map, 0), N);
		um_map_close(map);
	}
}

static void maps_made_alike_differ_in_order_unless_the_seed_is_zero(void)
{
	uint32_t order[2][200], i, j;

	for (uint32_t zero = 0; zero < 2; zero++) {
		for (i = 0; i < 2; i++) {
			struct um_map *map = small_map(200, zero ? BPF_F_ZERO_SEED : 0);

			fill_up(map, 0);
			for (j = 0; j < 200; j++)
				check_ok(um_map_get_next_key(map, j ? &order[i][j - 1] : NULL,
							     &order[i][j]));
			um_map_close(map);
		}
		check_eq(!memcmp(order[0], order[1], sizeof(order[0])), zero);
	}
}

static const struct test tests[] = {
	{ "padding_is_part_of_the_key", padding_is_part_of_the_key },
	{ "keys_that_differ_in_one_bit_are_different_keys",
	  keys_that_differ_in_one_bit_are_different_keys },
	{ "unaligned_keys_and_values_are_taken_and_given",
	  unaligned_keys_and_values_are_taken_and_given },
	{ "deleting_one_of_three_colliding_keys_leaves_two",
	  deleting_one_of_three_colliding_keys_leaves_two },
	{ "a_long_chain_of_colliding_keys_keeps_all_of_them",
	  a_long_chain_of_colliding_keys_keeps_all_of_them },
	{ "maps_made_alike_differ_in_order_unless_the_seed_is_zero",
	  maps_made_alike_differ_in_order_unless_the_seed_is_zero },
};

TEST_MAIN(tests)
