/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* iolat_bpf.h - what iolat.bpf.c and iolat_tracer.c tell each other. */
#ifndef BENCH_IOLAT_BPF_H
#define BENCH_IOLAT_BPF_H

#include <linux/types.h>

/* Numbers of system calls from here on are not traced. */
#define IOLAT_CALLS 512

struct iolat_start {
	__u64 ns;
	__u32 op;
	__u32 pad;
};

/* Calls of operation @op that took 2^bucket to 2^(bucket + 1) - 1 ns. */
struct iolat_bucket {
	__u32 op;
	__u32 bucket;
};

#endif
