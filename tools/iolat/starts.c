/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * starts.c - the start times of calls under way, in the starts map.
 *
 * A call by itself inserts its thread's key and, when it ends, looks it up and
 * deletes it. In a burst of calls the key stays, and the value is written
 * through a reference. The thread is in a read section of the map for as long
 * as it has one, also while it waits in a call: starts is made with UM_F_REUSE,
 * so nobody waits for sections, and no other thread deletes its key.
 *
 * A handler's call in the middle of another of its thread leaves the entry to
 * that and has its start on its stack only, as every call has it, too: if a map
 * is full or busy the call is timed all the same.
 */
#include "trace.h"

#include <errno.h>

/* Does another call of this thread go on below us? One that longjmp() left is
 * no longer there: what is called then has its frame above, sooner or later. */
static bool in_outer_call(const struct iolat_call *c)
{
	const void *outer = c->thread->outer;

	return unlikely(outer != NULL) && (const void *)c < outer;
}

static struct iolat_start *hold_entry(struct iolat_thread *t)
{
	struct iolat_start *entry;

	if (um_read_lock(um_iolat_tracer.starts))
		return NULL;
	entry = um_map_lookup_ref(um_iolat_tracer.starts, &t->key);
	if (!entry)
		um_read_unlock(um_iolat_tracer.starts);
	return entry;
}

static bool insert_start(struct iolat_thread *t, const struct iolat_start *start)
{
	int err = um_map_update_elem(um_iolat_tracer.starts, &t->key, start, BPF_NOEXIST);

	/* of a call that longjmp() left, or of a thread that had this number */
	if (err == -EEXIST)
		err = um_map_update_elem(um_iolat_tracer.starts, &t->key, start, BPF_ANY);
	if (err)
		um_iolat_failed(err);
	return !err;
}

void um_iolat_put_start(struct iolat_call *c, int fd)
{
	struct iolat_start start = { .start_ns = c->start_ns, .op = c->op, .fd = fd };
	struct iolat_thread *t = c->thread;

	if (in_outer_call(c))
		return;
	if (likely(t->entry)) {
		WRITE_ONCE(t->entry->op, start.op);
		WRITE_ONCE(t->entry->fd, start.fd);
		WRITE_ONCE(t->entry->start_ns, start.start_ns);
	} else {
		if (!insert_start(t, &start))
			return;
		/* it may end in a burst */
		if (c->start_ns - t->flushed_ns < READ_ONCE(um_iolat_tracer.flush_ns))
			t->entry = hold_entry(t);
	}
	c->owner = true;
	t->outer = c;
}

static void release_entry(struct iolat_thread *t)
{
	if (!t->entry)
		return;
	t->entry = NULL;
	um_read_unlock(um_iolat_tracer.starts);
}

uint64_t um_iolat_take_start(struct iolat_call *c, bool burst)
{
	struct iolat_start start = { .start_ns = c->start_ns };
	struct iolat_thread *t = c->thread;
	uint64_t seen;
	int err;

	if (unlikely(!c->owner))
		return c->start_ns;
	t->outer = NULL;
	if (likely(burst && t->entry)) {
		seen = READ_ONCE(t->entry->start_ns);
		WRITE_ONCE(t->entry->start_ns, 0);
		/* a handler on a stack above ours took us for gone */
		return likely(seen) ? seen : c->start_ns;
	}
	release_entry(t);
	err = um_map_lookup_and_delete_elem(um_iolat_tracer.starts, &t->key, &start);
	if (unlikely(err))
		um_iolat_failed(err);
	return likely(start.start_ns) ? start.start_ns : c->start_ns;
}

/*
 * Also of a cancelled thread, whose call never came to its end, and of the
 * other threads of a process that ends: should one of those still be in here,
 * it finds no entry, and a section left open does no harm.
 */
void um_iolat_drop_start(struct iolat_thread *t)
{
	struct iolat_start *entry;

	if (t == um_iolat_self) {
		bool there = t->entry || t->outer;

		release_entry(t);
		t->outer = NULL;
		if (there)
			um_map_delete_elem(um_iolat_tracer.starts, &t->key);
		return;
	}
	entry = xchg(&t->entry, NULL);
	if (entry || READ_ONCE(t->outer))
		um_map_delete_elem(um_iolat_tracer.starts, &t->key);
}
