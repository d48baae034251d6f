/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * trace.c - a call begins, a call ends.
 *
 * At entry the start time goes into the starts map under the thread's key; at
 * exit it is looked up there, and the histogram's counter goes up.
 * A signal handler's calls meet their thread in one of three states:
 *  - in the program, or waiting in a call: they are traced like any other; in a
 *    call the entry in starts stays the outer call's;
 *  - in here (busy): maps and sums may be half changed, so the call is only
 *    timed, and counted when the interrupted part is through.
 */
#include "trace.h"

#include <errno.h>
#include <time.h>

#define SKIP_CALLS 1000

struct iolat_tracer um_iolat_tracer = { .fds_changed = 1 };

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static __always_inline uint64_t now_ns(void)
{
#ifdef __x86_64__
	const struct iolat_clock *c = &um_iolat_tracer.clock;

	if (likely(c->mult)) {
		uint64_t ticks = __builtin_ia32_rdtsc() - c->base_tsc;

		return c->base_ns + (uint64_t)(((unsigned __int128)ticks * c->mult) >> 32);
	}
#endif
	return clock_ns();
}

void um_iolat_lost(enum iolat_loss what, uint64_t nr)
{
	atomic_fetch_add(&um_iolat_tracer.process->lost[what], nr);
}

void um_iolat_failed(int err)
{
	if (err == -ETIMEDOUT)
		WRITE_ONCE(um_iolat_tracer.skip, SKIP_CALLS);
}

static bool skip_this(void)
{
	uint32_t left = READ_ONCE(um_iolat_tracer.skip);

	while (left && !try_cmpxchg(&um_iolat_tracer.skip, &left, left - 1))
		;
	if (left)
		um_iolat_lost(IOLAT_LOST_CALLS, 1);
	return left;
}

bool um_iolat_call_begin(struct iolat_call *c, uint32_t op, int fd)
{
	struct iolat_thread *t = um_iolat_thread_self();

	if (unlikely(!t) || (unlikely(READ_ONCE(um_iolat_tracer.skip)) && skip_this()))
		return false;
	c->thread = t;
	c->op = op;
	c->owner = false;
	c->closes = false;
	c->start_ns = now_ns();
	if (likely(!READ_ONCE(t->busy))) {
		WRITE_ONCE(t->busy, 1);
		barrier();
		um_iolat_put_start(c, fd);
		barrier();
		WRITE_ONCE(t->busy, 0);
	}
	return true;
}

void um_iolat_call_closes(struct iolat_call *c, int fd)
{
	c->closes = true;
	c->cookie = um_iolat_fd_cookie(fd);
}

/* From a handler that interrupted this file. A handler's own handler gets
 * another place. */
static void put_pending(struct iolat_thread *t, const struct iolat_call *c, int fd, int64_t bytes,
			uint64_t ns)
{
	uint32_t i = atomic_fetch_add(&t->nr_pending, 1);

	if (i < IOLAT_PENDING)
		t->pending[i] = (struct iolat_pending){ ns, bytes, c->closes ? -1 : fd, c->op };
	else
		um_iolat_lost(IOLAT_LOST_CALLS, 1);
}

/* Handlers run to their end before we go on, so what is counted is there whole. */
void um_iolat_take_pending(struct iolat_thread *t)
{
	uint32_t nr = READ_ONCE(t->nr_pending), done = 0;

	do {
		for (; done < min(nr, (uint32_t)IOLAT_PENDING); done++) {
			struct iolat_pending p = t->pending[done];

			um_iolat_count_call(t, p.op, p.ns);
			um_iolat_count_file(t, p.fd, p.bytes, p.ns);
		}
	} while (!try_cmpxchg(&t->nr_pending, &nr, 0)); /* a handler came: the rest */
}

void um_iolat_call_end(struct iolat_call *c, int fd, int64_t bytes)
{
	uint64_t now = now_ns(), start, ns;
	struct iolat_thread *t = c->thread;
	bool burst;

	if (unlikely(!READ_ONCE(t->key.tid))) { /* forked by a handler, in the call */
		t = c->thread = um_iolat_thread_self();
		c->owner = false;
		if (!t)
			return;
	}
	if (unlikely(READ_ONCE(t->busy))) {
		put_pending(t, c, fd, bytes, now > c->start_ns ? now - c->start_ns : 0);
		return;
	}
	WRITE_ONCE(t->busy, 1);
	barrier();
	burst = now - t->flushed_ns < READ_ONCE(um_iolat_tracer.flush_ns);
	start = um_iolat_take_start(c, burst);
	ns = now > start ? now - start : 0;
	um_iolat_count_call(t, c->op, ns);
	if (unlikely(c->closes))
		um_iolat_count_closed(t, fd, c->cookie, ns);
	else
		um_iolat_count_file(t, fd, bytes, ns);
	if (unlikely(READ_ONCE(t->nr_pending)))
		um_iolat_take_pending(t);
	if (unlikely(!burst)) {
		t->flushed_ns = now;
		um_iolat_flush_thread(t);
	}
	barrier();
	WRITE_ONCE(t->busy, 0);
}
