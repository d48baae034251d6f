/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* counts.c - histogram counters gathered in a thread, and their way to the map. */
#include "base/sys.h"
#include "trace.h"

static uint32_t bucket_of(uint64_t ns)
{
	return 63 - (uint32_t)__builtin_clzll(ns | 1);
}

static void flush_count(uint64_t *word)
{
	uint64_t was = xchg(word, 0);
	struct iolat_hist_key key = { .op = was >> 8 & 0xff, .bucket = was & 0xff };
	int err;

	if (!was)
		return;
	err = um_map_add_elem(um_iolat_tracer.hist, &key, 0, was >> 16);
	if (unlikely(err < 0)) {
		um_iolat_lost(IOLAT_LOST_CALLS, was >> 16);
		um_iolat_failed(err);
	}
}

void um_iolat_count_call(struct iolat_thread *t, uint32_t op, uint64_t ns)
{
	uint32_t bucket = bucket_of(ns), i = (5 * op + bucket) % IOLAT_COUNTS;
	uint64_t id = op << 8 | bucket, was = t->counts[i];

	if (unlikely(was && (was & 0xffff) != id)) {
		flush_count(&t->counts[i]);
		was = 0;
	}
	WRITE_ONCE(t->counts[i], (was ? was : id) + (1 << 16));
	WRITE_ONCE(t->dirty_counts, t->dirty_counts | 1u << i);
}

void um_iolat_flush_thread(struct iolat_thread *t)
{
	uint32_t dirty = xchg(&t->dirty_counts, 0);

	for (; dirty; dirty &= dirty - 1)
		flush_count(&t->counts[__builtin_ctz(dirty)]);
	um_iolat_flush_slots(t);
}

static void flush_lost(void)
{
	struct iolat_hist_key key = { .op = IOLAT_LOST };
	uint64_t *lost = um_iolat_tracer.process->lost;

	for (key.bucket = 0; key.bucket < IOLAT_NR_LOSSES; key.bucket++) {
		uint64_t nr = READ_ONCE(lost[key.bucket]) ? xchg(&lost[key.bucket], 0) : 0;

		if (nr && um_map_add_elem(um_iolat_tracer.hist, &key, 0, nr) < 0)
			atomic_fetch_add(&lost[key.bucket], nr);
	}
}

/*
 * Other threads may still run; a call that ends right now in one of them may be
 * missing from the sums.
 */
void um_iolat_flush_all(void)
{
	struct iolat_process *p = um_iolat_tracer.process;
	struct iolat_thread *self;
	uint32_t i, nr;

	if (!READ_ONCE(um_iolat_tracer.on) || !READ_ONCE(p->nr_threads))
		return;
	if (READ_ONCE(p->pid) != (uint32_t)um_syscall(SYS_getpid))
		return; /* a child of vfork(): the parent goes on */
	self = um_iolat_thread_self();
	if (self && xchg(&self->busy, 1))
		return; /* a handler ends the program in the middle of our work */
	if (self && READ_ONCE(self->nr_pending))
		um_iolat_take_pending(self);
	nr = min(READ_ONCE(p->nr_threads), (uint32_t)IOLAT_THREADS);
	for (i = 0; i < nr; i++) {
		if (READ_ONCE(p->threads[i].key.tid)) {
			um_iolat_flush_thread(&p->threads[i]);
			um_iolat_drop_start(&p->threads[i]);
		}
	}
	flush_lost();
	if (self)
		WRITE_ONCE(self->busy, 0);
}
