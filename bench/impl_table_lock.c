/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * impl_table_lock.c - the usermap map as it would be with one lock for the
 * whole table: every writing call takes a lock that all share.
 *
 * It is the same map, so that nothing but the lock differs. Two things make it
 * dearer than a map built with one lock, so read the ratio of two threads, not
 * the time of one: inside the table's lock the bucket's own is still taken,
 * free each time, which costs one thread two atomic operations on a line it
 * needs anyhow; and hashing is done under the lock, not before. The table's
 * lock waits as a bucket's does: it spins a little, then sleeps on a futex.
 * Look-ups take no lock in either, so they are not measured here.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <usermap/usermap.h>

#include "impl_usermap.h"

#define SPINS 200

enum {
	FREE,
	HELD,
	HELD_WAITERS,
};

static struct {
	_Atomic uint32_t word;
} table_lock __attribute__((aligned(128)));

static void cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

static __attribute__((noinline)) void lock_slow(void)
{
	uint32_t seen;
	int i;

	for (i = 0; i < SPINS; i++) {
		seen = FREE;
		if (atomic_load_explicit(&table_lock.word, memory_order_relaxed) == FREE &&
		    atomic_compare_exchange_strong(&table_lock.word, &seen, HELD))
			return;
		cpu_relax();
	}
	while (atomic_exchange(&table_lock.word, HELD_WAITERS) != FREE)
		syscall(SYS_futex, &table_lock.word, FUTEX_WAIT_PRIVATE, HELD_WAITERS, NULL);
}

static inline void lock(void)
{
	uint32_t seen = FREE;

	if (unlikely(!atomic_compare_exchange_strong_explicit(
		    &table_lock.word, &seen, HELD, memory_order_acquire, memory_order_relaxed)))
		lock_slow();
}

static inline void unlock(void)
{
	if (unlikely(atomic_exchange_explicit(&table_lock.word, FREE, memory_order_release) ==
		     HELD_WAITERS))
		syscall(SYS_futex, &table_lock.word, FUTEX_WAKE_PRIVATE, 1);
}

static int update_keys(struct um_map *map, const struct slice *slice, int want)
{
	const char *key = slice->keys;
	uint32_t i;
	int ret;

	for (i = 0; i < slice->nr; i++, key += slice->stride) {
		next_value(slice->value);
		lock();
		ret = um_map_update_elem(map, key, slice->value, BPF_ANY);
		unlock();
		if (unlikely(ret != want))
			return unexpected(ret);
	}
	return 0;
}

static int batch(void *map, enum bench_op op, const struct slice *slice)
{
	if (op == OP_UPDATE)
		return update_keys(map, slice, 0);
	if (op == OP_REFUSED)
		return update_keys(map, slice, -E2BIG);
	return -EINVAL;
}

const struct backend impl_table_lock = {
	.name = "table-lock",
	.about = "usermap's map, all writers under one lock",
	.ops = OPS_WRITE,
	.any_cpus = true,
	.create = usermap_create,
	.destroy = usermap_destroy,
	.fill = usermap_fill,
	.batch = batch,
};
