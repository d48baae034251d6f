/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* thread.c - thread numbers, and the records of threads in an arena. */
#include "mem/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include "base/sys.h"
#include "mem/proc.h"

__thread struct um_thread um_self __attribute__((tls_model("initial-exec")));
struct um_fork_page *um_fork_page;
int (*um_arena_reattach)(struct um_arena *a);

/*
 * Thread number -> tid; 0: never used. An entry is taken by compare-exchange;
 * the table belongs to generation table_gen of this process's memory.
 */
static int32_t tids[UM_MAX_THREADS];
static uint32_t nr_tids; /* numbers below have been used */
static uint32_t table_gen;

/* Forks begun, and ended in the parent. */
static uint32_t forks_begun, forks_ended;

static void before_fork(void)
{
	atomic_fetch_add(&forks_begun, 1u);
}

static void after_fork_in_parent(void)
{
	atomic_fetch_add(&forks_ended, 1u);
}

/* The page is wiped already, but before Linux 4.14. */
static void after_fork_in_child(void)
{
	WRITE_ONCE(um_fork_page->gen, 0);
	WRITE_ONCE(um_fork_page->starting, 0);
	WRITE_ONCE(forks_ended, READ_ONCE(forks_begun));
	um_proc_forked();
}

uint32_t um_forks(void)
{
	uint32_t begun, turns;

	for (turns = 0; turns < 1000; turns++) {
		begun = READ_ONCE(forks_begun);
		smp_rmb();
		if (READ_ONCE(forks_ended) == begun)
			return begun;
		sys_yield();
	}
	return READ_ONCE(forks_begun); /* a handler in the middle of fork() */
}

int um_thread_init(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct um_fork_page *none = NULL;
	void *p;

	/* no mutex: a fork could leave it locked in the child */
	if (smp_load_acquire(&um_fork_page))
		return 0;
	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	madvise(p, page, MADV_WIPEONFORK);
	if (!try_cmpxchg(&um_fork_page, &none, p))
		munmap(p, page);
	else if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child))
		return -ENOMEM;
	return 0;
}

/*
 * First call of this process, or of a forked child: an empty table. A child
 * starts with one thread, but may have more by its first call. -EBUSY, this
 * thread was interrupted in here.
 */
int um_thread_start(void)
{
	uint32_t expected = 0;

	if (smp_load_acquire(&um_fork_page->gen))
		return 0;
	if (!try_cmpxchg(&um_fork_page->starting, &expected, (uint32_t)sys_gettid())) {
		if (expected == (uint32_t)sys_gettid())
			return -EBUSY;
		while (!smp_load_acquire(&um_fork_page->gen))
			sys_yield();
		return 0;
	}
	memset(tids, 0, READ_ONCE(nr_tids) * sizeof(tids[0]));
	WRITE_ONCE(nr_tids, 0);
	WRITE_ONCE(table_gen, READ_ONCE(table_gen) + 1);
	smp_store_release(&um_fork_page->gen, READ_ONCE(table_gen));
	return 0;
}

/* Number of a thread that is gone, or of an earlier thread with our tid. */
static int32_t reuse_number(uint32_t used, int32_t tid)
{
	uint32_t i;

	for (i = 0; i < used; i++) {
		int32_t owner = READ_ONCE(tids[i]);

		if (!owner || (owner != tid && sys_thread_alive(owner)))
			continue;
		if (try_cmpxchg(&tids[i], &owner, tid))
			return (int32_t)i;
	}
	return -1;
}

/*
 * Numbers are given out densely. Before a block more is begun, those of dead
 * threads are looked for, so a thread costs one system call on average.
 */
static int claim_number(int32_t tid)
{
	for (;;) {
		uint32_t used = READ_ONCE(nr_tids);
		int32_t no = -1, nobody = 0;

		if (used % UM_BLOCK_RECS == 0)
			no = reuse_number(used, tid);
		if (no >= 0)
			return no;
		if (used == UM_MAX_THREADS)
			return -ENOMEM;
		no = (int32_t)used;
		if (!try_cmpxchg(&tids[used], &nobody, tid))
			no = -1; /* somebody has it: help him count, and look again */
		try_cmpxchg(&nr_tids, &used, used + 1);
		if (no >= 0)
			return no;
	}
}

