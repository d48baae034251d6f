/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* tokens.c - take, put, and the bits that tell where to look. */
#include "mem/tokens.h"

#define CLOSED (1ull << 32)
#define SEQ (1ull << 33)

static uint32_t value_of(uint64_t word)
{
	return (uint32_t)word;
}

static uint64_t *count_of(const struct um_tokens *t, uint32_t cpu)
{
	return &t->percpu[cpu].tokens;
}

static uint32_t nr_groups(const struct um_tokens *t)
{
	return (t->nr_cpus + 31) / 32;
}

static void reset_word(uint64_t *word, uint32_t value)
{
	WRITE_ONCE(*word, (READ_ONCE(*word) / SEQ + 1) * SEQ | (value ? 0 : CLOSED) | value);
}

void um_tokens_reset(struct um_tokens *t, uint32_t free)
{
	uint32_t cpu, g, share, cpus, groups = 0;

	for (g = 0; g < nr_groups(t); g++) {
		cpus = 0;
		for (cpu = g * 32; cpu < min(g * 32 + 32, t->nr_cpus); cpu++) {
			share = free / t->nr_cpus + (cpu < free % t->nr_cpus);
			reset_word(count_of(t, cpu), share);
			cpus |= (uint32_t)(share != 0) << cpu % 32;
		}
		reset_word(&t->groups[g], cpus);
		groups |= (uint32_t)(cpus != 0) << g;
	}
	reset_word(t->top, groups);
}

/* The bit above is raised; open the word that was @old when it got a value. */
static void open_word(uint64_t *word, uint64_t old)
{
	uint64_t now = READ_ONCE(*word);

	while ((now & CLOSED) && now / SEQ == old / SEQ)
		if (try_cmpxchg(word, &now, now & ~CLOSED))
			break;
}

/* Set a bit, with a new seq; what the word was then. */
static uint64_t set_bit(uint64_t *word, uint32_t bit)
{
	uint64_t old = READ_ONCE(*word);

	while (!try_cmpxchg(word, &old, (old | 1ull << bit) + SEQ)) /* order: tokens-close [full] */
		;
	return old + SEQ;
}

/*
 * The value of @word is 0: clear its bit above, unless it is raised meanwhile.
 * The word above then has a new seq.
 */
static void close_word(uint64_t *word, uint64_t *above, uint32_t bit)
{
	uint64_t seen = smp_load_acquire(above), old = READ_ONCE(*word);

	if (!(seen & 1ull << bit) || value_of(old))
		return;
	/*
	 * order: tokens-close [full]
	 * Word above read, word closed, word above exchanged. Other side:
	 * set_bit(), open_word(). Without the new seq here, one who raised the
	 * bit before our read could open the word after the bit is gone, and its
	 * token would be seen by nobody.
	 */
	if (try_cmpxchg(word, &old, (old + SEQ) | CLOSED))
		try_cmpxchg(above, &seen, (seen & ~(1ull << bit)) + SEQ);
}

void um_tokens_put(struct um_tokens *t, uint32_t cpu)
{
	uint64_t *group = &t->groups[cpu / 32], in_group;
	uint64_t old = atomic_fetch_add(count_of(t, cpu), 1ull);

	if (likely(!(old & CLOSED)))
		return;
	in_group = set_bit(group, cpu % 32);
	if (in_group & CLOSED) {
		set_bit(t->top, cpu / 32);
		open_word(group, in_group);
	}
	open_word(count_of(t, cpu), old);
}

static bool take_from(struct um_tokens *t, uint32_t cpu)
{
	uint64_t *word = count_of(t, cpu), old = READ_ONCE(*word);

	do {
		if (!value_of(old))
			return false;
	} while (!try_cmpxchg(word, &old, old - 1));
	return true;
}

static bool take_from_group(struct um_tokens *t, uint32_t g)
{
	uint32_t bits = value_of(READ_ONCE(t->groups[g])), cpu;

	for (; bits; bits &= bits - 1) {
		cpu = g * 32 + (uint32_t)__builtin_ctz(bits);
		if (cpu >= t->nr_cpus)
			break; /* damaged by somebody */
		if (take_from(t, cpu))
			return true;
		close_word(count_of(t, cpu), &t->groups[g], cpu % 32);
	}
	close_word(&t->groups[g], t->top, g);
	return false;
}

bool um_tokens_take(struct um_tokens *t, uint32_t cpu)
{
	uint32_t bits, g, turns;
	uint64_t changes;

	if (likely(take_from(t, cpu)))
		return true;
	/* each turn that finds nothing closes something, or others get on; a
	 * damaged map has bits that nobody can close */
	for (turns = 0; turns < 1u << 20 && !um_tokens_none(t, &changes); turns++) {
		/* one's own group first */
		if (take_from_group(t, cpu / 32))
			return true;
		for (bits = value_of(READ_ONCE(*t->top)); bits; bits &= bits - 1) {
			g = (uint32_t)__builtin_ctz(bits);
			if (g >= nr_groups(t))
				break;
			if (take_from_group(t, g))
				return true;
		}
	}
	return false;
}

uint64_t um_tokens_sum(const struct um_tokens *t)
{
	uint64_t sum = 0;
	uint32_t cpu;

	for (cpu = 0; cpu < t->nr_cpus; cpu++)
		sum += value_of(READ_ONCE(*count_of(t, cpu)));
	return sum;
}
