/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * tokens.h - a map's free places, counted per CPU and yet exactly.
 *
 * Each CPU has a count; the counts add up to the free places. An insert takes
 * one, its own CPU's first; a delete puts one back on its own CPU. There is no
 * table-wide counter. "Full" must be exact and must not read every count, so a
 * bitmap says which counts may be above zero:
 *
 *   count word  [ seq:31 | closed:1 | count:32 ]      one a CPU
 *   map word    [ changes:32 | one bit a CPU:32 ]     one a 32 CPUs
 *
 * Invariant: a word that is not closed has its bit set. So when all bits are
 * 0, every count above zero belongs to a put() that has not returned: the map
 * was full at that moment but for deletes under way.
 *
 *  - put():   add 1. If the word was closed: set the bit and count a change, in
 *             one step, and only then open the word, unless it has been closed
 *             again meanwhile (seq tells).
 *  - close(): read the map word; close the count word if its count is 0, with a
 *             new seq; clear the bit only if the map word is still the one
 *             read. A put() that came between has changed it, so a bit is never
 *             cleared over its token. (Clearing first and looking again, as the
 *             freelist may, would show a moment of "full" that never was.)
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
	uint64_t *map;
	uint32_t nr_cpus;
	uint32_t nr_words;
};

/* Spread @free places over all CPUs; nobody else uses the tokens. */
void um_tokens_reset(struct um_tokens *t, uint32_t free);

/* One free place, near @cpu. false: there was an instant without any. */
bool um_tokens_take(struct um_tokens *t, uint32_t cpu);
void um_tokens_put(struct um_tokens *t, uint32_t cpu);

/*
 * Was every bit 0 when its word was read? *changes is then a number; if it is
 * the same at two calls in a row, all bits were 0 at every moment from the end
 * of the first to the start of the second.
 */
bool um_tokens_none(const struct um_tokens *t, uint64_t *changes);

/* The sum; exact when quiet. */
uint64_t um_tokens_sum(const struct um_tokens *t);

#endif
