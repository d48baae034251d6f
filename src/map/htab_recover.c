/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * htab_recover.c - put a map right after a process died in a writing call.
 *
 * A process that died elsewhere, as most do that end without closing their
 * maps, holds no lock and nothing in its hand: its records are cleared, that
 * is all. Else:
 *
 * Every store of a writer leaves a chain that can be read, so nothing has to be
 * undone: what a bucket reaches is there, all else is not. A census counts what
 * the buckets reach and makes free elements, overflow buckets and places from
 * the rest. It needs the map to itself:
 *
 *  1. take the recovery lock, which dies with its holder; say "recovering", so
 *     that no new call gets past its first step
 *  2. release the bucket locks of the dead, with a new version
 *  3. wait until no live thread is in a call
 *  4. count and rebuild; 5. clear the records of the dead
 *
 * If the one who does it dies too, the next one finds "recovering" set and
 * begins again; each step may be repeated.
 */
#include "map/htab.h"

#include <errno.h>
#include <limits.h>
#include <sys/mman.h>
#include "base/sys.h"
#include "mem/proc.h"

/* So often those who wait are told that the census gets on. */
#define PROGRESS_BUCKETS 4096

struct census {
	struct htab *h;
	struct um_arena *a;
	bool forked;	      /* every record is of a thread we do not have */
	uint64_t deadline;
	uint64_t *elems;      /* bit: reached */
	uint64_t *overflow;   /* likewise */
	uint64_t used[UM_MAX_PROCS / 64];
	uint64_t dead[UM_MAX_PROCS / 64];
	uint32_t count;
};

static struct um_proc *proc_of_slot(const struct um_arena *a, uint32_t slot)
{
	return (struct um_proc *)(a->base + a->geo.procs) + slot;
}

static bool is_dead(const struct census *s, uint32_t block)
{
	uint32_t owner = READ_ONCE(s->a->blocks[block].owner);

	if (s->forked || owner > UM_MAX_PROCS)
		return true;
	return owner && (s->dead[(owner - 1) / 64] & 1ull << (owner - 1) % 64);
}

/* Asking costs a system call, so only slots that somebody says he has. */
static void find_dead(struct census *s)
{
	uint32_t slot, b, owner;

	memset(s->dead, 0, sizeof(s->dead));
	memset(s->used, 0, sizeof(s->used));
	for (slot = 0; slot < UM_MAX_PROCS; slot++)
		if (smp_load_acquire(&proc_of_slot(s->a, slot)->used))
			s->used[slot / 64] |= 1ull << slot % 64;
	for_each_block(s->a, b) {
		owner = READ_ONCE(s->a->blocks[b].owner);
		if (owner && owner <= UM_MAX_PROCS)
			s->used[(owner - 1) / 64] |= 1ull << (owner - 1) % 64;
	}
	for (slot = 0; slot < UM_MAX_PROCS; slot++)
		if ((s->used[slot / 64] & 1ull << slot % 64) && !um_proc_alive(s->a, slot))
			s->dead[slot / 64] |= 1ull << slot % 64;
}

/* ---- 2: locks of the dead ---- */

/* Its owner is dead, or nobody: what left the chain last may lack its version. */
static void release_lock(struct census *s, struct bucket *home)
{
	smp_store_release(&home->version, READ_ONCE(home->version) + 1);
	if (READ_ONCE(home->lock) && xchg(&home->lock, 0u))
		sys_futex_wake(&home->lock, INT_MAX, s->a->shared);
}

static void release_locks(struct census *s)
{
	struct um_rec *rec;
	uint32_t b, i, nr;

	for_each_block(s->a, b) {
		if (!is_dead(s, b))
			continue;
		for_each_rec_of(s->a, b, rec)
			for (i = 0; i < UM_MAX_HELD; i++) {
				nr = READ_ONCE(rec->held[i]);
				if (nr && nr <= s->h->nr_buckets &&
				    (READ_ONCE(s->h->buckets[nr - 1].lock) & ~LOCK_WAITERS) ==
					    lock_word_of(s->a, rec))
					release_lock(s, &s->h->buckets[nr - 1]);
			}
	}
}

/* ---- 3: nobody in a call ---- */

