/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_hash.c - is the hash of natural keys as even as that of random ones? */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include "base/hash.h"

#define NR_KEYS 65536u
#define BUCKETS 4093u
#define CELLS (64 * 256)
/*
 * Of a chi-square with so many degrees of freedom, about normal: no fair hash
 * is that far above the mean in the lifetime of this test.
 */
#define MOST_SIGMAS 8.0

enum pattern {
	KEYS_SEQUENTIAL,
	KEYS_SEQUENTIAL_AT_THE_END, /* the counter stands in the last bytes */
	KEYS_BIG_ENDIAN,
	KEYS_STRIDE_64,
	KEYS_STRIDE_4096,
	KEYS_STRIDE_2_32, /* the low half never changes */
	KEYS_RANDOM,
	NR_PATTERNS,
};

static const char *const pattern_name[] = { "sequential", "sequential at the end", "big-endian",
					    "stride 64", "stride 4096", "stride 2^32", "random" };

static void put_le(uint8_t *key, uint32_t size, uint32_t at, uint64_t n)
{
	for (; n && at < size; n >>= 8)
		key[at++] = (uint8_t)n;
}

/* Key @i of a pattern; sizes where keys would be equal are not asked for. */
static void make_key(uint8_t *key, uint32_t size, enum pattern p, uint32_t i, struct rng *r)
{
	static const uint64_t stride[NR_PATTERNS] = { [KEYS_SEQUENTIAL] = 1,	     [KEYS_STRIDE_64] = 64,
						      [KEYS_STRIDE_4096] = 4096, [KEYS_STRIDE_2_32] = 1ull << 32 };
	uint32_t j;

	memset(key, 0, size);
	switch (p) {
	case KEYS_RANDOM:
		for (j = 0; j < size; j++)
			key[j] = (uint8_t)rng_next(r);
		break;
	case KEYS_SEQUENTIAL_AT_THE_END:
		put_le(key, size, size - min(size, 4u), i);
		break;
	case KEYS_BIG_ENDIAN:
		for (j = 0; j < min(size, 4u); j++)
			key[size - 1 - j] = (uint8_t)(i >> 8 * j);
		break;
	default:
		put_le(key, size, 0, i * stride[p]);
	}
}

static bool fits(uint32_t size, enum pattern p)
{
	return size >= (p == KEYS_STRIDE_2_32 ? 6u : p == KEYS_STRIDE_4096 ? 4u : p == KEYS_STRIDE_64 ? 3u :
			p == KEYS_RANDOM ? 6u : 2u);
}

static double sigmas(const uint32_t *count, uint32_t cells, const double *expected)
{
	double chi = 0;
	uint32_t i;

	for (i = 0; i < cells; i++)
		chi += (count[i] - expected[i]) * (count[i] - expected[i]) / expected[i];
	return (chi - (cells - 1)) / sqrt(2.0 * (cells - 1));
}

struct counts {
	uint32_t bucket[BUCKETS];
	uint32_t cell[CELLS]; /* coarse bucket and tag: are they independent? */
	double expect_bucket[BUCKETS];
	double expect_cell[CELLS];
};

static void count_keys(struct counts *c, uint32_t size, enum pattern p, const uint64_t seed[2])
{
	struct rng r = rng_new(test_seed, size);
	uint8_t key[512];
	uint32_t i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < BUCKETS; i++)
		c->expect_bucket[i] = (double)NR_KEYS / BUCKETS;
	/* tag 0 is no tag: tag 1 stands for both; cell 0 of each 256 is left out */
	for (i = 0; i < CELLS; i++)
		c->expect_cell[i] = (double)NR_KEYS / CELLS * (i % 256 == 1 ? 2 : 1);
	for (i = 0; i < NR_KEYS; i++) {
		uint64_t hash;

		make_key(key, size, p, i, &r);
		hash = hash_key(key, size, seed);
		c->bucket[hash_bucket(hash, BUCKETS)]++;
		c->cell[hash_bucket(hash, 64) * 256 + hash_tag(hash)]++;
	}
	for (i = 0; i < CELLS; i += 256) {
		assert_int_equal(c->cell[i], 0);
		c->expect_cell[i] = 1e-9;
	}
}

