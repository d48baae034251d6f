/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * atomic.h - every access to memory that another thread may be writing.
 *
 * The kernel's words over C11 atomics. Nobody else calls an atomic builtin, so
 * a build may put another file in this one's place, given by UM_ATOMIC_H, that
 * hands control to a scheduler at each access.
 *
 * Orders: READ_ONCE and WRITE_ONCE have none. smp_load_acquire and
 * smp_store_release have the one in their name. Read-modify-writes acquire and
 * release, and are in one order for all, unless their name says less; a load of
 * something else after one needs smp_mb__after_atomic().
 */
#ifndef UM_ATOMIC_H_
#define UM_ATOMIC_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/compiler.h"

#ifdef UM_ATOMIC_H
#include UM_ATOMIC_H
#else

#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)

/*
 * A read-modify-write, then a load of something else: in order on x86, on arm64
 * only with this between.
 */
#if defined(__x86_64__)
#define smp_mb__after_atomic() barrier()
#else
#define smp_mb__after_atomic() smp_mb()
#endif

#define xchg(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
/* On failure *old is what was found. */
#define try_cmpxchg(p, old, v) \
	__atomic_compare_exchange_n((p), (old), (v), 0, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)
#define atomic_fetch_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define atomic_fetch_or(p, v) __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define atomic_fetch_and(p, v) __atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST)
/* A counter that orders nothing. */
#define atomic_inc_relaxed(p) ((void)__atomic_fetch_add((p), 1, __ATOMIC_RELAXED))

#endif

/*
 * Copies between shared and private memory, by aligned words, so that no word
 * is ever half old and half new. Shared memory is 4-byte aligned if the size
 * is at most 4, 8-byte aligned otherwise, and padded to that.
 */
static __always_inline void copy_from_shared(void *dst, const void *shared, size_t size)
{
	const uint64_t *src = shared;
	char *to = dst;

	for (; size >= 8; size -= 8, to += 8, src++) {
		uint64_t word = READ_ONCE(*src);

		memcpy(to, &word, 8);
	}
	if (size > 4) {
		uint64_t word = READ_ONCE(*src);

		memcpy(to, &word, size);
	} else if (size) {
		uint32_t word = READ_ONCE(*(const uint32_t *)src);

		memcpy(to, &word, size);
	}
}

/* Padding in the last word becomes zero. */
static __always_inline void copy_to_shared(void *shared, const void *src, size_t size)
{
	uint64_t *dst = shared;
	const char *from = src;

	for (; size >= 8; size -= 8, from += 8, dst++) {
		uint64_t word;

		memcpy(&word, from, 8);
		WRITE_ONCE(*dst, word);
	}
	if (size > 4) {
		uint64_t word = 0;

		memcpy(&word, from, size);
		WRITE_ONCE(*dst, word);
	} else if (size) {
		uint32_t word = 0;

		memcpy(&word, from, size);
		WRITE_ONCE(*(uint32_t *)dst, word);
	}
}

static __always_inline void zero_shared(void *shared, size_t size)
{
	uint64_t *dst = shared;

	for (; size > 4; size -= min(size, (size_t)8), dst++)
		WRITE_ONCE(*dst, 0);
	if (size)
		WRITE_ONCE(*(uint32_t *)dst, 0);
}

static __always_inline bool equal_shared(const void *shared, const void *key, size_t size)
{
	const uint64_t *src = shared;
	const char *with = key;

	for (; size >= 8; size -= 8, with += 8, src++) {
		uint64_t word;

		memcpy(&word, with, 8);
		if (READ_ONCE(*src) != word)
			return false;
	}
	if (size > 4) {
		uint64_t word = 0;

		memcpy(&word, with, size);
		return READ_ONCE(*src) == word;
	}
	if (size) {
		uint32_t word = 0;

		memcpy(&word, with, size);
		return READ_ONCE(*(const uint32_t *)src) == word;
	}
	return true;
}

#endif
