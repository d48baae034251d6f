/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * mem_alloc.h - where elements come from and go to.
 *
 * One range of elements, 1 to nr_elems. Those never used yet lie from
 * elem_fresh on, without a link and, in a map that allocates on demand, without
 * memory. All others are in use, on the freelist, or wait for readers: first on
 * their CPU's free_by_rcu stack; then, all together and with the cookie of their
 * grace period, in its waiting_for_gp word; then on the freelist. A word that
 * holds a stack's first index (28 bits) and the cookie (36 bits) makes every
 * step one compare-exchange, so that a thread or process may stop anywhere.
 *
 * After kernel/bpf/memalloc.c, whose names these are.
 */
#ifndef UM_MEM_ALLOC_H
#define UM_MEM_ALLOC_H

#include "mem/arena.h"
#include "mem/pcpu_freelist.h"
#include "mem/rcu.h"

struct um_mem {
	struct um_arena *a;
	bool prealloc; /* all memory is there */
	struct pcpu_freelist free;
};

/* Point at an arena's lists. */
void um_mem_init(struct um_mem *m, struct um_arena *a);

/*
 * A free element; 0: none now (some may wait for readers). *err is set to
 * -ENOMEM if one could have been had with more memory. Never waits.
 */
elem_idx um_mem_alloc(struct um_mem *m, uint32_t cpu, int *err);

/* Give back an element that nobody can reach. */
void um_mem_free(struct um_mem *m, uint32_t cpu, elem_idx e);

/* Give back an element that readers may still see. */
void um_mem_free_rcu(struct um_mem *m, uint32_t cpu, elem_idx e);

/*
 * Move on what waits: the epoch, if no reader is in its way, and elements whose
 * wait is over. Never waits. 0: the epoch moved; -EAGAIN with the reader in its
 * way; -ENOENT: nothing waits.
 */
int um_mem_reclaim(struct um_mem *m, uint32_t cpu, struct um_rec **in_the_way);

/*
 * Start again after a census: only elements that @in_use has a bit for are
 * taken. The others are given back, through a grace period if @readers.
 */
void um_mem_rebuild(struct um_mem *m, const uint64_t *in_use, bool readers);

/* Elements that wait. */
uint64_t um_mem_waiting(const struct um_mem *m);

#endif
