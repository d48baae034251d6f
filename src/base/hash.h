/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * hash.h - the hash of a key: 64 bits, seeded by 128.
 *
 * Keys of 4, 8 and 16 bytes, the common ones, are mixed by two multiplications
 * to 128 bits whose halves are folded; both seeds go in before the first, so
 * that without them no set of keys can be aimed at one bucket. All other sizes
 * take XXH3. High bits choose the bucket, low bits the tag.
 */
#ifndef UM_HASH_H
#define UM_HASH_H

#include <stdint.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/atomic.h"

/* Written into a map; another function is another number. */
#define UM_HASH_ID 1

#define HASH_K0 0x9e3779b97f4a7c15ull /* 2^64 over the golden ratio */
#define HASH_K1 0xd6e8feb86659fd93ull /* odd, 32 bits set */

static __always_inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;

	return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

static __always_inline uint64_t hash_word(uint64_t a, const uint64_t seed[2])
{
	uint64_t mixed = hash_fold(a ^ seed[0], (a << 32 | a >> 32) ^ seed[1] ^ HASH_K0);

	return hash_fold(mixed ^ seed[1], HASH_K1);
}

static __always_inline uint64_t hash_words(uint64_t a, uint64_t b, const uint64_t seed[2])
{
	/* with the zero seed a zero must not swallow the other half */
	uint64_t mixed = hash_fold(a ^ seed[0] ^ HASH_K1, b ^ seed[1] ^ HASH_K0);

	return hash_fold(mixed ^ seed[1], HASH_K1);
}

static __always_inline uint64_t hash_key(const void *key, uint32_t size, const uint64_t seed[2])
{
	uint64_t a, b;
	uint32_t w;

	switch (size) {
	case 4:
		memcpy(&w, key, 4);
		return hash_word(w, seed);
	case 8:
		memcpy(&a, key, 8);
		return hash_word(a, seed);
	case 16:
		memcpy(&a, key, 8);
		memcpy(&b, (const char *)key + 8, 8);
		return hash_words(a, b, seed);
	default:
		return hash_fold(XXH3_64bits_withSeed(key, size, seed[0]) ^ seed[1], HASH_K1);
	}
}

/* The same of a key in shared memory, which may change while it is read. */
static inline uint64_t hash_shared_key(const void *shared, uint32_t size, const uint64_t seed[2])
{
	char part[256];
	XXH3_state_t state;
	uint32_t done, n;

	if (size <= sizeof(part)) {
		copy_from_shared(part, shared, size);
		return hash_key(part, size, seed);
	}
	XXH3_INITSTATE(&state);
	XXH3_64bits_reset_withSeed(&state, seed[0]);
	for (done = 0; done < size; done += n) {
		n = min(size - done, (uint32_t)sizeof(part));
		copy_from_shared(part, (const char *)shared + done, n);
		XXH3_64bits_update(&state, part, n);
	}
	return hash_fold(XXH3_64bits_digest(&state) ^ seed[1], HASH_K1);
}

/* Buckets go in the order of the hash, whatever their number. */
static __always_inline uint32_t hash_bucket(uint64_t hash, uint32_t nr_buckets)
{
	return (uint32_t)(((__uint128_t)hash * nr_buckets) >> 64);
}

/* 0 marks a free slot. */
static __always_inline uint8_t hash_tag(uint64_t hash)
{
	uint8_t tag = (uint8_t)hash;

	return (uint8_t)(tag + !tag);
}

#endif
