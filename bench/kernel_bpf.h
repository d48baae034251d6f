/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* kernel_bpf.h - what kernel.bpf.c and impl_kernel.c tell each other. */
#ifndef BENCH_KERNEL_BPF_H
#define BENCH_KERNEL_BPF_H

#include <linux/types.h>

/* Constants of a loaded program; the kernel drops the branches they rule out. */
struct kernel_params {
	__u32 value_size;
	__u32 stride;
	__u32 mask; /* length of a stream less 1 */
};

/*
 * struct kernel_job - one run of a program, in and out
 * @want:  what each operation is to answer
 * @ret:   0, or what the one answered that did not; then the run stopped there
 * @value: the last value written; a sum of what was read, so that it is
 */
struct kernel_job {
	__u32 stream;
	__u32 pos;
	__u32 nr;
	__u32 thread;
	__s32 want;
	__s32 ret;
	__u64 value;
};

#endif
