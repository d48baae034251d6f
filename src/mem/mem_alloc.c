/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* mem_alloc.c - free, waiting and fresh elements. */
#include "mem/mem_alloc.h"

#include <errno.h>

/* Fresh elements are taken this many at a time, the rest go to the freelist. */
#define FRESH_BATCH 16
/* Memory of a map that allocates on demand comes in pieces of this many bytes. */
#define COMMIT_BYTES 32768u

#define COOKIE_MASK ((1ull << 36) - 1)

void um_mem_init(struct um_mem *m, struct um_arena *a)
{
	m->a = a;
	m->prealloc = !(a->params.map_flags & BPF_F_NO_PREALLOC);
	m->free.heads = (char *)&a->percpu[0].free;
	m->free.head_step = sizeof(struct um_percpu);
	m->free.nr_cpus = a->params.nr_cpus;
	m->free.map = (uint64_t *)(a->base + a->geo.free_map);
	/* index 1 is the first of the array */
	m->free.links = (struct um_links){ a->base + a->geo.links - 4, 4, a->geo.nr_elems };
}

/* ---- fresh elements ---- */

/* Memory for elements up to @last at least; more if there is. */
static int commit_to(struct um_mem *m, uint64_t last)
{
	const struct um_geometry *g = &m->a->geo;
	uint64_t from = READ_ONCE(m->a->hdr->elem_committed), to;
	int err;

	if (from > g->nr_elems)
		return -EUCLEAN;
	to = min(max(last, from + COMMIT_BYTES / g->stride), (uint64_t)g->nr_elems);
	err = um_arena_commit(m->a, g->elems + from * g->stride, (to - from) * g->stride);
	if (!err)
		err = um_arena_commit(m->a, g->links + from * 4, (to - from) * 4);
	if (err)
		return -ENOMEM;
	/* another thread may have been faster, and further: count what he did not */
	while (from < to)
		if (try_cmpxchg(&m->a->hdr->elem_committed, &from, to)) {
			atomic_fetch_add(&m->a->hdr->committed, (to - from) * (g->stride + 4));
			break;
		}
	return 0;
}

static elem_idx alloc_fresh(struct um_mem *m, uint32_t cpu, int *err)
{
	struct um_header *h = m->a->hdr;
	uint64_t first = READ_ONCE(h->elem_fresh), next, i;
	uint32_t nr = m->a->geo.nr_elems, batch = FRESH_BATCH;

	/* large ones singly, as each needs memory of its own */
	if (!m->prealloc)
		batch = min(batch, max(COMMIT_BYTES / m->a->geo.stride, 1u));

	do {
		if (first == 0 || first > nr)
			return 0;
		next = min(first + batch, (uint64_t)nr + 1);
		if (next - 1 > READ_ONCE(h->elem_committed)) {
			*err = commit_to(m, next - 1);
			if (*err)
				return 0;
		}
	} while (!try_cmpxchg(&h->elem_fresh, &first, next));
	if (next - first > 1) {
		for (i = first + 1; i < next - 1; i++)
			WRITE_ONCE(*um_link(&m->free.links, (uint32_t)i), (uint32_t)i + 1);
		um_pcpu_freelist_push(&m->free, cpu, (uint32_t)first + 1, (uint32_t)next - 1);
	}
	return (elem_idx)first;
}

/* ---- elements that wait ---- */

static uint64_t waiting_word(elem_idx first, uint64_t cookie)
{
	return first | (cookie & COOKIE_MASK) << UM_INDEX_BITS;
}

static bool gp_over(const struct um_mem *m, uint64_t word)
{
	uint64_t passed = READ_ONCE(m->a->hdr->gp_seq) - (word >> UM_INDEX_BITS);

	return !(passed & (COOKIE_MASK / 2 + 1));
}

/* The last of a chain, and its length; 0 if the chain is damaged. */
static elem_idx chain_end(const struct um_mem *m, elem_idx first, uint64_t *len)
{
	elem_idx e = first, next;

	for (*len = 1; *len <= m->free.links.nr; (*len)++, e = next) {
		if (e > m->free.links.nr)
			return 0;
		next = READ_ONCE(*um_link(&m->free.links, e));
		if (!next)
			return e;
	}
	return 0;
}

static void mature(struct um_mem *m, uint32_t cpu, struct um_percpu *p)
{
	uint64_t word = smp_load_acquire(&p->waiting_for_gp), len;
	elem_idx first = (elem_idx)(word & UM_INDEX_MASK), last;

	if (!first || !gp_over(m, word) || !try_cmpxchg(&p->waiting_for_gp, &word, 0ull))
		return;
	last = chain_end(m, first, &len);
	if (!last)
		return;
	atomic_fetch_add(&p->matured, len);
	um_pcpu_freelist_push(&m->free, cpu, first, last);
}

