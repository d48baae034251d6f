/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* maps.h - maps of many shapes for tests, and keys and values one can recognise. */
#ifndef TEST_MAPS_H
#define TEST_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <usermap/usermap.h>

#define KEY_ROOM 512
#define VALUE_ROOM 8192

enum backing { PRIVATE, MEMFD, IN_FILE, NR_BACKINGS };

struct shape {
	uint32_t key_size;   /* 0: 4 */
	uint32_t value_size; /* 0: 8 */
	uint32_t max;
	uint32_t map_flags;
	uint32_t um_flags;
	uint32_t nr_cpus;
	uint32_t spares;
	uint32_t lock_timeout_ms;
	enum backing backing;
	const char *path; /* IN_FILE; NULL: the name "map" */
};

/* The map_flags of a test that is for both modes: for (mode = 0; mode < NR_MODES; mode++) */
enum { PREALLOC, ON_DEMAND = BPF_F_NO_PREALLOC, NR_MODES };

const char *shape_text(const struct shape *s);
int try_make_map(const struct shape *s, struct um_map **map);
struct um_map *make_map(const struct shape *s);
struct um_map *small_map(uint32_t max, uint32_t map_flags); /* keys of 4, values of 8 bytes */
struct um_map *open_map(const char *path, uint32_t map_flags);

/*
 * A key is its number, little-endian, then bytes that follow from the number; a
 * value of 8 bytes or more repeats one word that follows from its number, so that
 * a copy of two values mixed cannot pass for either.
 */
void key_of(uint32_t n, void *key, uint32_t size);
bool key_number(const void *key, uint32_t size, uint32_t *n);
void value_of(uint64_t n, void *value, uint32_t size);
bool value_number(const void *value, uint32_t size, uint64_t *n);
bool value_ref_number(const void *ref, uint32_t size, uint64_t *n); /* others may write */

uint64_t digest(const void *bytes, size_t size);

uint64_t map_count(struct um_map *map);		      /* by statistics */
uint64_t map_walk(struct um_map *map);		      /* by cursor, keys checked to be distinct */
void check_counts(struct um_map *map, uint64_t want); /* both, and next_key */

/* Keys of 4 bytes, the first n of all keys by hash, so of one bucket in small maps. */
void colliding_keys(uint32_t *keys, uint32_t n);

/* Insert fresh keys from first on until the map is full; how many went in. */
uint32_t fill_up(struct um_map *map, uint32_t first);

#endif
