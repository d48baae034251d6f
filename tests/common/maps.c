/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* maps.c - maps of many shapes for tests, and keys and values one can recognise. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "maps.h"
#include "rng.h"
#include "threads.h"

#define ODD 0x9e3779b97f4a7c15ull
#define ODD_INVERSE 0xf1de83e19937733dull /* ODD * ODD_INVERSE is 1, modulo 2^64 */

const char *shape_text(const struct shape *s)
{
	static const char *const backing[] = { "private", "memfd", "file" };
	static char buf[160];

	snprintf(buf, sizeof(buf),
		 "key %u value %u max %u flags %#x um_flags %#x nr_cpus %u spares %u %s",
		 s->key_size ? s->key_size : 4, s->value_size ? s->value_size : 8, s->max,
		 s->map_flags, s->um_flags, s->nr_cpus, s->spares, backing[s->backing]);
	return buf;
}

int try_make_map(const struct shape *s, struct um_map **map)
{
	UM_OPTS(um_map_opts, opts, .map_flags = s->map_flags, .um_flags = s->um_flags,
		.nr_cpus = s->nr_cpus, .spares = s->spares, .lock_timeout_ms = s->lock_timeout_ms);

	if (s->backing == MEMFD)
		opts.um_flags |= UM_F_MEMFD;
	if (s->backing == IN_FILE)
		opts.path = s->path ? s->path : "map";
	return um_map_create(BPF_MAP_TYPE_HASH, NULL, s->key_size ? s->key_size : 4,
			     s->value_size ? s->value_size : 8, s->max, &opts, map);
}

struct um_map *make_map(const struct shape *s)
{
	struct um_map *map = NULL;
	int err = try_make_map(s, &map);

	check_msg(!err, "create answers %s for %s", errno_text(err), shape_text(s));
	check(map);
	return map;
}

struct um_map *small_map(uint32_t max, uint32_t map_flags)
{
	struct shape s = { .max = max, .map_flags = map_flags };

	return make_map(&s);
}

struct um_map *open_map(const char *path, uint32_t map_flags)
{
	UM_OPTS(um_open_opts, opts, .map_flags = map_flags);
	struct um_map *map = NULL;
	int err = um_map_open(path, &opts, &map);

	check_msg(!err, "open of %s answers %s", path, errno_text(err));
	return map;
}

void key_of(uint32_t n, void *key, uint32_t size)
{
	unsigned char *k = key;
	uint64_t rest = rng_mix(n);
	uint32_t i;

	for (i = 0; i < size; i++)
		k[i] = i < 4 ? n >> (8 * i) : rest >> (8 * (i % 8));
}

bool key_number(const void *key, uint32_t size, uint32_t *n)
{
	unsigned char want[KEY_ROOM];
	const unsigned char *k = key;
	uint32_t i;

	*n = 0;
	for (i = 0; i < size && i < 4; i++)
		*n |= (uint32_t)k[i] << (8 * i);
	key_of(*n, want, size);
	return !memcmp(want, key, size);
}

static uint64_t word_of(uint64_t n, uint32_t size)
{
	return size < 8 ? n : n * ODD;
}

void value_of(uint64_t n, void *value, uint32_t size)
{
	uint64_t word = word_of(n, size);
	unsigned char *v = value;
	uint32_t i;

	for (i = 0; i < size; i++)
		v[i] = word >> (8 * (i % 8));
}

bool value_number(const void *value, uint32_t size, uint64_t *n)
{
	const unsigned char *v = value;
	uint64_t word = 0;
	uint32_t i;

	for (i = 0; i < size && i < 8; i++)
		word |= (uint64_t)v[i] << (8 * i);
	*n = size < 8 ? word : word * ODD_INVERSE;
	for (i = 8; i < size; i++)
		if (v[i] != v[i - 8])
			return false;
	return true;
}

bool value_ref_number(const void *ref, uint32_t size, uint64_t *n)
{
	uint64_t word = load(ref);
	uint32_t i;

	*n = word * ODD_INVERSE;
	for (i = 8; i + 8 <= size; i += 8)
		if (load((const char *)ref + i) != word)
			return false;
	return true;
}

