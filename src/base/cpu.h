/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* cpu.h - which CPU this thread runs on, and how many there may be. */
#ifndef UM_CPU_H
#define UM_CPU_H

#include <sched.h>
#include <stdint.h>
#include <sys/rseq.h>
#include "base/compiler.h"

/*
 * A hint: the thread may be elsewhere by the time this returns. The kernel
 * keeps the number in the rseq area that glibc registers; where it could not,
 * the field is negative, and getcpu is asked.
 */
static __always_inline uint32_t um_cpu(void)
{
	const struct rseq *area =
		(const struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	int cpu = (int)*(const volatile uint32_t *)&area->cpu_id;

	if (unlikely(cpu < 0)) {
		cpu = sched_getcpu();
		if (cpu < 0)
			cpu = 0;
	}
	return (uint32_t)cpu;
}

/* The list of a map with @nr lists that is near this thread. */
static __always_inline uint32_t um_cpu_of(uint32_t nr)
{
	uint32_t cpu = um_cpu();

	return likely(cpu < nr) ? cpu : cpu % nr;
}

#endif
