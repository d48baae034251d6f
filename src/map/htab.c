/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * htab.c - look up, update, delete: the algorithm.
 *
 * Readers take no lock. A departure (delete, replacement, addition in place of
 * part of a value) goes in this order: the slot; the home's version, a release
 * store; a write barrier; and only then any store into the element. A reader
 * reads the version, finds, copies, and reads the version again: the same, and
 * nothing he copied had departed. An arrival needs no new version.
 *
 * A hit needs the check since the element may have become another key's while
 * it was compared and copied. A miss needs none if no tag matched and no
 * overflow bucket was walked: a key that is there has its tag in its slot.
 * Else it does: the index of a slot may have been read just before the key was
 * given a new element and the old one another key.
 *
 * Writers lock the home bucket, only that, and briefly: hashing, allocation
 * and copies come before. A value of one word is replaced in place by one
 * store, which no reader can see half, and takes no element at all.
 */
#include "map/htab.h"

#include <errno.h>

#define LOOKUP_TRIES 64

static __attribute__((noinline)) bool long_key_is(const struct htab *h, elem_idx e, const void *key)
{
	return equal_shared(elem_key(h, e), key, h->key_size);
}

static __always_inline bool key_is(const struct htab *h, elem_idx e, const void *key)
{
	return likely(h->key_size == 8) ? equal_shared(elem_key(h, e), key, 8) :
					  long_key_is(h, e, key);
}

/* Find @p's key. *sure: if it is absent, that needs no look at the version. */
static __always_inline bool find(const struct htab *h, const struct place *p, struct slot *s,
				 bool *sure)
{
	struct bucket *b;
	uint32_t hops, mask, i;

	*sure = true;
	for_each_in_chain(h, b, p->home, hops) {
		mask = bucket_match(b, p->tag);
		if (unlikely(hops))
			*sure = false;
		for_each_slot(mask, i) {
			elem_idx e = smp_load_acquire(&b->elem[i]); /* order: htab-publish [acquire] */

			*sure = false;
			if (likely(e - 1 < h->nr_elems) && key_is(h, e, p->key)) {
				*s = (struct slot){ b, i, e };
				return true;
			}
		}
	}
	return false;
}

static __always_inline uint32_t read_version(const struct place *p)
{
	return smp_load_acquire(&p->home->version);
}

static __always_inline bool version_is(const struct place *p, uint32_t version)
{
	/*
	 * order: htab-depart [read barrier]
	 * All that was read from elements comes before this look. Other side:
	 * depart() and fill_elem(), whose write barriers put the new version
	 * before the next tenant's bytes. Without it a copy could mix two keys.
	 */
	smp_rmb();
	return likely(READ_ONCE(p->home->version) == version);
}

/* ---- look-up ---- */

/* Out of line, so that the common size needs no registers saved. */
static __attribute__((noinline)) void copy_long_value(const struct htab *h, elem_idx e, void *value)
{
	copy_from_shared(value, elem_value(h, e), h->value_size);
}

/* To the caller's memory, or, the common size, to a word that stays private
 * until it is known to be whole. */
static __always_inline void copy_value(const struct htab *h, elem_idx e, void *value,
				       uint64_t *word)
{
	if (likely(h->value_size == 8))
		copy_from_shared(word, elem_value(h, e), 8);
	else
		copy_long_value(h, e, value);
}

static __always_inline void give_value(const struct htab *h, void *value, const uint64_t *word)
{
	if (likely(h->value_size == 8))
		memcpy(value, word, 8);
}

/* Overflow buckets, a tag that fits another key, writers in the way. */
static __cold int lookup_further(const struct htab *h, const void *key, uint64_t hash, void *value)
{
	struct place p = { key, hash, &h->buckets[hash_bucket(hash, h->nr_buckets)],
			   hash_tag(hash) };
	uint64_t word = 0;
	struct slot s;
	int tries;

	for (tries = 0; tries < LOOKUP_TRIES; tries++) {
		uint32_t version = read_version(&p);
		bool sure, hit = find(h, &p, &s, &sure);

		if (!hit && sure)
			return -ENOENT;
		if (hit)
			copy_value(h, s.e, value, &word);
		if (!version_is(&p, version))
			continue;
		if (hit)
			give_value(h, value, &word);
		return hit ? 0 : -ENOENT;
	}
	return -EAGAIN;
}

