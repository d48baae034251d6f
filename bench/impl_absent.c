/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* impl_absent.c - stands for the back ends that this build could not have. */
#include "iolat.h"

#ifndef HAVE_BPF

#define NO_BPF "this build has no BPF programs, install clang and libbpf-dev and build again"

const struct backend impl_kernel = {
	.name = "kernel",
	.about = "the kernel's map, used by a program in the kernel",
	.ops = OPS_READ | OPS_WRITE,
	.absent = NO_BPF,
};

const struct backend impl_kernel_syscall = {
	.name = "kernel-syscall",
	.about = "the kernel's map, a bpf(2) call for each operation",
	.ops = OPS_READ | OPS_WRITE,
	.absent = NO_BPF,
};

const struct iolat_impl iolat_kernel_bpf = {
	.base = {
		.name = "kernel-bpf",
		.about = "a BPF program on raw tracepoints, with the kernel's hash maps",
		.absent = NO_BPF,
	},
};

#endif