static int become_known(void)
{
	int err = um_thread_start(), no;

	if (err)
		return err;
	if (um_self.gen == READ_ONCE(um_fork_page->gen))
		return 0;
	um_self.tid = sys_gettid();
	um_self.locks_held = 0;
	um_self.recovering = 0;
	no = claim_number(um_self.tid);
	if (no < 0)
		return no;
	um_self.no = (uint32_t)no;
	barrier();
	um_self.gen = READ_ONCE(um_fork_page->gen);
	return 0;
}

void um_thread_attach(struct um_arena *a)
{
	memset(a->my_blocks, 0, sizeof(a->my_blocks));
	smp_store_release(&a->gen, READ_ONCE(um_fork_page->gen));
}

void um_thread_detach(struct um_arena *a)
{
	uint32_t i;

	for (i = 0; i < UM_NR_BLOCKS; i++)
		if (a->my_blocks[i])
			smp_store_release(&a->blocks[a->my_blocks[i] - 1].owner, 0);
}

void um_thread_clear_rec(struct um_rec *rec)
{
	int i;

	WRITE_ONCE(rec->section, 0);
	WRITE_ONCE(rec->call_seq, (READ_ONCE(rec->call_seq) + 1) & ~1u);
	WRITE_ONCE(rec->is_reader, 0);
	WRITE_ONCE(rec->gen, (READ_ONCE(rec->gen) + 1) & 0xff);
	for (i = 0; i < UM_MAX_HELD; i++)
		WRITE_ONCE(rec->held[i], 0);
	WRITE_ONCE(rec->tid, 0);
}

static int take_block(struct um_arena *a, uint32_t group)
{
	uint32_t b, nr, mine = a->slot + 1;
	uint16_t none = 0;
	struct um_rec *rec;
	int err;

	for (b = 0; b < UM_NR_BLOCKS; b++) {
		uint32_t nobody = 0;

		if (READ_ONCE(a->blocks[b].owner))
			continue;
		/* commit first: whoever sees an owner may read the records */
		err = um_arena_commit(a, a->geo.records + sizeof(*rec) * UM_BLOCK_RECS * b,
				      sizeof(*rec) * UM_BLOCK_RECS);
		if (err)
			return -ENOMEM;
		if (try_cmpxchg(&a->blocks[b].owner, &nobody, mine))
			break;
	}
	/*
	 * order: nr-blocks [full]
	 * Counted before the record is used. Other side: for_each_block() after a
	 * heavy barrier. Without it a reader or a writer could be overlooked.
	 */
	nr = READ_ONCE(a->hdr->nr_blocks);
	while (b < UM_NR_BLOCKS && nr <= b && !try_cmpxchg(&a->hdr->nr_blocks, &nr, b + 1))
		;
	if (b == UM_NR_BLOCKS)
		return -ENOMEM;
	rec = a->records + b * UM_BLOCK_RECS;
	if (!READ_ONCE(rec->counted)) {
		WRITE_ONCE(rec->counted, 1);
		atomic_fetch_add(&a->hdr->committed, sizeof(*rec) * UM_BLOCK_RECS);
	}
	for_each_rec_of(a, b, rec)
		um_thread_clear_rec(rec);
	if (!try_cmpxchg(&a->my_blocks[group], &none, (uint16_t)(b + 1)))
		smp_store_release(&a->blocks[b].owner, 0);
	return 0;
}

int um_thread_rec_slow(struct um_arena *a, struct um_rec **rec)
{
	uint32_t group;
	struct um_rec *r;
	int err;

	/* a child forked in here has another tid, and begins anew */
	if (um_self.claiming && um_self.claiming == sys_gettid())
		return -EBUSY;
	um_self.claiming = sys_gettid();
	barrier();
	err = become_known();
	if (!err && READ_ONCE(a->gen) != um_self.gen)
		err = um_arena_reattach(a);
	group = um_self.no / UM_BLOCK_RECS;
	if (!err && !READ_ONCE(a->my_blocks[group]))
		err = take_block(a, group);
	if (!err) {
		r = a->records + (READ_ONCE(a->my_blocks[group]) - 1) * UM_BLOCK_RECS +
		    um_self.no % UM_BLOCK_RECS;
		if (READ_ONCE(r->tid) != um_self.tid) {
			um_thread_clear_rec(r);
			smp_store_release(&r->tid, um_self.tid);
		}
		*rec = r;
	}
	barrier();
	um_self.claiming = 0;
	return err;
}
