/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * pcpu_freelist.h - free indexes: a lock-free stack per CPU.
 *
 * After kernel/bpf/percpu_freelist.c, without its locks. A stack's head is one
 * 64-bit word: the first index in the low 28 bits and above it a number that
 * grows with every change, so that a head that was away and came back is not
 * taken for one that stayed (it takes half an hour at full rate to come round).
 * Links stand in an array of their own, never in the elements.
 *
 * A bitmap tells which stacks may hold something, so that a pop that finds
 * nothing reads a word per 64 CPUs. A bit is set by the push that finds it
 * clear and cleared by a pop of another CPU that finds the stack empty, so it
 * rarely changes and its line stays in every cache.
 *
 * Any thread may call anything at any time, from handlers too; a thread
 * stopped at any instruction delays nobody.
 */
#ifndef UM_PCPU_FREELIST_H
#define UM_PCPU_FREELIST_H

#include "base/atomic.h"

#define UM_INDEX_BITS 28
#define UM_INDEX_MASK ((1ull << UM_INDEX_BITS) - 1)

/* Where index i has its link: base + i * step, a uint32_t. Indexes are 1 to nr. */
struct um_links {
	char *base;
	uint32_t step;
	uint32_t nr;
};

static inline uint32_t *um_link(const struct um_links *l, uint32_t i)
{
	return (uint32_t *)(l->base + (uint64_t)i * l->step);
}

/* One stack: push the chain from @first to @last, pop an index or 0. */
void um_stack_push(uint64_t *head, const struct um_links *l, uint32_t first, uint32_t last);
uint32_t um_stack_pop(uint64_t *head, const struct um_links *l);
/* The whole stack at once; the indexes hang together by their links. */
uint32_t um_stack_pop_all(uint64_t *head);
/* Does the stack hold something at this moment? */
static inline bool um_stack_empty(const uint64_t *head)
{
	return !(READ_ONCE(*head) & UM_INDEX_MASK);
}

struct pcpu_freelist {
	char *heads;	     /* a uint64_t per CPU ... */
	uint32_t head_step;  /* ... this many bytes apart */
	uint32_t nr_cpus;
	uint64_t *map;	     /* bit per CPU: may hold something */
	struct um_links links;
};

/* Give back the chain from @first to @last, joined by links. */
void um_pcpu_freelist_push(struct pcpu_freelist *l, uint32_t cpu, uint32_t first, uint32_t last);

/* An index from @cpu's stack; 0: none there. */
uint32_t um_pcpu_freelist_pop_own(struct pcpu_freelist *l, uint32_t cpu);

/* An index from @cpu's stack, else from another's; 0: none anywhere. */
uint32_t um_pcpu_freelist_pop(struct pcpu_freelist *l, uint32_t cpu);

#endif
