/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* pcpu_freelist.c - push and pop. */
#include "mem/pcpu_freelist.h"

static uint64_t next_head(uint64_t head, uint32_t first)
{
	return ((head >> UM_INDEX_BITS) + 1) << UM_INDEX_BITS | first;
}

void um_stack_push(uint64_t *head, const struct um_links *l, uint32_t first, uint32_t last)
{
	uint64_t old = READ_ONCE(*head);

	um_assert(first && last && first <= l->nr && last <= l->nr);
	do {
		WRITE_ONCE(*um_link(l, last), (uint32_t)(old & UM_INDEX_MASK));
		/*
		 * order: stack-push [full]
		 * The link is in place before the head leads to it. Other side:
		 * um_stack_pop() [acquire]. Without it a pop could install a
		 * stale link and lose the rest of the stack.
		 */
	} while (!try_cmpxchg(head, &old, next_head(old, first)));
}

uint32_t um_stack_pop(uint64_t *head, const struct um_links *l)
{
	uint64_t old = smp_load_acquire(head); /* order: stack-push [acquire] */
	uint32_t first, next;

	do {
		first = (uint32_t)(old & UM_INDEX_MASK);
		if (!first || first > l->nr) /* above nr: damaged by somebody */
			return 0;
		/* stale if another pop was faster; then the head's number differs */
		next = READ_ONCE(*um_link(l, first));
		if (next > l->nr)
			next = 0;
	} while (!try_cmpxchg(head, &old, next_head(old, next)));
	return first;
}

uint32_t um_stack_pop_all(uint64_t *head)
{
	uint64_t old = READ_ONCE(*head);

	do {
		if (!(old & UM_INDEX_MASK))
			return 0;
	} while (!try_cmpxchg(head, &old, next_head(old, 0)));
	return (uint32_t)(old & UM_INDEX_MASK);
}

static uint64_t *head_of(const struct pcpu_freelist *l, uint32_t cpu)
{
	return (uint64_t *)(l->heads + (size_t)cpu * l->head_step);
}

void um_pcpu_freelist_push(struct pcpu_freelist *l, uint32_t cpu, uint32_t first, uint32_t last)
{
	uint64_t *word = &l->map[cpu / 64], bit = 1ull << cpu % 64;

	um_stack_push(head_of(l, cpu), &l->links, first, last);
	/*
	 * order: freelist-map [full, by the push]
	 * Push, then look at the bit; the other side clears the bit, then looks at
	 * the stack (note_empty()). One of the two sees the other. Without the
	 * order the element could stay where only its own CPU finds it.
	 */
	smp_mb__after_atomic();
	if (!(READ_ONCE(*word) & bit))
		atomic_fetch_or(word, bit);
}

static void note_empty(struct pcpu_freelist *l, uint32_t cpu)
{
	uint64_t *word = &l->map[cpu / 64], bit = 1ull << cpu % 64;

	atomic_fetch_and(word, ~bit); /* order: freelist-map [full] */
	smp_mb__after_atomic();
	if (!um_stack_empty(head_of(l, cpu)))
		atomic_fetch_or(word, bit);
}

static uint32_t pop_from_others(struct pcpu_freelist *l, uint32_t cpu)
{
	uint32_t words = (l->nr_cpus + 63) / 64, i, w, other, got;
	uint64_t bits;

	for (i = 0; i < words; i++) {
		w = (cpu / 64 + i) % words;
		for (bits = READ_ONCE(l->map[w]); bits; bits &= bits - 1) {
			other = w * 64 + (uint32_t)__builtin_ctzll(bits);
			if (other >= l->nr_cpus)
				break;
			got = um_stack_pop(head_of(l, other), &l->links);
			if (got)
				return got;
			note_empty(l, other);
		}
	}
	return 0;
}

uint32_t um_pcpu_freelist_pop_own(struct pcpu_freelist *l, uint32_t cpu)
{
	return um_stack_pop(head_of(l, cpu), &l->links);
}

uint32_t um_pcpu_freelist_pop(struct pcpu_freelist *l, uint32_t cpu)
{
	uint32_t got = um_pcpu_freelist_pop_own(l, cpu);

	return likely(got) ? got : pop_from_others(l, cpu);
}
