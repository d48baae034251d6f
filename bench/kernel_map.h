/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* kernel_map.h - the kernel's hash map, for the back ends that reach it each their way. */
#ifndef BENCH_KERNEL_MAP_H
#define BENCH_KERNEL_MAP_H

#include "bench.h"

struct bpf_object;

/* Whether this process may make a hash map. 0, or -1 after why_set(). */
int kernel_map_probe(struct why *why);

/* Insert the slice's keys by bpf(2). 0, or -1 after why_set(). */
int kernel_map_fill(int fd, const struct slice *slice, struct why *why);

/*
 * Open an object that is part of this program. *obj is to be given to
 * bpf_object__close(). 0, or -1 after why_set().
 */
int bpf_embedded_open(const char *name, const char *begin, const char *end, struct bpf_object **obj,
		      struct why *why);

/* Load it; what libbpf has to say goes into why. 0, or -1. */
int bpf_embedded_load(struct bpf_object *obj, struct why *why);

#endif
