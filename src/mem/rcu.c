/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* rcu.c - moving the epoch on. */
#include "mem/rcu.h"

#include <errno.h>

void um_rcu_first_use(struct um_arena *a, struct um_rec *rec)
{
	WRITE_ONCE(a->hdr->ref_users, 1);
	/*
	 * order: ref-users [heavy barrier]
	 * Other side: htab_free_elem() [light barrier]: unlink, then look at
	 * ref_users. A writer that saw 0 has its unlinking seen by this thread
	 * after the barrier, so this thread cannot find the element that the
	 * writer reuses at once. Without it, it could.
	 */
	um_heavy_barrier(a);
	WRITE_ONCE(rec->is_reader, 1);
}

int um_rcu_advance(struct um_arena *a, struct um_rec **in_the_way)
{
	uint64_t seq = smp_load_acquire(&a->hdr->gp_seq);
	struct um_rec *rec;
	uint32_t b;

	um_heavy_barrier(a); /* order: rcu-enter [heavy barrier] */
	for_each_block(a, b) {
		for_each_rec_of(a, b, rec) {
			/* order: rcu-exit [acquire] */
			uint64_t section = smp_load_acquire(&rec->section);

			if (rcu_inside(section) &&
			    section >> RCU_EPOCH_SHIFT != (seq << RCU_EPOCH_SHIFT) >> RCU_EPOCH_SHIFT) {
				*in_the_way = rec;
				return -EAGAIN;
			}
		}
	}
	try_cmpxchg(&a->hdr->gp_seq, &seq, seq + 1); /* or somebody else did */
	return 0;
}
