/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* rng.h - small seeded random numbers; the same seed gives the same test. */
#ifndef TEST_RNG_H
#define TEST_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state;
};

/* A finaliser of 64 bits (Steele, Lea, Flood 2014): every bit of x matters. */
static inline uint64_t rng_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* One seed serves many threads and processes: each takes a stream of its own. */
static inline struct rng rng_new(uint64_t seed, uint64_t stream)
{
	struct rng r = { rng_mix(seed) ^ rng_mix(~stream) };

	return r;
}

static inline uint64_t rng_next(struct rng *r)
{
	r->state += 0x9e3779b97f4a7c15ull;
	return rng_mix(r->state);
}

/* 0 .. n - 1, for n far below 2^32 */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)((rng_next(r) >> 32) * n >> 32);
}

#endif
