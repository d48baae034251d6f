/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * thread.h - who the calling thread is: its number, and its record in a map.
 *
 * A thread has one number in its process, whatever number of maps it uses. A
 * process takes thread records of an arena in blocks of 32, so number n is
 * record n % 32 of the block the process took for numbers n / 32. Numbers of
 * threads that are gone are found by asking the kernel, so no destructor runs.
 *
 * A forked child has the memory of its parent but not its threads. A page that
 * the kernel wipes at fork holds the process's generation; whoever finds that
 * it differs from his own registers anew.
 */
#ifndef UM_THREAD_H
#define UM_THREAD_H

#include "mem/arena.h"

struct um_thread {
	uint32_t gen;	     /* the process this struct belongs to */
	uint32_t no;	     /* thread number */
	int32_t tid;
	uint32_t locks_held; /* bucket locks, over all maps; see lock.h */
	uint32_t recovering; /* in a census, over all maps */
	int32_t claiming;    /* our tid, in the slow path of um_thread_rec() */
};

/* Wiped to zero in a forked child. */
struct um_fork_page {
	uint32_t gen;
	uint32_t starting; /* somebody sets up this process's table */
};

/* initial-exec: the default of a shared library may allocate in a handler. */
extern __thread struct um_thread um_self __attribute__((tls_model("initial-exec")));
extern struct um_fork_page *um_fork_page;

/* Before the first arena. -ENOMEM. */
int um_thread_init(void);

/*
 * A number that changes with every fork() of this process, and not while one is
 * under way. What is opened between two equal answers no child has.
 */
uint32_t um_forks(void);

/* Give this process a generation. -EBUSY, this thread was interrupted in it. */
int um_thread_start(void);

/* Make @a an arena of this process: set its generation, forget its blocks. */
void um_thread_attach(struct um_arena *a);

/* Set by the map layer: brings a map that came by fork into this process. */
extern int (*um_arena_reattach)(struct um_arena *a);

/* Give back this process's blocks; at close. */
void um_thread_detach(struct um_arena *a);

/* A record changes hands: nothing of its last tenant is true any more. */
void um_thread_clear_rec(struct um_rec *rec);

int um_thread_rec_slow(struct um_arena *a, struct um_rec **rec);

/*
 * This thread's record in @a, made if there is none. -ENOMEM, no room for
 * another thread; -EBUSY, the thread was interrupted in making it.
 */
static __always_inline int um_thread_rec(struct um_arena *a, struct um_rec **rec)
{
	uint32_t gen = um_self.gen;

	if (likely(gen == READ_ONCE(um_fork_page->gen) && gen == READ_ONCE(a->gen))) {
		uint16_t block = READ_ONCE(a->my_blocks[um_self.no / UM_BLOCK_RECS]);

		if (likely(block)) {
			struct um_rec *r = a->records + (block - 1) * UM_BLOCK_RECS +
					   um_self.no % UM_BLOCK_RECS;

			if (likely(READ_ONCE(r->tid) == um_self.tid)) {
				*rec = r;
				return 0;
			}
		}
	}
	return um_thread_rec_slow(a, rec);
}

/* Blocks that were ever taken, and their records. */
static inline uint32_t um_nr_blocks(const struct um_arena *a)
{
	/* order: nr-blocks [acquire] */
	return min(smp_load_acquire(&a->hdr->nr_blocks), (uint32_t)UM_NR_BLOCKS);
}

/* Blocks that a process has. */
#define for_each_block(a, b)                             \
	for ((b) = 0; (b) < um_nr_blocks(a); (b)++)      \
		if (smp_load_acquire(&(a)->blocks[b].owner))

#define for_each_rec_of(a, b, rec)                                  \
	for ((rec) = (a)->records + (uint64_t)(b) * UM_BLOCK_RECS;  \
	     (rec) < (a)->records + (uint64_t)((b) + 1) * UM_BLOCK_RECS; (rec)++)

#endif
