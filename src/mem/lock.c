/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* lock.c - waiting for a bucket lock, and whether its owner lives. */
#include "mem/lock.h"

#include "base/cpu.h"
#include "base/sys.h"
#include "mem/proc.h"

#define SPINS 200
#define FIRST_SLEEP_NS 1000000ull
#define LONGEST_SLEEP_NS 100000000ull

/* Who holds the lock, and how often he has been in a call: has he got on? */
struct owner {
	uint32_t word;
	uint32_t call_seq;
};

static struct um_rec *owner_rec(const struct um_arena *a, uint32_t word)
{
	uint32_t id = word & LOCK_OWNER_MASK;

	return id && id <= UM_MAX_THREADS ? a->records + (id - 1) : NULL;
}

static bool owner_dead(const struct um_arena *a, uint32_t word)
{
	const struct um_rec *rec = owner_rec(a, word);
	int slot = rec ? um_proc_of(a, rec) : -1;

	/* a word that names nobody is what damage or a recovery leaves */
	if (slot < 0 || (READ_ONCE(rec->gen) & 0xff) != (word >> LOCK_GEN_SHIFT & 0xff))
		return true;
	return !um_proc_alive(a, (uint32_t)slot);
}

static struct owner look_at_owner(const struct um_arena *a, uint32_t word)
{
	const struct um_rec *rec = owner_rec(a, word);
	struct owner o = { word & ~LOCK_WAITERS, 0 };

	if (rec && um_proc_of(a, rec) >= 0)
		o.call_seq = READ_ONCE(rec->call_seq);
	return o;
}

static bool try_while_spinning(uint32_t *lock, uint32_t mine)
{
	int i;

	for (i = 0; i < SPINS; i++) {
		uint32_t unlocked = 0;

		if (!READ_ONCE(*lock) && try_cmpxchg(lock, &unlocked, mine))
			return true;
		cpu_relax();
	}
	return false;
}

int um_lock_wait(struct um_arena *a, uint32_t *lock, uint32_t mine)
{
	uint64_t sleep_ns = FIRST_SLEEP_NS, now, since = 0;
	struct owner last = { 0, 0 }, owner;

	um_stat_inc(a, um_cpu_of(a->params.nr_cpus), lock_waits);
	if (try_while_spinning(lock, mine))
		return 0;
	/* from here on we may leave other sleepers behind: keep the flag */
	mine |= LOCK_WAITERS;
	for (;;) {
		uint32_t word = READ_ONCE(*lock);

		if (!word) {
			if (try_cmpxchg(lock, &word, mine))
				return 0;
			continue;
		}
		if (!(word & LOCK_WAITERS)) {
			if (!try_cmpxchg(lock, &word, word | LOCK_WAITERS))
				continue;
			word |= LOCK_WAITERS;
		}
		now = sys_clock_ns();
		owner = look_at_owner(a, word);
		if (!since || owner.word != last.word || owner.call_seq != last.call_seq) {
			last = owner;
			since = now;
			sleep_ns = FIRST_SLEEP_NS;
		} else if (owner_dead(a, word)) {
			return -EOWNERDEAD;
		} else if (now - since >= a->lock_timeout_ms * 1000000ull) {
			return -ETIMEDOUT;
		}
		sys_futex_wait(lock, word, sleep_ns, a->shared);
		sleep_ns = min(sleep_ns * 2, LONGEST_SLEEP_NS);
	}
}

void um_lock_wake(struct um_arena *a, uint32_t *lock)
{
	sys_futex_wake(lock, 1, a->shared);
}
