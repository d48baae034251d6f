/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * rcu.h - read sections and grace periods, between threads and processes.
 *
 * Epochs (Fraser 2004, section 5.2.3). gp_seq is the current one. A reader
 * notes it in its record when it enters; the epoch moves on from E to E + 1
 * only when every reader inside entered in E. What was unlinked before a look
 * at gp_seq that gave E can be reached by nobody from E + 2 on.
 *
 * Entering is a plain store, and the fence it needs is paid by whoever moves
 * the epoch on (um_heavy_barrier()), so reading costs next to nothing.
 *
 * ref_users is 0 until some thread of some process enters a section; as long
 * as it is, elements are reused at once and nobody pays for grace periods.
 */
#ifndef UM_RCU_H
#define UM_RCU_H

#include "mem/thread.h"

#define RCU_NESTING 0xffffull
#define RCU_EPOCH_SHIFT 16

static inline bool rcu_inside(uint64_t section)
{
	return (section & RCU_NESTING) != 0;
}

/* A thread's first section: make its map count readers from now on. */
void um_rcu_first_use(struct um_arena *a, struct um_rec *rec);

static __always_inline void um_rcu_enter(struct um_arena *a, struct um_rec *rec)
{
	uint64_t section = READ_ONCE(rec->section);

	if (unlikely(!READ_ONCE(rec->is_reader)))
		um_rcu_first_use(a, rec);
	if (rcu_inside(section)) {
		WRITE_ONCE(rec->section, section + 1);
		return;
	}
	/*
	 * order: rcu-enter [light barrier]
	 * The record says "inside" before any element is looked for.
	 * Other side: um_rcu_advance() [heavy barrier]. Without it the epoch
	 * could move on twice while this store waits in its CPU's buffer and the
	 * reader already follows an index to an element that is being reused.
	 * A handler between load and store enters and leaves, and changes nothing.
	 * The epoch is read before any element is looked for, so that a reader of
	 * the next epoch does not find what was unlinked in this one:
	 * order: rcu-cookie [acquire], see um_rcu_get_state().
	 */
	WRITE_ONCE(rec->section, smp_load_acquire(&a->hdr->gp_seq) << RCU_EPOCH_SHIFT | 1);
	um_light_barrier(a);
}

static __always_inline void um_rcu_exit(struct um_rec *rec)
{
	/*
	 * order: rcu-exit [release]
	 * All reads through references come before the record says "outside".
	 * Other side: um_rcu_advance() [acquire]. Without it a reader's last read
	 * could show the element's next tenant.
	 */
	smp_store_release(&rec->section, READ_ONCE(rec->section) - 1);
}

/* A cookie: what is unlinked now is out of reach when the epoch gets there. */
static inline uint64_t um_rcu_get_state(const struct um_arena *a)
{
	/*
	 * order: rcu-cookie [full]
	 * The unlinking is seen before the epoch is read. Other side:
	 * um_rcu_enter(). Without it a reader that entered in the next epoch
	 * could still find the element, and would not be waited for.
	 */
	smp_mb();
	return smp_load_acquire(&a->hdr->gp_seq) + 2;
}

static inline bool um_rcu_poll_state(const struct um_arena *a, uint64_t cookie)
{
	return (int64_t)(smp_load_acquire(&a->hdr->gp_seq) - cookie) >= 0;
}

/*
 * Move the epoch on by one if no reader is in its way. 0, or -EAGAIN with the
 * record that is.
 */
int um_rcu_advance(struct um_arena *a, struct um_rec **in_the_way);

#endif
