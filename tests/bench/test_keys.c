/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_keys.c - keys differ, and are picked as often as the distribution says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "keys.h"

#define PICKS 1000000

static uint64_t seed;

static int by_bytes(const void *a, const void *b, void *size)
{
	return memcmp(a, b, *(uint32_t *)size);
}

static void check_distinct(uint32_t key_size, uint32_t nr)
{
	char *keys = calloc(nr, key_size);
	uint32_t i;

	assert_non_null(keys);
	for (i = 0; i < nr; i++)
		key_make(i, key_size, keys + (size_t)i * key_size);
	qsort_r(keys, nr, key_size, by_bytes, &key_size);
	for (i = 1; i < nr; i++) {
		if (!memcmp(keys + (size_t)(i - 1) * key_size, keys + (size_t)i * key_size,
			    key_size))
			fail_msg("two of %u keys of %u bytes are the same", nr, key_size);
	}
	free(keys);
}

static void keys_of_every_size_differ(void **state)
{
	static const uint32_t sizes[] = { 3, 4, 5, 7, 8, 9, 12, 16, 17, 255, 512 };
	unsigned int i;

	check_distinct(1, 256);
	check_distinct(2, 65536);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_distinct(sizes[i], 100000);
}

static void keys_keep_to_their_size(void **state)
{
	char key[32];
	uint32_t size;

	for (size = 1; size < 24; size++) {
		memset(key, 0x5a, sizeof(key));
		key_make(7, size, key);
		assert_int_equal(key[size], 0x5a);
	}
}

static uint32_t *count_picks(const struct dist *dist, uint64_t first, uint32_t nr)
{
	uint32_t *count = calloc(nr, sizeof(*count));
	struct picker picker;
	uint64_t n;
	int i;

	assert_non_null(count);
	picker_init(&picker, dist, first, nr, seed);
	for (i = 0; i < PICKS; i++) {
		n = picker_next(&picker);
		if (n < first || n >= first + nr)
			fail_msg("%llu is not among %u from %llu on", (unsigned long long)n, nr,
				 (unsigned long long)first);
		count[n - first]++;
	}
	return count;
}

static void uniform_picks_all_alike(void **state)
{
	const struct dist dist = { .zipf = false };
	uint32_t *count = count_picks(&dist, 1000, 100), i;

	/* 10000 each with a deviation of 100; six of them are allowed */
	for (i = 0; i < 100; i++)
		assert_in_range(count[i], 9400, 10600);
	free(count);
}

static int downwards(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x < y) - (x > y);
}

static void check_zipf(double s)
{
	const struct dist dist = { .zipf = true, .s = s };
	const uint32_t nr = 1000;
	uint32_t *count = count_picks(&dist, 0, nr), i;
	double sum = 0, want;

	for (i = 1; i <= nr; i++)
		sum += pow(i, -s);
	qsort(count, nr, sizeof(*count), downwards);
	/* The popular ones stand apart enough for sorting not to matter. */
	for (i = 0; i < 5; i++) {
		want = PICKS * pow(i + 1, -s) / sum;
		if (fabs(count[i] - want) > 6 * sqrt(want) + 1)
			fail_msg("zipf %g: rank %u was picked %u times, not about %.0f", s, i + 1,
				 count[i], want);
	}
	free(count);
}

static void zipf_picks_by_rank(void **state)
{
	check_zipf(0.5);
	check_zipf(0.99);
	check_zipf(1);
	check_zipf(1.5);
	check_zipf(3);
}

static void one_key_is_always_picked(void **state)
{
	const struct dist uniform = { .zipf = false }, zipf = { .zipf = true, .s = 0.99 };

	free(count_picks(&uniform, 5, 1));
	free(count_picks(&zipf, 5, 1));
}

static void the_same_seed_gives_the_same_picks(void **state)
{
	const struct dist dist = { .zipf = true, .s = 0.99 };
	struct picker a, b;
	int i;

	picker_init(&a, &dist, 0, 1 << 20, seed);
	picker_init(&b, &dist, 0, 1 << 20, seed);
	for (i = 0; i < 1000; i++)
		assert_true(picker_next(&a) == picker_next(&b));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_every_size_differ),
		cmocka_unit_test(keys_keep_to_their_size),
		cmocka_unit_test(uniform_picks_all_alike),
		cmocka_unit_test(zipf_picks_by_rank),
		cmocka_unit_test(one_key_is_always_picked),
		cmocka_unit_test(the_same_seed_gives_the_same_picks),
	};

	seed = (uint64_t)getpid() * 2654435761u;
	if (argc == 3 && !strcmp(argv[1], "-s"))
		seed = strtoull(argv[2], NULL, 0);
	printf("seed %llu, give -s %llu to repeat\n", (unsigned long long)seed,
	       (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