/* -EAGAIN: a process died meanwhile, begin again. */
static int wait_for_rec(struct census *s, uint32_t b, const struct um_rec *rec)
{
	uint32_t seq = smp_load_acquire(&rec->call_seq), turns;

	for (turns = 0; (seq & 1) && smp_load_acquire(&rec->call_seq) == seq; turns++) {
		uint32_t owner = READ_ONCE(s->a->blocks[b].owner);

		if (!owner)
			return 0;
		if (sys_clock_ns() >= s->deadline)
			return -ETIMEDOUT;
		if (turns % 16 == 15 && !um_proc_alive(s->a, owner - 1))
			return -EAGAIN;
		if (turns < 16)
			sys_yield();
		else
			sys_sleep_ns(200000);
	}
	return 0;
}

static int wait_for_calls(struct census *s)
{
	const struct um_rec *rec;
	uint32_t b;
	int err;

	for_each_block(s->a, b) {
		if (is_dead(s, b))
			continue;
		for_each_rec_of(s->a, b, rec) {
			err = wait_for_rec(s, b, rec);
			if (err)
				return err;
		}
	}
	return 0;
}

/* ---- 4: count and rebuild ---- */

static uint64_t *new_bits(uint64_t nr)
{
	void *bits = mmap(NULL, nr / 8 + 8, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return bits == MAP_FAILED ? NULL : bits;
}

/* True once per number. */
static bool first_time(uint64_t *bits, uint32_t nr)
{
	bool first = !(bits[nr / 64] & 1ull << nr % 64);

	bits[nr / 64] |= 1ull << nr % 64;
	return first;
}

/* Is slot @i of @b a key of chain @home? Then it counts, with its right tag. */
static bool count_slot(struct census *s, uint32_t home, struct bucket *b, uint32_t i)
{
	const struct htab *h = s->h;
	elem_idx e = READ_ONCE(b->elem[i]);
	uint64_t hash;

	if (!e || e > h->nr_elems || e >= READ_ONCE(s->a->hdr->elem_fresh) ||
	    e > READ_ONCE(s->a->hdr->elem_committed))
		return false;
	hash = hash_shared_key(elem_key(h, e), h->key_size, h->seed);
	if (hash_bucket(hash, h->nr_buckets) != home || s->count == s->a->params.max_entries ||
	    !first_time(s->elems, e))
		return false;
	bucket_set_tag(b, i, hash_tag(hash));
	s->count++;
	return true;
}

static void count_chain(struct census *s, uint32_t nr)
{
	struct htab *h = s->h;
	struct bucket *home = &h->buckets[nr], *b;
	bool any = false;
	ovf_idx next;
	uint32_t i;

	for (b = home;; b = &h->overflow[next]) {
		for (i = 0; i < NR_SLOTS; i++) {
			if (count_slot(s, nr, b, i)) {
				any = true;
				continue;
			}
			WRITE_ONCE(b->elem[i], 0);
			bucket_set_tag(b, i, 0);
		}
		next = READ_ONCE(b->next);
		if (!next)
			break;
		if (next > h->nr_overflow || next >= READ_ONCE(s->a->hdr->ovf_fresh) ||
		    !first_time(s->overflow, next)) {
			WRITE_ONCE(b->next, 0);
			break;
		}
	}
	release_lock(s, home); /* nobody alive has it: whatever it says is stale */
	if (any)
		atomic_fetch_or(&h->occupancy[nr / 64], 1ull << nr % 64);
}

static void rebuild(struct census *s)
{
	struct htab *h = s->h;
	struct um_header *hdr = s->a->hdr;
	uint64_t fresh = min(READ_ONCE(hdr->ovf_fresh), (uint64_t)h->nr_overflow + 1), o;

	um_tokens_reset(&h->tokens, s->a->params.max_entries - s->count);
	um_stack_pop_all(&hdr->ovf_free);
	for (o = 1; o < fresh; o++)
		if (first_time(s->overflow, (uint32_t)o))
			um_htab_free_overflow(h, (ovf_idx)o);
	um_mem_rebuild(&h->mem, s->elems, READ_ONCE(hdr->ref_users) && !h->reuse);
}

static int count_and_rebuild(struct census *s)
{
	struct htab *h = s->h;
	uint32_t nr;
	int err = -ENOMEM;

	s->elems = new_bits((uint64_t)h->nr_elems + 1);
	s->overflow = new_bits((uint64_t)h->nr_overflow + 1);
	if (s->elems && s->overflow) {
		for (nr = 0; nr < h->nr_buckets; nr++) {
			count_chain(s, nr);
			if (nr % PROGRESS_BUCKETS == 0)
				atomic_fetch_add(&s->a->hdr->progress, 1u);
		}
		rebuild(s);
		err = 0;
	}
	if (s->elems)
		munmap(s->elems, ((uint64_t)h->nr_elems + 1) / 8 + 8);
	if (s->overflow)
		munmap(s->overflow, ((uint64_t)h->nr_overflow + 1) / 8 + 8);
	return err;
}

/* ---- 5: records of the dead ---- */

static void clear_dead(struct census *s)
{
	struct um_rec *rec;
	uint32_t b, slot;

	for_each_block(s->a, b) {
		if (!is_dead(s, b))
			continue;
		for_each_rec_of(s->a, b, rec)
			um_thread_clear_rec(rec);
		smp_store_release(&s->a->blocks[b].owner, 0);
	}
	for (slot = 0; slot < UM_MAX_PROCS; slot++)
		if (s->dead[slot / 64] & 1ull << slot % 64)
			WRITE_ONCE(proc_of_slot(s->a, slot)->used, 0);
}

/* Did one of the dead leave anything but records? */
static bool dead_in_call(const struct census *s)
{
	const struct um_rec *rec;
	uint32_t b;

	for_each_block(s->a, b) {
		if (!is_dead(s, b))
			continue;
		for_each_rec_of(s->a, b, rec)
			if (READ_ONCE(rec->call_seq) & 1)
				return true;
	}
	return false;
}

static bool any_dead(const struct census *s)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(s->dead); i++)
		if (s->dead[i])
			return true;
	return false;
}

