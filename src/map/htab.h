/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * htab.h - the hash map's layout; no other file knows it.
 *
 * A bucket is one cache line: ten tags and ten element indexes, so that a
 * look-up that hits touches two lines and one that misses touches one. When
 * ten are not enough, overflow buckets are chained to it; they have no lock and
 * no version of their own, the home bucket's count for the chain.
 *
 * An element has no header: the key, then the value at the next multiple of 8
 * (of 4, if neither is larger than 4 bytes), so 8 + 8 bytes are 16 and never
 * stand across two lines.
 */
#ifndef UM_HTAB_H
#define UM_HTAB_H

#include "base/cpu.h"
#include "base/hash.h"
#include "base/tags.h"
#include "mem/arena.h"
#include "mem/lock.h"
#include "mem/mem_alloc.h"
#include "mem/tokens.h"

#define NR_SLOTS NR_TAGS

/*
 * Under the lock of the home bucket: everything but "lock" itself. Read without
 * it, then checked: a slot's tag is set before its index, the index cleared
 * before the tag, so tag 0 means free and index 0 means nothing there.
 */
struct bucket {
	uint64_t tags_lo; /* tags of slots 0 to 7 */
	uint32_t tags_hi; /* tags of slots 8 and 9; 16 spare bits, one for resize */
	elem_idx elem[NR_SLOTS];
	ovf_idx next;
	union {
		struct { /* a home bucket */
			uint32_t lock;
			/* changes before anything that left the chain is reused */
			uint32_t version;
		};
		struct { /* an overflow bucket */
			uint32_t home;
			uint32_t free_link; /* while it is free */
		};
	};
};
_Static_assert(sizeof(struct bucket) == 64, "a bucket is a cache line");

/* This process's view of a map; never written after open. */
struct htab {
	struct bucket *buckets;
	struct bucket *overflow; /* so that index 1 is the first */
	char *elems;		 /* likewise */
	uint32_t stride;
	uint32_t value_off;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t nr_buckets;
	uint32_t nr_elems;
	uint32_t nr_overflow;
	bool one_word; /* a value is one store: replaced in place */
	bool reuse;    /* UM_F_REUSE */
	uint64_t seed[2];
	struct um_arena *a;
	uint64_t *occupancy;
	struct um_tokens tokens;
	struct um_mem mem;
	struct um_links overflow_links;
};

/* A writing call under way. */
struct call {
	struct um_rec *rec;
	bool nested; /* this thread was interrupted in a writing call on this map */
};

/* A key, and where it belongs. */
struct place {
	const void *key;
	uint64_t hash;
	struct bucket *home;
	uint8_t tag;
};

/* A key's slot. */
struct slot {
	struct bucket *b;
	uint32_t i;
	elem_idx e;
};

static __always_inline char *elem_key(const struct htab *h, elem_idx e)
{
	return h->elems + (uint64_t)e * h->stride;
}

static __always_inline char *elem_value(const struct htab *h, elem_idx e)
{
	return elem_key(h, e) + h->value_off;
}

/* The lists near this thread. */
static __always_inline uint32_t here(const struct htab *h)
{
	return um_cpu_of(h->a->params.nr_cpus);
}

static inline uint32_t bucket_nr(const struct htab *h, const struct bucket *home)
{
	return (uint32_t)(home - h->buckets);
}

static __always_inline uint32_t bucket_match(const struct bucket *b, uint8_t tag)
{
	return tags_match(READ_ONCE(b->tags_lo), READ_ONCE(b->tags_hi), tag);
}

static inline uint8_t bucket_tag(const struct bucket *b, uint32_t slot)
{
	return (uint8_t)(slot < 8 ? READ_ONCE(b->tags_lo) >> 8 * slot :
				    READ_ONCE(b->tags_hi) >> 8 * (slot - 8));
}

/* The holder of the home's lock is the only writer. */
static inline void bucket_set_tag(struct bucket *b, uint32_t slot, uint8_t tag)
{
	uint32_t shift = 8 * (slot % 8);

	if (slot < 8)
		WRITE_ONCE(b->tags_lo,
			   (READ_ONCE(b->tags_lo) & ~(0xffull << shift)) | (uint64_t)tag << shift);
	else
		WRITE_ONCE(b->tags_hi,
			   (READ_ONCE(b->tags_hi) & ~(0xffu << shift)) | (uint32_t)tag << shift);
}

