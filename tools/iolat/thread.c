/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * thread.c - the threads of this process: entered at their first call, left
 * when they end.
 */
#include "trace.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include "base/sys.h"
#include "real.h"

__thread struct iolat_thread *um_iolat_self;

static pthread_key_t at_thread_end;

/* Claim a free block. The lowest, so that few pages are ever touched. */
static struct iolat_thread *claim(uint32_t tid)
{
	struct iolat_process *p = um_iolat_tracer.process;
	uint32_t i, seen;

	for (i = 0; i < IOLAT_THREADS; i++) {
		struct iolat_thread *t = &p->threads[i];
		uint32_t free = 0;

		if (READ_ONCE(t->key.tid) || !try_cmpxchg(&t->key.tid, &free, tid))
			continue;
		seen = READ_ONCE(p->nr_threads);
		while (seen <= i && !try_cmpxchg(&p->nr_threads, &seen, i + 1))
			;
		return t;
	}
	return NULL;
}

/*
 * A thread's first call, or the first after a fork. A vfork child runs on its
 * parent's thread and in its memory and counts as that thread.
 */
struct iolat_thread *um_iolat_thread_enter(void)
{
	struct iolat_process *p = um_iolat_tracer.process;
	struct iolat_thread *t;

	um_iolat_real_need();
	if (!smp_load_acquire(&um_iolat_tracer.on))
		return NULL;
	t = claim((uint32_t)sys_gettid());
	if (!t) {
		um_iolat_lost(IOLAT_LOST_CALLS, 1);
		return NULL;
	}
	if (!READ_ONCE(p->pid))
		WRITE_ONCE(p->pid, (uint32_t)um_syscall(SYS_getpid));
	t->key.pid = READ_ONCE(p->pid);
	um_iolat_self = t;
	/* stores in glibc's own thread block, as the key is one of the first */
	pthread_setspecific(at_thread_end, t);
	return t;
}

/* Also of a cancelled thread, whose call never came to its end. */
static void leave(void *block)
{
	struct iolat_thread *t = block;

	if (t != um_iolat_self) /* a fork has come between: the block is another's */
		return;
	WRITE_ONCE(t->busy, 1);
	barrier();
	um_iolat_flush_thread(t);
	um_iolat_drop_start(t);
	um_iolat_self = NULL;
	memset((char *)t + sizeof(t->key), 0, sizeof(*t) - sizeof(t->key));
	smp_store_release(&t->key.tid, 0);
}

int um_iolat_thread_init(void)
{
	struct iolat_process *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int err;

	if (p == MAP_FAILED)
		return -errno;
	if (madvise(p, sizeof(*p), MADV_WIPEONFORK))
		return -errno;
	err = pthread_key_create(&at_thread_end, leave);
	if (err)
		return -err;
	um_iolat_tracer.process = p;
	return 0;
}
