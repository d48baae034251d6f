/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * tokens.h - a map's free places, counted per CPU and yet exactly.
 *
 * Each CPU has a count; the counts add up to the free places. An insert takes
 * one, its own CPU's first; a delete puts one back on its own CPU. There is no
 * table-wide counter. "Full" must be exact and must not read every count, so
 * bits above the counts tell which may be above zero: a word for 32 CPUs, and
 * above those one word for all.
 *
 *   every word:  [ seq:31 | closed:1 | value:32 ]
 *   value:       a CPU's count; which of 32 CPUs; which of 32 such groups
 *
 * Invariant: a word that is not closed has its bit in the word above it. So if
 * the top word has no bit, every count above zero belongs to a put() that has
 * not returned: at that moment the map was full but for deletes under way. One
 * load tells, for any number of CPUs.
 *
 *  - put(): add 1. If the word was closed, raise its bit above, and only then
 *    open it, unless it has been closed again meanwhile (seq tells). Raising a
 *    bit is the same thing one level up, and always a new seq there.
 *  - close(): read the word above; close the word below if its value is 0, with
 *    a new seq; clear the bit only if the word above is still the one read. A
 *    bit raised in between has changed it, so no bit is cleared over a token.
 *    (Clearing first and looking again, as the freelist may, would show a
 *    moment of "full" that never was.)
 *
 * A map that breathes just below full never closes a word, as only a take()
 * that finds nothing does.
 */
#ifndef UM_TOKENS_H
#define UM_TOKENS_H

#include "base/atomic.h"
#include "mem/arena.h"

struct um_tokens {
	struct um_percpu *percpu;
	uint64_t *top;
	uint64_t *groups; /* a word each 32 CPUs */
	uint32_t nr_cpus;
};

/* Spread @free places over all CPUs; nobody else uses the tokens. */
void um_tokens_reset(struct um_tokens *t, uint32_t free);

/* One free place, near @cpu. false: there was an instant without any. */
bool um_tokens_take(struct um_tokens *t, uint32_t cpu);
void um_tokens_put(struct um_tokens *t, uint32_t cpu);

/*
 * Was there no place at this instant? *changes is then a number; if a later
 * call gives the same, there was none at any moment between.
 */
static __always_inline bool um_tokens_none(const struct um_tokens *t, uint64_t *changes)
{
	*changes = smp_load_acquire(t->top);
	return !(uint32_t)*changes;
}

/* The sum; exact when quiet. */
uint64_t um_tokens_sum(const struct um_tokens *t);

#endif