/* The bucket after @b in its chain. NULL: the last, or damaged, or too far. */
static __always_inline struct bucket *bucket_next(const struct htab *h, const struct bucket *b,
						  uint32_t *hops)
{
	ovf_idx next = smp_load_acquire(&b->next); /* order: overflow-link [acquire] */

	if (likely(!next) || next > h->nr_overflow || ++*hops > h->nr_overflow)
		return NULL;
	return &h->overflow[next];
}

static inline bool bucket_empty(const struct bucket *b)
{
	uint32_t i;

	for (i = 0; i < NR_SLOTS; i++)
		if (READ_ONCE(b->elem[i]))
			return false;
	return true;
}

/* Every bucket of a chain, home first. */
#define for_each_in_chain(h, b, first, hops)                 \
	for ((hops) = 0, (b) = (first); (b);                 \
	     (b) = bucket_next(h, b, &(hops)))

static __always_inline void place_of(const struct htab *h, const void *key, uint32_t key_size,
				     struct place *p)
{
	p->key = key;
	p->hash = hash_key(key, key_size, h->seed);
	p->home = &h->buckets[hash_bucket(p->hash, h->nr_buckets)];
	p->tag = hash_tag(p->hash);
}

/*
 * htab.c: the algorithm. Errors as the public calls, and inside the library
 * -EOWNERDEAD: a process died, recover and call again. -EAGAIN from a look-up:
 * writers changed the bucket each of 64 times.
 */
int um_htab_lookup(struct htab *h, const void *key, void *value);
int um_htab_lookup_locked(struct htab *h, struct call *c, const void *key, void *value);
void *um_htab_lookup_ref(struct htab *h, const void *key);
int um_htab_update(struct htab *h, struct call *c, const void *key, const void *value,
		   uint64_t flags);
int um_htab_delete(struct htab *h, struct call *c, const void *key, void *value);
int um_htab_add(struct htab *h, struct call *c, const void *key, size_t offset, uint64_t delta);

/*
 * For upsert. Copy a key's value out and say what was seen; store a new value
 * if that is still so. -EAGAIN: it is not.
 */
struct seen {
	elem_idx e; /* 0: absent */
	uint32_t version;
	uint64_t word; /* of a one-word value */
};
int um_htab_look(struct htab *h, const void *key, void *value, struct seen *seen);
int um_htab_update_if(struct htab *h, struct call *c, const void *key, const void *value,
		      const struct seen *seen);

/* htab_elem.c: where elements and overflow buckets come from and go to. */
int um_htab_alloc_elem(struct htab *h, struct call *c, const void *key, const void *value,
		       elem_idx *e);
void um_htab_free_elem(struct htab *h, struct call *c, elem_idx e);
void um_htab_unused_elem(struct htab *h, struct call *c, elem_idx e);
ovf_idx um_htab_alloc_overflow(struct htab *h, int *err);
void um_htab_free_overflow(struct htab *h, ovf_idx o);

/* htab_iter.c: walks in the order of hash, then key bytes. */
struct iter_pos {
	bool started;
	uint64_t hash;	 /* of the key last delivered ... */
	const void *key; /* ... and the key */
};
struct iter_out {
	void *key;	/* key_size bytes */
	void *value;	/* NULL or value_size bytes */
	void *ref;	/* the value in place */
	uint64_t hash;
};
/*
 * The entry after @after. -ENOENT: none. -EAGAIN: as a look-up; @locked takes
 * each bucket's lock instead of checking its version. @c may be NULL if not
 * @locked; with it, buckets found empty lose their occupancy bit.
 */
int um_htab_next(struct htab *h, struct call *c, bool locked, const struct iter_pos *after,
		 struct iter_out *out);

/*
 * htab_recover.c: put right what dead processes left. 0: done, by us or by
 * somebody else; -EBUSY, this thread may not wait; -ETIMEDOUT, a live writer
 * does not get on.
 */
int um_htab_recover(struct htab *h);
/* Likewise in a child that has a copy of its parent's private map. */
int um_htab_recover_forked(struct htab *h);

#endif