/* Straight through the home bucket: what nearly every look-up is. */
static __always_inline int lookup(const struct htab *h, const void *key, uint32_t key_size,
				  void *value)
{
	struct place p;
	uint32_t version, mask;
	uint64_t word = 0;
	elem_idx e;

	place_of(h, key, key_size, &p);
	version = read_version(&p);
	mask = bucket_match(p.home, p.tag);
	if (!mask && likely(!READ_ONCE(p.home->next)))
		return -ENOENT;
	if (likely(mask)) {
		e = smp_load_acquire(&p.home->elem[__builtin_ctz(mask)]); /* order: htab-publish [acquire] */
		if (likely(e - 1 < h->nr_elems && equal_shared(elem_key(h, e), key, key_size))) {
			copy_value(h, e, value, &word);
			if (version_is(&p, version)) {
				give_value(h, value, &word);
				return 0;
			}
		}
	}
	return lookup_further(h, key, p.hash, value);
}

static __attribute__((noinline)) int lookup_4(const struct htab *h, const void *key, void *value)
{
	return lookup(h, key, 4, value);
}

static __attribute__((noinline)) int lookup_any(const struct htab *h, const void *key, void *value)
{
	return lookup(h, key, h->key_size, value);
}

/* The common key sizes have code of their own. */
int um_htab_lookup(struct htab *h, const void *key, void *value)
{
	if (likely(h->key_size == 8))
		return lookup(h, key, 8, value);
	return h->key_size == 4 ? lookup_4(h, key, value) : lookup_any(h, key, value);
}

int um_htab_lookup_locked(struct htab *h, struct call *c, const void *key, void *value)
{
	struct place p;
	struct slot s;
	bool sure, hit;
	int err;

	place_of(h, key, h->key_size, &p);
	err = um_bucket_lock(h->a, c->rec, &p.home->lock, bucket_nr(h, p.home));
	if (err)
		return err;
	hit = find(h, &p, &s, &sure);
	if (hit)
		copy_from_shared(value, elem_value(h, s.e), h->value_size);
	um_bucket_unlock(h->a, c->rec, &p.home->lock);
	return hit ? 0 : -ENOENT;
}

void *um_htab_lookup_ref(struct htab *h, const void *key)
{
	struct place p;
	struct slot s;

	place_of(h, key, h->key_size, &p);
	for (;;) {
		uint32_t version = read_version(&p);
		bool sure, hit = find(h, &p, &s, &sure);

		if (!hit && sure)
			return NULL;
		if (version_is(&p, version))
			return hit ? elem_value(h, s.e) : NULL;
	}
}

/* ---- what happens to a chain, under its lock ---- */

static void bump_version(struct bucket *home)
{
	/*
	 * order: htab-depart [release + write barrier]
	 * The slot's store is seen before the new version, and the new version
	 * before any store into what departed. Other side: version_is().
	 */
	smp_store_release(&home->version, READ_ONCE(home->version) + 1);
	smp_wmb();
}

static void unlink_overflow(struct htab *h, struct bucket *home, const struct bucket *gone)
{
	struct bucket *b;
	uint32_t hops;

	for_each_in_chain(h, b, home, hops)
		if (READ_ONCE(b->next) == (ovf_idx)(gone - h->overflow)) {
			/* order: overflow-link [release] */
			smp_store_release(&b->next, READ_ONCE(gone->next));
			return;
		}
}

/* Take a key out of its chain. Its element is then the caller's to give back. */
static void depart(struct htab *h, const struct place *p, const struct slot *s)
{
	bool overflow_gone;

	WRITE_ONCE(s->b->elem[s->i], 0);
	bucket_set_tag(s->b, s->i, 0);
	overflow_gone = s->b != p->home && bucket_empty(s->b);
	if (unlikely(overflow_gone))
		unlink_overflow(h, p->home, s->b);
	bump_version(p->home);
	if (unlikely(overflow_gone))
		um_htab_free_overflow(h, (ovf_idx)(s->b - h->overflow));
}

