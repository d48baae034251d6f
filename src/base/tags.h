/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * tags.h - find the slots of a bucket whose tag is a given byte.
 *
 * The ten tags stand in a 64-bit and the low half of a 32-bit word; bit i of
 * the answer is tag i.
 */
#ifndef UM_TAGS_H
#define UM_TAGS_H

#include <stdint.h>
#include "base/compiler.h"

#define NR_TAGS 10

#define for_each_slot(mask, slot) \
	for (; (mask) && ((slot) = (uint32_t)__builtin_ctz(mask), 1); (mask) &= (mask) - 1)

/* Exact, one byte at a time; what the tests hold the others against. */
static inline uint32_t tags_match_plain(uint64_t lo, uint32_t hi, uint8_t tag)
{
	uint32_t mask = 0, i;

	for (i = 0; i < NR_TAGS; i++)
		if ((uint8_t)(i < 8 ? lo >> (8 * i) : hi >> (8 * (i - 8))) == tag)
			mask |= 1u << i;
	return mask;
}

#if defined(__SSE2__)

#include <emmintrin.h>

static __always_inline uint32_t tags_match(uint64_t lo, uint32_t hi, uint8_t tag)
{
	__m128i tags = _mm_set_epi64x(hi, (long long)lo);

	return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(tags, _mm_set1_epi8((char)tag))) &
	       ((1u << NR_TAGS) - 1);
}

#elif defined(__ARM_NEON)

#include <arm_neon.h>

/* NEON has no movemask: keep one bit of each matching byte and add them up. */
static __always_inline uint32_t tags_match(uint64_t lo, uint32_t hi, uint8_t tag)
{
	const uint8x8_t bit = vcreate_u8(0x8040201008040201ull);
	uint8x8_t want = vdup_n_u8(tag);
	uint32_t mask = vaddv_u8(vand_u8(vceq_u8(vcreate_u8(lo), want), bit));

	return mask | (uint32_t)((uint8_t)hi == tag) << 8 |
	       (uint32_t)((uint8_t)(hi >> 8) == tag) << 9;
}

#else

static __always_inline uint32_t tags_match(uint64_t lo, uint32_t hi, uint8_t tag)
{
	return tags_match_plain(lo, hi, tag);
}

#endif
#endif
