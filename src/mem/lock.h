/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * lock.h - the lock of a bucket: 32 bits that name their owner.
 *
 *   [ spare:1 | waiters:1 | generation:8 | record + 1:22 ]     0: free
 *
 * Held for a few dozen instructions, never across a system call but the commit
 * of an overflow bucket. A waiter spins a little, then sleeps on the word,
 * always for a limited time, and when he wakes looks whether the owner lives.
 * The record names the bucket before the lock is tried, so that what a dead
 * process held can be found.
 *
 * um_self.locks_held is raised before the attempt and lowered after the
 * release. A handler that finds it raised only tries: it may have interrupted
 * the owner of the very lock it wants, and the handlers of two threads could
 * wait for each other's. That is -EBUSY.
 *
 * There is one rank: a thread that waits holds no lock. See docs/locking.md.
 */
#ifndef UM_LOCK_H
#define UM_LOCK_H

#include <errno.h>
#include "mem/thread.h"

#define LOCK_OWNER_MASK ((1u << 22) - 1)
#define LOCK_GEN_SHIFT 22
#define LOCK_WAITERS (1u << 30)

static __always_inline uint32_t lock_word_of(const struct um_arena *a, const struct um_rec *rec)
{
	return (uint32_t)(rec - a->records + 1) | READ_ONCE(rec->gen) << LOCK_GEN_SHIFT;
}

/* -EOWNERDEAD: the owner's process died; nothing is held, recover and retry. */
int um_lock_wait(struct um_arena *a, uint32_t *lock, uint32_t mine);
void um_lock_wake(struct um_arena *a, uint32_t *lock);

static __always_inline int __bucket_lock(struct um_arena *a, struct um_rec *rec, uint32_t *lock,
					 uint32_t bucket, bool wait)
{
	uint32_t depth = um_self.locks_held, mine = lock_word_of(a, rec), unlocked = 0;
	int err;

	if (unlikely(depth >= UM_MAX_HELD))
		return -EBUSY;
	um_self.locks_held = depth + 1;
	barrier(); /* a handler from here on only tries */
	WRITE_ONCE(rec->held[depth], bucket + 1);
	/*
	 * order: bucket-lock [full]
	 * What the last owner did to the bucket is seen after this. Other side:
	 * um_bucket_unlock(). Without it two inserts could take one slot.
	 */
	if (likely(try_cmpxchg(lock, &unlocked, mine)))
		return 0;
	err = depth || !wait ? -EBUSY : um_lock_wait(a, lock, mine);
	if (err) {
		WRITE_ONCE(rec->held[depth], 0);
		barrier();
		um_self.locks_held = depth;
	}
	return err;
}

/* 0; -EBUSY, -ETIMEDOUT, -EOWNERDEAD: not held. */
static __always_inline int um_bucket_lock(struct um_arena *a, struct um_rec *rec, uint32_t *lock,
					  uint32_t bucket)
{
	return __bucket_lock(a, rec, lock, bucket, true);
}

/* Only if it is free: 0 or -EBUSY. */
static inline int um_bucket_trylock(struct um_arena *a, struct um_rec *rec, uint32_t *lock,
				    uint32_t bucket)
{
	return __bucket_lock(a, rec, lock, bucket, false);
}

static __always_inline void um_bucket_unlock(struct um_arena *a, struct um_rec *rec,
					     uint32_t *lock)
{
	uint32_t depth = um_self.locks_held - 1;

	if (unlikely(xchg(lock, 0u) & LOCK_WAITERS)) /* order: bucket-lock [full] */
		um_lock_wake(a, lock);
	WRITE_ONCE(rec->held[depth], 0);
	barrier();
	um_self.locks_held = depth;
}

#endif