static void set_occupied(struct htab *h, const struct bucket *home)
{
	uint32_t nr = bucket_nr(h, home);
	uint64_t *word = &h->occupancy[nr / 64], bit = 1ull << nr % 64;

	if (!(READ_ONCE(*word) & bit))
		atomic_fetch_or(word, bit);
}

static void publish(struct bucket *b, uint32_t i, uint8_t tag, elem_idx e)
{
	bucket_set_tag(b, i, tag);
	/*
	 * order: htab-publish [release]
	 * Key and value are in place before the index leads to them. Other side:
	 * find() [acquire]. Without it a reader whose tag matches could compare
	 * and copy bytes that are still being written.
	 */
	smp_store_release(&b->elem[i], e);
}

/* A chain without a free slot gets a bucket more, the new key already in it. */
static int extend_chain(struct htab *h, const struct place *p, struct bucket *last, elem_idx e)
{
	struct bucket *b;
	int err = 0;
	ovf_idx o = um_htab_alloc_overflow(h, &err);

	if (!o)
		return err;
	b = &h->overflow[o];
	smp_wmb(); /* order: htab-depart [write barrier]: readers may still stand in it */
	WRITE_ONCE(b->tags_lo, 0);
	WRITE_ONCE(b->tags_hi, 0);
	WRITE_ONCE(b->next, 0);
	WRITE_ONCE(b->home, bucket_nr(h, p->home));
	publish(b, 0, p->tag, e);
	/*
	 * order: overflow-link [release]
	 * The bucket is filled before the chain leads to it. Other side:
	 * bucket_next() [acquire].
	 */
	smp_store_release(&last->next, o);
	return 0;
}

/* The key is absent: give it a place, if there is one. */
static int insert(struct htab *h, struct call *c, const struct place *p, elem_idx e)
{
	struct bucket *b, *last = p->home;
	uint32_t hops, free;
	int err;

	if (!um_tokens_take(&h->tokens, here(h)))
		return -E2BIG;
	set_occupied(h, p->home);
	for_each_in_chain(h, b, p->home, hops) {
		free = bucket_match(b, 0);
		if (likely(free)) {
			publish(b, (uint32_t)__builtin_ctz(free), p->tag, e);
			return 0;
		}
		last = b;
	}
	err = extend_chain(h, p, last, e);
	if (err)
		um_tokens_put(&h->tokens, here(h));
	return err;
}

/* ---- update ---- */

struct change {
	const void *value;
	uint64_t flags;
	const struct seen *seen; /* not NULL: only if this is still so */
	elem_idx fresh;		 /* holds key and value; 0: none yet, or published */
	elem_idx old;		 /* replaced */
};

/* A value of one word is replaced by one store. */
static __always_inline void store_word(const struct htab *h, elem_idx e, const void *value)
{
	if (likely(h->value_size == 8))
		copy_to_shared(elem_value(h, e), value, 8);
	else
		copy_to_shared(elem_value(h, e), value, h->value_size);
}

static uint64_t one_word(const struct htab *h, elem_idx e)
{
	uint64_t word = 0;

	copy_from_shared(&word, elem_value(h, e), h->value_size);
	return word;
}

static bool still_so(const struct htab *h, const struct place *p, const struct slot *s,
		     const struct seen *seen)
{
	if (h->one_word)
		return seen->e && one_word(h, s->e) == seen->word;
	return s->e == seen->e && READ_ONCE(p->home->version) == seen->version;
}

/* Under the lock. -EAGAIN: an element is needed after all, or not still so. */
static int change_locked(struct htab *h, struct call *c, const struct place *p, struct change *ch)
{
	struct slot s;
	bool sure;
	int err;

	if (find(h, p, &s, &sure)) {
		if (ch->flags == BPF_NOEXIST)
			return -EEXIST;
		if (ch->seen && !still_so(h, p, &s, ch->seen))
			return -EAGAIN;
		if (h->one_word) {
			store_word(h, s.e, ch->value);
			return 0;
		}
		if (!ch->fresh)
			return -EAGAIN;
		smp_store_release(&s.b->elem[s.i], ch->fresh); /* order: htab-publish [release] */
		bump_version(p->home);
		ch->old = s.e;
		ch->fresh = 0;
		return 0;
	}
	if (ch->flags == BPF_EXIST)
		return -ENOENT;
	if (!ch->fresh || (ch->seen && ch->seen->e))
		return -EAGAIN;
	err = insert(h, c, p, ch->fresh);
	if (!err)
		ch->fresh = 0;
	return err;
}