static void assert_even(uint32_t size, const uint64_t seed[2])
{
	struct counts *c = malloc(sizeof(*c));
	enum pattern p;

	assert_non_null(c);
	for (p = 0; p < NR_PATTERNS; p++) {
		double b, t;

		if (!fits(size, p))
			continue;
		count_keys(c, size, p, seed);
		b = sigmas(c->bucket, BUCKETS, c->expect_bucket);
		t = sigmas(c->cell, CELLS, c->expect_cell);
		if (b > MOST_SIGMAS || t > MOST_SIGMAS)
			fail_msg("%u-byte keys, %s, seed %llx %llx: buckets are %.1f sigmas from "
				 "even, tags %.1f",
				 size, pattern_name[p], (unsigned long long)seed[0],
				 (unsigned long long)seed[1], b, t);
	}
	free(c);
}

static const uint32_t sizes[] = { 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 17, 20, 24, 32, 40, 64, 300 };

static void natural_keys_are_spread_evenly_with_random_seeds(void **state)
{
	struct rng r = rng_new(test_seed, 0);
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (j = 0; j < 3; j++) {
			uint64_t seed[2] = { rng_next(&r), rng_next(&r) };

			assert_even(sizes[i], seed);
		}
}

static void natural_keys_are_spread_evenly_with_the_zero_seed(void **state)
{
	static const uint64_t zero[2];
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		assert_even(sizes[i], zero);
}

static void a_key_in_shared_memory_has_the_same_hash(void **state)
{
	struct rng r = rng_new(test_seed, 9);
	uint64_t shared[80], seed[2] = { rng_next(&r), rng_next(&r) };
	uint8_t key[600];
	uint32_t size, i;

	for (size = 1; size <= 600; size++) {
		for (i = 0; i < size; i++)
			key[i] = (uint8_t)rng_next(&r);
		copy_to_shared(shared, key, size);
		assert_true(hash_key(key, size, seed) == hash_shared_key(shared, size, seed));
	}
}

static void another_seed_is_another_hash(void **state)
{
	struct rng r = rng_new(test_seed, 10);
	uint64_t key[8] = { 1, 2, 3 };
	uint32_t i, half, size;

	for (size = 1; size <= 64; size++)
		for (i = 0; i < 64; i++)
			for (half = 0; half < 2; half++) {
				uint64_t seed[2] = { rng_next(&r), rng_next(&r) }, hash;

				hash = hash_key(key, size, seed);
				seed[half] ^= 1ull << i;
				assert_true(hash_key(key, size, seed) != hash);
			}
}

static void each_bit_of_a_key_moves_bucket_and_tag(void **state)
{
	struct rng r = rng_new(test_seed, 11);
	uint64_t seed[2] = { rng_next(&r), rng_next(&r) };
	uint32_t size, bit, i, same_bucket, same_tag;

	for (size = 1; size <= 24; size++)
		for (bit = 0; bit < 8 * size; bit++) {
			same_bucket = same_tag = 0;
			for (i = 0; i < 64; i++) {
				uint64_t key[3] = { rng_next(&r), rng_next(&r), rng_next(&r) };
				uint64_t a = hash_key(key, size, seed), b;

				((uint8_t *)key)[bit / 8] ^= (uint8_t)(1 << bit % 8);
				b = hash_key(key, size, seed);
				same_bucket += hash_bucket(a, 1024) == hash_bucket(b, 1024);
				same_tag += hash_tag(a) == hash_tag(b);
			}
			/* of 64: one in 1024, one in 256 */
			assert_true(same_bucket < 8 && same_tag < 10);
		}
}

static void buckets_are_in_range_and_in_the_order_of_the_hash(void **state)
{
	struct rng r = rng_new(test_seed, 12);
	uint32_t i, nr;

	for (i = 0; i < 100000; i++) {
		uint64_t a = rng_next(&r), b = rng_next(&r);

		nr = 1 + (uint32_t)(rng_next(&r) >> (32 + rng_below(&r, 32)));
		assert_true(hash_bucket(a, nr) < nr);
		if (a < b)
			assert_true(hash_bucket(a, nr) <= hash_bucket(b, nr));
	}
	assert_int_equal(hash_bucket(UINT64_MAX, 7), 6);
	assert_int_equal(hash_bucket(0, 7), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(natural_keys_are_spread_evenly_with_random_seeds),
	cmocka_unit_test(natural_keys_are_spread_evenly_with_the_zero_seed),
	cmocka_unit_test(a_key_in_shared_memory_has_the_same_hash),
	cmocka_unit_test(another_seed_is_another_hash),
	cmocka_unit_test(each_bit_of_a_key_moves_bucket_and_tag),
	cmocka_unit_test(buckets_are_in_range_and_in_the_order_of_the_hash),
};

UNIT_MAIN(tests)
