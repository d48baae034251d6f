/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_atomic.c - copies by words against copies by bytes. */
#include "unit.h"

#include "base/atomic.h"

#define MOST 70
#define GUARD 0xa5

/* Shared memory with guard bytes around, aligned as the size asks for. */
struct area {
	uint8_t before[16];
	uint8_t bytes[80];
	uint8_t after[16];
} __attribute__((aligned(8)));

static uint8_t *shared_of(struct area *a, size_t size)
{
	memset(a, GUARD, sizeof(*a));
	/* a small one may stand at 4 modulo 8 */
	return size <= 4 ? a->bytes + 4 : a->bytes;
}

static size_t padded(size_t size)
{
	return size <= 4 ? (size ? 4 : 0) : round_up(size, (size_t)4);
}

static void assert_guards(const uint8_t *bytes, const uint8_t *from, const uint8_t *end)
{
	for (; from < end; from++)
		if (*from != GUARD)
			fail_msg("a guard byte at %td changed", from - bytes);
}

static void fill(struct rng *r, uint8_t *to, size_t size)
{
	while (size--)
		*to++ = (uint8_t)rng_next(r);
}

static void a_copy_to_shared_memory_writes_the_bytes_and_no_others(void **state)
{
	struct rng r = rng_new(test_seed, 1);
	uint8_t src[MOST + 1];
	struct area a;
	size_t size, shift;

	for (size = 0; size <= MOST; size++)
		for (shift = 0; shift < 2; shift++) {
			uint8_t *to = shared_of(&a, size);
			size_t i, end = size > 4 && size % 8 > 4 ? round_up(size, (size_t)8) :
								   padded(size);

			fill(&r, src, sizeof(src));
			copy_to_shared(to, src + shift, min(size, MOST - shift));
			if (size > MOST - shift)
				continue;
			assert_memory_equal(to, src + shift, size);
			for (i = size; i < end; i++)
				assert_int_equal(to[i], 0);
			assert_guards(to, a.before, to);
			assert_guards(to, to + end, a.after + sizeof(a.after));
		}
}

static void a_copy_from_shared_memory_writes_the_bytes_and_no_others(void **state)
{
	struct rng r = rng_new(test_seed, 2);
	uint8_t dst[MOST + 3];
	struct area a;
	size_t size;

	for (size = 0; size <= MOST; size++) {
		uint8_t *from = shared_of(&a, size);

		fill(&r, from, padded(size));
		memset(dst, GUARD, sizeof(dst));
		copy_from_shared(dst + 1, from, size);
		assert_memory_equal(dst + 1, from, size);
		assert_guards(dst, dst, dst + 1);
		assert_guards(dst, dst + 1 + size, dst + sizeof(dst));
	}
}

static void zeroing_writes_whole_words_and_no_others(void **state)
{
	struct area a;
	size_t size, i;

	for (size = 0; size <= MOST; size++) {
		uint8_t *to = shared_of(&a, size);
		size_t end = size > 4 && size % 8 > 4 ? round_up(size, (size_t)8) : padded(size);

		zero_shared(to, size);
		for (i = 0; i < end; i++)
			assert_int_equal(to[i], 0);
		assert_guards(to, a.before, to);
		assert_guards(to, to + end, a.after + sizeof(a.after));
	}
}

static void comparing_sees_each_byte_of_the_key_and_none_behind(void **state)
{
	struct rng r = rng_new(test_seed, 3);
	uint8_t key[MOST + 2];
	struct area a;
	size_t size, i;

	for (size = 0; size <= MOST; size++) {
		uint8_t *at = shared_of(&a, size);

		fill(&r, key, sizeof(key));
		copy_to_shared(at, key + 1, size);
		assert_true(equal_shared(at, key + 1, size));
		key[0] ^= 1;
		key[size + 1] ^= 1;
		assert_true(equal_shared(at, key + 1, size));
		for (i = 1; i <= size; i++) {
			uint8_t bit = (uint8_t)(1 << rng_below(&r, 8));

			key[i] ^= bit;
			assert_false(equal_shared(at, key + 1, size));
			key[i] ^= bit;
		}
	}
}

static void a_failed_exchange_says_what_was_there(void **state)
{
	uint64_t word = 5, old = 4;

	assert_false(try_cmpxchg(&word, &old, 9ull));
	assert_int_equal(old, 5);
	assert_int_equal(word, 5);
	assert_true(try_cmpxchg(&word, &old, 9ull));
	assert_int_equal(word, 9);
	assert_int_equal(xchg(&word, 1ull), 9);
	assert_int_equal(atomic_fetch_add(&word, 2ull), 1);
	assert_int_equal(atomic_fetch_or(&word, 12ull), 3);
	assert_int_equal(atomic_fetch_and(&word, 6ull), 15);
	atomic_inc_relaxed(&word);
	assert_int_equal(word, 7);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_copy_to_shared_memory_writes_the_bytes_and_no_others),
	cmocka_unit_test(a_copy_from_shared_memory_writes_the_bytes_and_no_others),
	cmocka_unit_test(zeroing_writes_whole_words_and_no_others),
	cmocka_unit_test(comparing_sees_each_byte_of_the_key_and_none_behind),
	cmocka_unit_test(a_failed_exchange_says_what_was_there),
};

UNIT_MAIN(tests)