static int change(struct htab *h, struct call *c, const struct place *p, struct change *ch,
		  bool in_place)
{
	int err = 0;

	do {
		if (!in_place && !ch->fresh)
			err = um_htab_alloc_elem(h, c, p->key, ch->value, &ch->fresh);
		if (err)
			break;
		err = um_bucket_lock(h->a, c->rec, &p->home->lock, bucket_nr(h, p->home));
		if (err)
			break;
		err = change_locked(h, c, p, ch);
		um_bucket_unlock(h->a, c->rec, &p->home->lock);
		in_place = false;
	} while (err == -EAGAIN && !ch->seen);
	if (ch->fresh)
		um_htab_unused_elem(h, c, ch->fresh);
	if (ch->old)
		um_htab_free_elem(h, c, ch->old);
	return err;
}

/*
 * No tag that fits and no chain: a miss that needs no further look. What it
 * leaves open goes the long way.
 */
static __always_inline bool absent_for_sure(const struct place *p)
{
	return !bucket_match(p->home, p->tag) && !READ_ONCE(p->home->next);
}

/*
 * The map was full while the key was absent: no free place before the look, a
 * sure miss, and no change to the free places since.
 */
static bool full_and_absent(const struct htab *h, const struct place *p)
{
	uint64_t before, after;

	if (!um_tokens_none(&h->tokens, &before) || !absent_for_sure(p))
		return false;
	smp_rmb(); /* the second look at the places comes after that at the bucket */
	return um_tokens_none(&h->tokens, &after) && before == after;
}

/* Refusals that need no lock. 0: go on, *present is what it looked like. */
static int refuse_early(struct htab *h, const struct place *p, uint64_t flags, bool *present)
{
	uint32_t version = read_version(p);
	struct slot s;
	bool sure;

	*present = find(h, p, &s, &sure);
	if (flags == BPF_ANY || (*present && flags == BPF_EXIST) || !version_is(p, version))
		return 0;
	if (*present)
		return -EEXIST;
	return flags == BPF_EXIST ? -ENOENT : 0;
}

/* A chain, a tag that may be another key's, a long value. */
static __attribute__((noinline)) int update_any(struct htab *h, struct call *c,
						const struct place *p, const void *value,
						uint64_t flags)
{
	struct change ch = { .value = value, .flags = flags };
	bool present;
	int err = refuse_early(h, p, flags, &present);

	return err ? err : change(h, c, p, &ch, present && h->one_word);
}

static __attribute__((noinline)) int update_absent(struct htab *h, struct call *c,
						   const struct place *p, const void *value,
						   uint64_t flags)
{
	struct change ch = { .value = value, .flags = flags };

	if (flags == BPF_EXIST)
		return -ENOENT;
	return full_and_absent(h, p) ? -E2BIG : change(h, c, p, &ch, false);
}

/* A tag that fits is nearly always the key. 1: it was not, nothing was done. */
static __always_inline int update_in_place(struct htab *h, struct call *c, const struct place *p,
					   const void *value)
{
	uint32_t mask;
	elem_idx e;
	int err;

	err = um_bucket_lock(h->a, c->rec, &p->home->lock, bucket_nr(h, p->home));
	if (unlikely(err))
		return err;
	err = 1;
	mask = bucket_match(p->home, p->tag);
	e = mask ? READ_ONCE(p->home->elem[__builtin_ctz(mask)]) : 0;
	if (likely(e - 1 < h->nr_elems) && key_is(h, e, p->key)) {
		store_word(h, e, value);
		err = 0;
	}
	um_bucket_unlock(h->a, c->rec, &p->home->lock);
	return err;
}