static int run_census(struct census *s)
{
	int err;

	WRITE_ONCE(s->a->hdr->recovering, 1);
	/*
	 * order: recovering [heavy barrier]
	 * Other side: call_begin() in map.c [light barrier]: "in a call", then a
	 * look at "recovering". Each call is either seen by wait_for_calls() or
	 * sees the flag. Without it a call could change what is being counted.
	 */
	um_heavy_barrier(s->a);
	do {
		find_dead(s);
		release_locks(s);
		err = wait_for_calls(s);
	} while (err == -EAGAIN);
	if (!err)
		err = count_and_rebuild(s);
	if (!err) {
		clear_dead(s);
		atomic_fetch_add(&s->a->hdr->recoveries, 1ull);
	}
	smp_store_release(&s->a->hdr->recovering, 0);
	return err;
}

/*
 * Whoever calls has seen a dead process, or a lock whose owner is nobody. If
 * nobody dead was in a call, and there is somebody dead, clearing will do.
 */
static int put_right(struct census *s)
{
	int err = 0;

	find_dead(s);
	if (!s->forked && !READ_ONCE(s->a->hdr->recovering) && any_dead(s) && !dead_in_call(s))
		clear_dead(s);
	else
		err = run_census(s);
	if (!err)
		atomic_fetch_add(&s->a->hdr->repairs, 1u);
	return err;
}

static int recover(struct htab *h, bool forked)
{
	KEEP_ERRNO;
	struct um_arena *a = h->a;
	uint64_t timeout = a->lock_timeout_ms * 1000000ull;
	uint32_t before;
	struct census s = { .h = h, .a = a, .forked = forked };
	int token, err = 0;

	if (um_self.recovering || um_self.locks_held)
		return -EBUSY;
	um_self.recovering = 1;
	barrier();
	before = READ_ONCE(a->hdr->repairs);
	token = um_recovery_lock(a, timeout);
	if (token < 0) {
		/* no descriptor, no /proc, no permission any more: another can */
		err = token == -ETIMEDOUT ? token : -ENOTRECOVERABLE;
		goto out;
	}
	s.deadline = sys_clock_ns() + timeout;
	/* or somebody did it while we waited for the lock */
	if (forked || READ_ONCE(a->hdr->repairs) == before || READ_ONCE(a->hdr->recovering))
		err = put_right(&s);
	um_recovery_unlock(a, token);
out:
	barrier();
	um_self.recovering = 0;
	return err;
}

int um_htab_recover(struct htab *h)
{
	return recover(h, false);
}

int um_htab_recover_forked(struct htab *h)
{
	return recover(h, true);
}
