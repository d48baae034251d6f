/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* tokens.c - take, put, and the exact "none". */
#include "mem/tokens.h"

#define COUNT_MASK 0xffffffffull
#define CLOSED (1ull << 32)
#define SEQ (1ull << 33)
#define CHANGE (1ull << 32)

static uint64_t *word_of(const struct um_tokens *t, uint32_t cpu)
{
	return &t->percpu[cpu].tokens;
}

void um_tokens_reset(struct um_tokens *t, uint32_t free)
{
	uint32_t cpu, share;

	for (cpu = 0; cpu < t->nr_cpus; cpu++) {
		share = free / t->nr_cpus + (cpu < free % t->nr_cpus);
		WRITE_ONCE(*word_of(t, cpu),
			   (READ_ONCE(*word_of(t, cpu)) / SEQ + 1) * SEQ | (share ? 0 : CLOSED) | share);
		if (cpu % 32 == 0)
			WRITE_ONCE(t->map[cpu / 32],
				   (READ_ONCE(t->map[cpu / 32]) / CHANGE + 1) * CHANGE);
		if (share)
			WRITE_ONCE(t->map[cpu / 32],
				   READ_ONCE(t->map[cpu / 32]) | 1ull << cpu % 32);
	}
}

static bool take_from(struct um_tokens *t, uint32_t cpu)
{
	uint64_t *word = word_of(t, cpu), old = READ_ONCE(*word);

	do {
		if (!(old & COUNT_MASK))
			return false;
	} while (!try_cmpxchg(word, &old, old - 1));
	return true;
}

/* The count was found 0: clear its bit, unless a put() comes between. */
static void close_word(struct um_tokens *t, uint32_t cpu)
{
	uint64_t *map = &t->map[cpu / 32], bit = 1ull << cpu % 32;
	uint64_t seen = smp_load_acquire(map);
	uint64_t *word = word_of(t, cpu), old = READ_ONCE(*word);

	if (!(seen & bit) || (old & COUNT_MASK))
		return;
	/*
	 * order: tokens-close [full]
	 * Map word read, count word closed, map word exchanged. Other side:
	 * um_tokens_put(). See the invariant in tokens.h; without the new seq a
	 * put() that set the bit before this read could open the word after the
	 * bit is gone, and its token would be seen by nobody.
	 */
	if (try_cmpxchg(word, &old, (old + SEQ) | CLOSED))
		try_cmpxchg(map, &seen, (seen & ~bit) + CHANGE);
}

void um_tokens_put(struct um_tokens *t, uint32_t cpu)
{
	uint64_t *map = &t->map[cpu / 32], bit = 1ull << cpu % 32, seen;
	uint64_t *word = word_of(t, cpu), old = atomic_fetch_add(word, 1ull), now;

	if (likely(!(old & CLOSED)))
		return;
	seen = READ_ONCE(*map);
	while (!try_cmpxchg(map, &seen, (seen | bit) + CHANGE)) /* order: tokens-close [full] */
		;
	now = READ_ONCE(*word);
	while ((now & CLOSED) && now / SEQ == old / SEQ)
		if (try_cmpxchg(word, &now, now & ~CLOSED))
			break;
}

bool um_tokens_none(const struct um_tokens *t, uint64_t *changes)
{
	const uint64_t *map = t->map, *end = map + t->nr_words;
	uint64_t sum = 0, bits = 0, word;

	/* the usual answer is "no", from the first word; a full map reads all */
	do {
		word = smp_load_acquire(map);
		bits |= (uint32_t)word;
		sum += word / CHANGE;
	} while (++map < end);
	*changes = sum;
	return !bits;
}

/* One word is read at one instant; several need a second look. */
static bool none_at_an_instant(const struct um_tokens *t)
{
	uint64_t first, second;

	return um_tokens_none(t, &first) &&
	       (t->nr_words == 1 || (um_tokens_none(t, &second) && first == second));
}

bool um_tokens_take(struct um_tokens *t, uint32_t cpu)
{
	uint32_t i, w, other, bits;

	if (likely(take_from(t, cpu)))
		return true;
	while (!none_at_an_instant(t)) {
		for (i = 0; i < t->nr_words; i++) {
			w = (cpu / 32 + i) % t->nr_words;
			for (bits = (uint32_t)READ_ONCE(t->map[w]); bits; bits &= bits - 1) {
				other = w * 32 + (uint32_t)__builtin_ctz(bits);
				if (other >= t->nr_cpus)
					return false; /* damaged by somebody */
				if (take_from(t, other))
					return true;
				close_word(t, other);
			}
		}
	}
	return false;
}

uint64_t um_tokens_sum(const struct um_tokens *t)
{
	uint64_t sum = 0;
	uint32_t cpu;

	for (cpu = 0; cpu < t->nr_cpus; cpu++)
		sum += READ_ONCE(*word_of(t, cpu)) & COUNT_MASK;
	return sum;
}
