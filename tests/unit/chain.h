/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* chain.h - 8-byte keys that meet in one bucket of a map with the zero seed. */
#ifndef UNIT_CHAIN_H
#define UNIT_CHAIN_H

#include "unit.h"

/* The bucket of an 8-byte key, and its tag. */
static inline uint32_t home_of(const struct um_map *map, uint64_t key)
{
	return hash_bucket(hash_key(&key, 8, map->htab.seed), map->htab.nr_buckets);
}

static inline uint8_t tag_of(const struct um_map *map, uint64_t key)
{
	return hash_tag(hash_key(&key, 8, map->htab.seed));
}

/* The next key above @key that belongs to @bucket. */
static inline uint64_t next_in_bucket_of(const struct um_map *map, uint64_t key, uint32_t bucket)
{
	do
		key++;
	while (home_of(map, key) != bucket);
	return key;
}

/* @nr keys of one bucket, in @keys. */
static inline void keys_of_bucket(const struct um_map *map, uint32_t bucket, uint64_t *keys,
				  uint32_t nr)
{
	uint64_t key = 0;
	uint32_t i;

	for (i = 0; i < nr; i++)
		keys[i] = key = next_in_bucket_of(map, key, bucket);
}

static inline void shuffle(uint64_t *keys, uint32_t nr, struct rng *r)
{
	uint32_t i, j;
	uint64_t k;

	for (i = nr; i > 1; i--) {
		j = rng_below(r, i);
		k = keys[i - 1];
		keys[i - 1] = keys[j];
		keys[j] = k;
	}
}

#endif
