/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * htab_iter.c - walks, in the order of hash, then key bytes.
 *
 * Buckets go in the order of the hash (high bits choose them), so one order
 * runs through the whole map, and a walk's position is the key it gave last:
 * the next entry is the least one after it. Nothing that happens to other keys
 * moves it. Empty stretches are skipped by the occupancy bitmap.
 */
#include "map/htab.h"

#include <errno.h>

#define ITER_TRIES 64

/* Order by bytes of a key in shared memory and @key, or @b's if @key is NULL. */
static int compare_keys(const struct htab *h, elem_idx a, const void *key, elem_idx b)
{
	char part_a[64], part_b[64];
	uint32_t done, n;
	int order = 0;

	for (done = 0; done < h->key_size && !order; done += n) {
		n = min(h->key_size - done, (uint32_t)sizeof(part_a));
		copy_from_shared(part_a, elem_key(h, a) + done, n);
		if (key)
			memcpy(part_b, (const char *)key + done, n);
		else
			copy_from_shared(part_b, elem_key(h, b) + done, n);
		order = memcmp(part_a, part_b, n);
	}
	return order;
}

static bool comes_after(const struct htab *h, elem_idx e, uint64_t hash,
			const struct iter_pos *after)
{
	if (!after->started)
		return true;
	if (hash != after->hash)
		return hash > after->hash;
	return compare_keys(h, e, after->key, 0) > 0;
}

/* The least entry of a chain after @after; 0: none. *empty: nothing at all. */
static elem_idx least_after(const struct htab *h, struct bucket *home,
			    const struct iter_pos *after, uint64_t *hash, bool *empty)
{
	uint64_t best_hash = 0, one;
	elem_idx best = 0, e;
	struct bucket *b;
	uint32_t hops, i;

	*empty = true;
	for_each_in_chain(h, b, home, hops) {
		for (i = 0; i < NR_SLOTS; i++) {
			e = smp_load_acquire(&b->elem[i]); /* order: htab-publish [acquire] */
			if (!e || e > h->nr_elems)
				continue;
			*empty = false;
			one = hash_shared_key(elem_key(h, e), h->key_size, h->seed);
			if (!comes_after(h, e, one, after))
				continue;
			if (!best || one < best_hash ||
			    (one == best_hash && compare_keys(h, e, NULL, best) < 0)) {
				best = e;
				best_hash = one;
			}
		}
	}
	*hash = best_hash;
	return best;
}

static elem_idx read_chain(const struct htab *h, struct bucket *home,
			   const struct iter_pos *after, struct iter_out *out, bool *empty)
{
	elem_idx e = least_after(h, home, after, &out->hash, empty);

	if (!e)
		return 0;
	copy_from_shared(out->key, elem_key(h, e), h->key_size);
	if (out->value)
		copy_from_shared(out->value, elem_value(h, e), h->value_size);
	out->ref = elem_value(h, e);
	return e;
}

/* One bucket's next entry: 1, 0 for none, or an error. */
static int next_in_bucket(struct htab *h, struct call *c, bool locked, uint32_t nr,
			  const struct iter_pos *after, struct iter_out *out, bool *empty)
{
	struct bucket *home = &h->buckets[nr];
	elem_idx e;
	int tries, err;

	if (locked) {
		err = um_bucket_lock(h->a, c->rec, &home->lock, nr);
		if (err)
			return err;
		e = read_chain(h, home, after, out, empty);
		um_bucket_unlock(h->a, c->rec, &home->lock);
		return e != 0;
	}
	for (tries = 0; tries < ITER_TRIES; tries++) {
		uint32_t version = smp_load_acquire(&home->version);

		e = read_chain(h, home, after, out, empty);
		smp_rmb(); /* order: htab-depart [read barrier] */
		if (READ_ONCE(home->version) == version)
			return e != 0;
	}
	return -EAGAIN;
}

/* The first bucket from @nr on that may hold something; nr_buckets: none. */
static uint32_t next_occupied(const struct htab *h, uint32_t nr)
{
	uint32_t words = (h->nr_buckets + 63) / 64, w = nr / 64;
	uint64_t bits;

	if (nr >= h->nr_buckets)
		return h->nr_buckets;
	bits = smp_load_acquire(&h->occupancy[w]) & (~0ull << nr % 64);
	while (!bits && ++w < words)
		bits = smp_load_acquire(&h->occupancy[w]);
	if (!bits)
		return h->nr_buckets;
	return min(w * 64 + (uint32_t)__builtin_ctzll(bits), h->nr_buckets);
}

/* Empty when the walk looked; if it is, its occupancy bit goes. */
static void note_empty(struct htab *h, struct call *c, uint32_t nr)
{
	struct bucket *home = &h->buckets[nr], *b;
	uint32_t hops;

	/* another walk will come: not worth waiting for a lock */
	if (um_bucket_trylock(h->a, c->rec, &home->lock, nr))
		return;
	for_each_in_chain(h, b, home, hops)
		if (!bucket_empty(b))
			break;
	if (!b)
		atomic_fetch_and(&h->occupancy[nr / 64], ~(1ull << nr % 64));
	um_bucket_unlock(h->a, c->rec, &home->lock);
}

int um_htab_next(struct htab *h, struct call *c, bool locked, const struct iter_pos *after,
		 struct iter_out *out)
{
	uint32_t nr = after->started ? hash_bucket(after->hash, h->nr_buckets) : 0;
	bool empty;
	int got;

	for (nr = next_occupied(h, nr); nr < h->nr_buckets; nr = next_occupied(h, nr + 1)) {
		got = next_in_bucket(h, c, locked, nr, after, out, &empty);
		if (got)
			return got < 0 ? got : 0;
		if (empty && c)
			note_empty(h, c, nr);
	}
	return -ENOENT;
}