/* What has gathered on free_by_rcu begins its grace period. */
static void start_waiting(struct um_mem *m, struct um_percpu *p)
{
	uint64_t none = 0, len;
	elem_idx first, last;

	if (READ_ONCE(p->waiting_for_gp) || um_stack_empty(&p->free_by_rcu))
		return;
	first = um_stack_pop_all(&p->free_by_rcu);
	if (!first ||
	    try_cmpxchg(&p->waiting_for_gp, &none, waiting_word(first, um_rcu_get_state(m->a))))
		return;
	/* somebody else's began first */
	last = chain_end(m, first, &len);
	if (last)
		um_stack_push(&p->free_by_rcu, &m->free.links, first, last);
}

int um_mem_reclaim(struct um_mem *m, uint32_t cpu, struct um_rec **in_the_way)
{
	uint32_t nr_cpus = m->a->params.nr_cpus, i, c;
	bool waits = false;
	int err = -ENOENT;

	if (!READ_ONCE(m->a->hdr->ref_users))
		return -ENOENT;
	for (i = 0; i < nr_cpus; i++) {
		c = (cpu + i) % nr_cpus;
		mature(m, c, &m->a->percpu[c]);
		start_waiting(m, &m->a->percpu[c]);
		waits |= READ_ONCE(m->a->percpu[c].waiting_for_gp) != 0;
	}
	if (waits)
		err = um_rcu_advance(m->a, in_the_way);
	for (i = 0; waits && i < nr_cpus; i++) {
		c = (cpu + i) % nr_cpus;
		mature(m, c, &m->a->percpu[c]);
	}
	return err;
}

uint64_t um_mem_waiting(const struct um_mem *m)
{
	uint64_t deferred = 0, matured = 0;
	uint32_t c;

	for (c = 0; c < m->a->params.nr_cpus; c++) {
		matured += READ_ONCE(m->a->percpu[c].matured);
		deferred += READ_ONCE(m->a->percpu[c].deferred);
	}
	return deferred > matured ? deferred - matured : 0;
}

/* ---- alloc and free ---- */

elem_idx um_mem_alloc(struct um_mem *m, uint32_t cpu, int *err)
{
	struct um_rec *in_the_way;
	elem_idx e = um_pcpu_freelist_pop_own(&m->free, cpu);
	int turns;

	*err = 0;
	if (likely(e))
		return e;
	/*
	 * Where the memory is there anyway, fresh elements come first: they come in
	 * runs, so that two CPUs do not write to one line. On demand reuse goes
	 * before growth, also of what waits, if it is ready.
	 */
	if (m->prealloc)
		e = alloc_fresh(m, cpu, err);
	if (!e)
		e = um_pcpu_freelist_pop(&m->free, cpu);
	if (e)
		return e;
	/* a grace period is two epochs, and one may be under way */
	for (turns = 0; turns < 3 && !e && !um_mem_reclaim(m, cpu, &in_the_way); turns++)
		e = um_pcpu_freelist_pop(&m->free, cpu);
	return e || m->prealloc ? e : alloc_fresh(m, cpu, err);
}

void um_mem_free(struct um_mem *m, uint32_t cpu, elem_idx e)
{
	um_pcpu_freelist_push(&m->free, cpu, e, e);
}

void um_mem_free_rcu(struct um_mem *m, uint32_t cpu, elem_idx e)
{
	struct um_percpu *p = &m->a->percpu[cpu];

	atomic_inc_relaxed(&p->deferred);
	um_stack_push(&p->free_by_rcu, &m->free.links, e, e);
}

void um_mem_rebuild(struct um_mem *m, const uint64_t *in_use, bool readers)
{
	uint64_t fresh = min(READ_ONCE(m->a->hdr->elem_fresh), (uint64_t)m->free.links.nr + 1), e;
	uint32_t c, nr_cpus = m->a->params.nr_cpus;

	for (c = 0; c < nr_cpus; c++) {
		struct um_percpu *p = &m->a->percpu[c];

		um_stack_pop_all(&p->free);
		um_stack_pop_all(&p->free_by_rcu);
		WRITE_ONCE(p->waiting_for_gp, 0);
		WRITE_ONCE(p->matured, READ_ONCE(p->deferred));
	}
	for (e = 1; e < fresh; e++) {
		if (in_use[e / 64] & 1ull << e % 64)
			continue;
		if (e % 65536 == 0)
			atomic_fetch_add(&m->a->hdr->progress, 1u);
		c = (uint32_t)(e % nr_cpus);
		if (readers)
			um_mem_free_rcu(m, c, (elem_idx)e);
		else
			um_mem_free(m, c, (elem_idx)e);
	}
}
