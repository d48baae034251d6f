/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* iolat.h - the ways to trace fio that the benchmark iolat compares. */
#ifndef BENCH_IOLAT_H
#define BENCH_IOLAT_H

#include "bench.h"

/*
 * struct iolat_impl - one way
 * @base:   create(), destroy() and probe() as for any back end, if there is
 *          something to set up
 * @tracer: NULL, or finds the program that fio is started under
 * @begin:  NULL, or from here on every file I/O call of the system is traced
 * @end:    ends that; *calls is how many were traced since begin()
 *
 * Functions answer 0, or -1 after why_set().
 */
struct iolat_impl {
	struct backend base;
	int (*tracer)(char *path, size_t size, struct why *why);
	int (*begin)(void *state, struct why *why);
	int (*end)(void *state, uint64_t *calls, struct why *why);
};

extern const struct iolat_impl iolat_kernel_bpf;

/* fio.c */

/*
 * struct fio - what runs of fio share
 * @data:   the file that it reads, on a tmpfs and without a name
 * @output: what it says
 */
struct fio {
	int data;
	int output;
};

/* Whether fio can be started here. */
int fio_probe(struct why *why);

int fio_open(struct fio *fio, struct why *why);
void fio_close(struct fio *fio);

/*
 * Run fio, under @tracer unless that is NULL, with @jobs jobs, and give the
 * reads a second of all together and how many there were.
 */
int fio_run(const struct fio *fio, const char *tracer, uint32_t jobs, double warmup,
	    double duration, double *iops, uint64_t *reads, struct why *why);

#endif
