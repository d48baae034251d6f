/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* compiler.h - what the compiler is told, and asserts of three strengths. */
#ifndef UM_COMPILER_H
#define UM_COMPILER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __cold __attribute__((cold, noinline))
#define __cacheline_aligned __attribute__((aligned(64)))

#define round_up(x, to) (((x) + (to) - 1) / (to) * (to))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* A reordering the compiler must not do; a signal handler sees program order. */
#define barrier() __asm__ volatile("" ::: "memory")

#if defined(__x86_64__)
#define cpu_relax() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define cpu_relax() __asm__ volatile("yield" ::: "memory")
#else
#error "usermap runs on x86-64 and arm64"
#endif

/*
 * um_assert():      cheap, true wherever it stands; debug builds
 * um_assert_inv():  an invariant at a boundary; debug builds
 * um_assert_full(): walks a whole structure; builds with -DUM_ASSERT_FULL
 * What another process may have written is checked, never asserted.
 */
#define um_assert(x) assert(x)
#define um_assert_inv(x) assert(x)
#ifdef UM_ASSERT_FULL
#define um_assert_full(x) assert(x)
#else
#define um_assert_full(x) ((void)0)
#endif

#endif