int um_htab_update(struct htab *h, struct call *c, const void *key, const void *value,
		   uint64_t flags)
{
	struct place p;
	int err;

	place_of(h, key, h->key_size, &p);
	if (absent_for_sure(&p))
		return update_absent(h, c, &p, value, flags);
	if (likely(h->one_word && flags != BPF_NOEXIST)) {
		err = update_in_place(h, c, &p, value);
		if (likely(err <= 0))
			return err;
	}
	return update_any(h, c, &p, value, flags);
}

int um_htab_look(struct htab *h, const void *key, void *value, struct seen *seen)
{
	struct place p;
	struct slot s;
	bool sure;

	place_of(h, key, h->key_size, &p);
	for (;;) {
		seen->version = read_version(&p);
		seen->e = find(h, &p, &s, &sure) ? s.e : 0;
		if (seen->e) {
			copy_from_shared(value, elem_value(h, s.e), h->value_size);
			seen->word = 0;
			memcpy(&seen->word, value, min(h->value_size, 8u));
		}
		if (version_is(&p, seen->version))
			return 0;
	}
}

int um_htab_update_if(struct htab *h, struct call *c, const void *key, const void *value,
		      const struct seen *seen)
{
	struct change ch = { .value = value, .flags = seen->e ? BPF_EXIST : BPF_NOEXIST,
			     .seen = seen };
	struct place p;
	int err;

	place_of(h, key, h->key_size, &p);
	err = change(h, c, &p, &ch, seen->e && h->one_word);
	/* came or went meanwhile: look again */
	return err == -ENOENT || err == -EEXIST ? -EAGAIN : err;
}

/* ---- add ---- */

/* Under the lock; the key is there. */
static void add_in_place(struct htab *h, const struct place *p, elem_idx e, size_t offset,
			 uint64_t delta)
{
	uint64_t *word = (uint64_t *)(elem_value(h, e) + offset);

	/*
	 * A copy of several words must not have this one new and an older one old;
	 * and an upsert that copied between the first new version and the addition
	 * must find another version when it comes to store.
	 */
	if (!h->one_word)
		bump_version(p->home);
	/* a reference may be added to by atomic instructions at the same time */
	atomic_fetch_add(word, delta);
	if (!h->one_word)
		bump_version(p->home);
}

int um_htab_add(struct htab *h, struct call *c, const void *key, size_t offset, uint64_t delta)
{
	struct place p;
	struct slot s;
	elem_idx fresh = 0;
	bool sure, need = false;
	int err;

	place_of(h, key, h->key_size, &p);
	for (;;) {
		if (need || (!find(h, &p, &s, &sure) && !fresh)) {
			if (full_and_absent(h, &p))
				return -E2BIG;
			err = um_htab_alloc_elem(h, c, key, NULL, &fresh);
			if (err)
				return err;
			WRITE_ONCE(*(uint64_t *)(elem_value(h, fresh) + offset), delta);
		}
		err = um_bucket_lock(h->a, c->rec, &p.home->lock, bucket_nr(h, p.home));
		if (err)
			break;
		if (find(h, &p, &s, &sure)) {
			add_in_place(h, &p, s.e, offset, delta);
		} else if (!fresh) {
			need = true;
		} else {
			err = insert(h, c, &p, fresh);
			if (!err) {
				fresh = 0;
				err = 1;
			}
			need = false;
		}
		um_bucket_unlock(h->a, c->rec, &p.home->lock);
		if (!need || fresh)
			break;
	}
	if (fresh)
		um_htab_unused_elem(h, c, fresh);
	return err;
}

/* ---- delete ---- */

int um_htab_delete(struct htab *h, struct call *c, const void *key, void *value)
{
	struct place p;
	struct slot s;
	bool sure, hit;
	int err;

	place_of(h, key, h->key_size, &p);
	if (absent_for_sure(&p))
		return -ENOENT;
	err = um_bucket_lock(h->a, c->rec, &p.home->lock, bucket_nr(h, p.home));
	if (err)
		return err;
	hit = find(h, &p, &s, &sure);
	if (hit)
		depart(h, &p, &s);
	um_bucket_unlock(h->a, c->rec, &p.home->lock);
	if (!hit)
		return -ENOENT;
	if (value)
		copy_from_shared(value, elem_value(h, s.e), h->value_size);
	um_tokens_put(&h->tokens, here(h));
	um_htab_free_elem(h, c, s.e);
	return 0;
}
