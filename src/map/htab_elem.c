/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* htab_elem.c - where elements and overflow buckets come from and go to. */
#include "map/htab.h"

#include <errno.h>
#include "base/sys.h"
#include "mem/proc.h"

/* Memory for overflow buckets comes in pieces of this many. */
#define OVERFLOW_BATCH 64u

static void fill_elem(const struct htab *h, elem_idx e, const void *key, const void *value)
{
	/*
	 * order: htab-depart [write barrier]
	 * The element may come from a delete by another thread, whose new version
	 * reached us through the freelist; it goes before our stores. Other side:
	 * version_is() in htab.c.
	 */
	smp_wmb();
	copy_to_shared(elem_key(h, e), key, h->key_size);
	if (value)
		copy_to_shared(elem_value(h, e), value, h->value_size);
	else
		zero_shared(elem_value(h, e), h->value_size);
}

/*
 * Every element is in use, in somebody's hand, or waits for readers: drive the
 * grace period. Who may not wait (inside a section, which he would wait for, or
 * with a lock held below him) gets -EBUSY.
 */
static int wait_for_elem(struct htab *h, struct call *c, elem_idx *e)
{
	uint64_t deadline = sys_clock_ns() + h->a->lock_timeout_ms * 1000000ull;
	struct um_rec *reader;
	int err, slot, turns;

	for (turns = 0;; turns++) {
		reader = NULL;
		um_mem_reclaim(&h->mem, here(h), &reader);
		*e = um_mem_alloc(&h->mem, here(h), &err);
		if (*e || err)
			return err;
		if (c->nested || um_self.locks_held || rcu_inside(READ_ONCE(c->rec->section)))
			return -EBUSY;
		/* a census waits for us to leave, or one is due */
		if (READ_ONCE(h->a->hdr->recovering))
			return -EOWNERDEAD;
		slot = reader ? um_proc_of(h->a, reader) : -1;
		if (slot >= 0 && !um_proc_alive(h->a, (uint32_t)slot))
			return -EOWNERDEAD;
		/* or one of them died with elements in its hand */
		if (turns % 64 == 0 && h->a->shared && um_proc_any_dead(h->a))
			return -EOWNERDEAD;
		if (sys_clock_ns() >= deadline)
			return -ETIMEDOUT;
		if (turns < 100)
			sys_yield();
		else
			sys_sleep_ns(100000);
	}
}

int um_htab_alloc_elem(struct htab *h, struct call *c, const void *key, const void *value,
		       elem_idx *e)
{
	int err;

	*e = um_mem_alloc(&h->mem, here(h), &err);
	if (unlikely(!*e)) {
		if (!err)
			err = wait_for_elem(h, c, e);
		if (err)
			return err;
	}
	fill_elem(h, *e, key, value);
	return 0;
}

void um_htab_free_elem(struct htab *h, struct call *c, elem_idx e)
{
	/*
	 * order: ref-users [light barrier]
	 * Unlinked, then looked whether anybody holds references. Other side:
	 * um_rcu_first_use().
	 */
	um_light_barrier(h->a);
	if (READ_ONCE(h->a->hdr->ref_users) && !h->reuse)
		um_mem_free_rcu(&h->mem, here(h), e);
	else
		um_mem_free(&h->mem, here(h), e);
}

void um_htab_unused_elem(struct htab *h, struct call *c, elem_idx e)
{
	um_mem_free(&h->mem, here(h), e);
}

/* ---- overflow buckets; all under some bucket's lock ---- */

static int commit_overflow(struct htab *h, uint64_t first)
{
	struct um_header *hdr = h->a->hdr;
	uint64_t from = READ_ONCE(hdr->ovf_committed), to;

	if (first <= from)
		return 0;
	if (from > h->nr_overflow)
		return -EUCLEAN;
	to = min(from + OVERFLOW_BATCH, (uint64_t)h->nr_overflow);
	if (um_arena_commit(h->a, h->a->geo.overflow + from * sizeof(struct bucket),
			    (to - from) * sizeof(struct bucket)))
		return -ENOMEM;
	while (from < to)
		if (try_cmpxchg(&hdr->ovf_committed, &from, to)) {
			atomic_fetch_add(&hdr->committed, (to - from) * sizeof(struct bucket));
			break;
		}
	return 0;
}

ovf_idx um_htab_alloc_overflow(struct htab *h, int *err)
{
	struct um_header *hdr = h->a->hdr;
	ovf_idx o = um_stack_pop(&hdr->ovf_free, &h->overflow_links);
	uint64_t fresh;

	if (o)
		return o;
	fresh = READ_ONCE(hdr->ovf_fresh);
	do {
		/* there are as many as entries, so this is damage */
		if (!fresh || fresh > h->nr_overflow) {
			*err = -ENOMEM;
			return 0;
		}
		*err = commit_overflow(h, fresh);
		if (*err)
			return 0;
	} while (!try_cmpxchg(&hdr->ovf_fresh, &fresh, fresh + 1));
	return (ovf_idx)fresh;
}

/* Readers may still stand in it; they find out by the home's new version. */
void um_htab_free_overflow(struct htab *h, ovf_idx o)
{
	um_stack_push(&h->a->hdr->ovf_free, &h->overflow_links, o, o);
}
