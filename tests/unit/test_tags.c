/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_tags.c - the vector comparison of tags against the plain one. */
#include "unit.h"

#include "base/tags.h"

static void set_tag(uint64_t *lo, uint32_t *hi, uint32_t slot, uint8_t tag)
{
	if (slot < 8)
		*lo |= (uint64_t)tag << 8 * slot;
	else
		*hi |= (uint32_t)tag << 8 * (slot - 8);
}

static void every_tag_is_found_in_every_slot(void **state)
{
	uint32_t slot, tag, other;

	for (slot = 0; slot < NR_TAGS; slot++)
		for (tag = 0; tag < 256; tag++) {
			uint64_t lo = 0;
			uint32_t hi = 0;

			set_tag(&lo, &hi, slot, (uint8_t)tag);
			for (other = 0; other < 256; other++)
				assert_int_equal(tags_match(lo, hi, (uint8_t)other),
						 tags_match_plain(lo, hi, (uint8_t)other));
			assert_true(tags_match(lo, hi, (uint8_t)tag) & 1u << slot);
		}
}

static void every_set_of_equal_tags_gives_its_mask(void **state)
{
	static const uint8_t tag[] = { 0x01, 0x7f, 0x80, 0xff };
	uint32_t mask, slot, t;

	for (t = 0; t < ARRAY_SIZE(tag); t++)
		for (mask = 0; mask < 1u << NR_TAGS; mask++) {
			uint64_t lo = 0;
			uint32_t hi = 0;

			for (slot = 0; slot < NR_TAGS; slot++)
				if (mask & 1u << slot)
					set_tag(&lo, &hi, slot, tag[t]);
			assert_int_equal(tags_match(lo, hi, tag[t]), mask);
			assert_int_equal(tags_match(lo, hi, 0), ~mask & ((1u << NR_TAGS) - 1));
		}
}

/* Few tag values, so that matches are common; the spare 16 bits hold rubbish. */
static void random_words_match_as_the_plain_comparison_says(void **state)
{
	struct rng r = rng_new(test_seed, 0);
	int i, j;

	for (i = 0; i < 1000000; i++) {
		uint64_t lo = rng_next(&r);
		uint32_t hi = (uint32_t)rng_next(&r);
		uint8_t tag = (uint8_t)rng_next(&r);

		for (j = 0; j < 10; j++)
			if (rng_below(&r, 3) == 0)
				lo = (lo & ~(0xffull << 8 * (j % 8))) | (uint64_t)tag << 8 * (j % 8);
		if (rng_below(&r, 3) == 0)
			hi = (hi & 0xffff00ff) | (uint32_t)tag << 8;
		assert_int_equal(tags_match(lo, hi, tag), tags_match_plain(lo, hi, tag));
	}
}

static void slots_of_a_mask_come_in_order_and_once(void **state)
{
	uint32_t mask, left, seen, slot;

	for (mask = 0; mask < 1u << NR_TAGS; mask++) {
		seen = 0;
		left = mask;
		for_each_slot(left, slot) {
			assert_true(seen < 1u << slot);
			seen |= 1u << slot;
		}
		assert_int_equal(seen, mask);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_tag_is_found_in_every_slot),
	cmocka_unit_test(every_set_of_equal_tags_gives_its_mask),
	cmocka_unit_test(random_words_match_as_the_plain_comparison_says),
	cmocka_unit_test(slots_of_a_mask_come_in_order_and_once),
};

UNIT_MAIN(tests)