uint64_t digest(const void *bytes, size_t size)
{
	const unsigned char *b = bytes;
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	while (size--)
		h = (h ^ *b++) * 0x100000001b3ull;
	return rng_mix(h);
}

uint64_t map_count(struct um_map *map)
{
	struct um_map_stats st = { .sz = sizeof(st) };

	check_ok(um_map_get_stats(map, &st));
	return st.count;
}

struct seen {
	unsigned char *keys;
	uint32_t size;
	uint64_t n;
};

static int compare_keys(const void *a, const void *b, void *size)
{
	return memcmp(a, b, *(uint32_t *)size);
}

static void note_key(struct seen *s, const void *key)
{
	if (!(s->n & (s->n - 1))) { /* room doubles when n is a power of two */
		s->keys = realloc(s->keys, (s->n ? s->n * 2 : 1) * s->size);
		check(s->keys);
	}
	memcpy(s->keys + s->n++ * s->size, key, s->size);
}

/* Ends the collection; every key in it has to be there once. */
static uint64_t distinct(struct seen *s)
{
	uint64_t i;

	if (s->n)
		qsort_r(s->keys, s->n, s->size, compare_keys, &s->size);
	for (i = 1; i < s->n; i++)
		check_msg(memcmp(s->keys + (i - 1) * s->size, s->keys + i * s->size, s->size),
			  "a walk gave a key twice");
	free(s->keys);
	return s->n;
}

static uint32_t key_size(struct um_map *map)
{
	struct um_map_info info = { .sz = sizeof(info) };

	check_ok(um_map_get_info(map, &info));
	return info.key_size;
}

uint64_t map_walk(struct um_map *map)
{
	struct seen s = { .size = key_size(map) };
	unsigned char key[KEY_ROOM];
	struct um_iter *it;
	int err;

	check_ok(um_iter_open(map, &it));
	while (!(err = um_iter_next(it, key, NULL)))
		note_key(&s, key);
	check_err(err, -ENOENT);
	check_err(um_iter_next(it, key, NULL), -ENOENT); /* over is over */
	um_iter_close(it);
	return distinct(&s);
}

static uint64_t map_next_walk(struct um_map *map)
{
	struct seen s = { .size = key_size(map) };
	unsigned char key[KEY_ROOM];
	int err = um_map_get_next_key(map, NULL, key);

	for (; !err; err = um_map_get_next_key(map, key, key))
		note_key(&s, key);
	check_err(err, -ENOENT);
	return distinct(&s);
}

void check_counts(struct um_map *map, uint64_t want)
{
	check_eq(map_count(map), want);
	check_eq(map_walk(map), want);
	check_eq(map_next_walk(map), want);
}

void colliding_keys(uint32_t *keys, uint32_t n)
{
	uint32_t i, many = 2000 * n;
	struct um_map *map = small_map(many, BPF_F_ZERO_SEED | BPF_F_NO_PREALLOC);
	uint64_t value = 0;

	for (i = 0; i < many; i++)
		check_ok(um_map_update_elem(map, &i, &value, BPF_ANY));
	/* The order of a walk is that of the hashes, whose high bits choose the bucket. */
	for (i = 0; i < n; i++)
		check_ok(um_map_get_next_key(map, i ? &keys[i - 1] : NULL, &keys[i]));
	um_map_close(map);
}

uint32_t fill_up(struct um_map *map, uint32_t first)
{
	struct um_map_info info = { .sz = sizeof(info) };
	unsigned char key[KEY_ROOM], value[VALUE_ROOM];
	uint32_t n;
	int err = 0;

	check_ok(um_map_get_info(map, &info));
	for (n = 0; n <= info.max_entries; n++) {
		key_of(first + n, key, info.key_size);
		value_of(n, value, info.value_size);
		err = um_map_update_elem(map, key, value, BPF_NOEXIST);
		if (err)
			break;
	}
	check_err(err, -E2BIG);
	return n;
}
