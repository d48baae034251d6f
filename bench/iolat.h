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
 * struct fio - files that runs of fio share, without names
 * @data:   on a tmpfs, read by fio
 * @output: what fio measured
 * @report: what the tracer says
 */
struct fio {
	int data;
	int output;
	int report;
};

/*
 * struct fio_result - one run
 * @iops:   reads a second, of all jobs together
 * @reads:  how many, without those of the warm-up
 * @traced: calls that the tracer counted, if there was one
 */
struct fio_result {
	double iops;
	uint64_t reads;
	uint64_t traced;
};

/* Whether fio can be started here. */
int fio_probe(struct why *why);

int fio_open(struct fio *fio, struct why *why);
void fio_close(struct fio *fio);

/* Run fio with @jobs jobs, under the program @tracer unless that is NULL. */
int fio_run(const struct fio *fio, const char *tracer, uint32_t jobs, double warmup,
	    double duration, struct fio_result *result, struct why *why);

#endif
