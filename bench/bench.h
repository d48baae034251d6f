/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * bench.h - what a benchmark is, what a back end is, and what the runner does
 * for both.
 *
 * A benchmark is one struct bench in the table of main.c, a back end one struct
 * backend that a benchmark lists. The runner (run.c) owns warm-up, duration,
 * threads, pinning, turns and statistics; a benchmark owns its operations.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "options.h"
#include "stats.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define unlikely(x) __builtin_expect(!!(x), 0)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Operations between two looks at the clock. */
#define BATCH 4096

/* One sentence on why something cannot be done, without a final stop. */
struct why {
	char text[512];
};

__attribute__((format(printf, 2, 3))) void why_set(struct why *why, const char *fmt, ...);

/*
 * struct conf - one combination of -p, --cpus and --entries, with the sizes
 * @size:    max_entries
 * @entries: how many of them are in
 */
struct conf {
	uint32_t threads;
	uint32_t nr_cpus;
	uint32_t size;
	uint32_t entries;
	uint32_t key_size;
	uint32_t value_size;
	struct dist dist;
};

/*
 * enum bench_op - what a map's back end does with one batch of keys
 * @OP_HIT:     copy the value of a key that is there
 * @OP_MISS:    look for a key that is not
 * @OP_UPDATE:  a new value for a key that is there
 * @OP_REFUSED: insert a key that is not there into a full map
 */
enum bench_op {
	OP_HIT,
	OP_MISS,
	OP_UPDATE,
	OP_REFUSED,
};

#define OP_BIT(op) (1U << (op))
#define OPS_READ (OP_BIT(OP_HIT) | OP_BIT(OP_MISS))
#define OPS_WRITE (OP_BIT(OP_UPDATE) | OP_BIT(OP_REFUSED))

/*
 * struct stream - keys in the order in which one thread uses them, made before
 * the clock starts
 * @keys:   nr keys, stride bytes apart, 8-byte aligned
 * @nr:     a power of two, at least BATCH
 * @stride: key_size rounded up to 8
 */
struct stream {
	char *keys;
	uint32_t nr;
	uint32_t stride;
};

/*
 * struct slice - the part of a stream that one batch uses
 * @keys:   first key
 * @stride: bytes from one to the next
 * @nr:     how many; they do not run over the end of the stream
 * @stream: the stream's number among those given to create()
 * @pos:    where in the stream the slice begins
 * @thread: the calling thread, from 0
 * @value:  this thread's buffer, value_size bytes and at least 8, 64-byte aligned
 */
struct slice {
	const char *keys;
	uint32_t stride;
	uint32_t nr;
	uint32_t stream;
	uint32_t pos;
	uint32_t thread;
	void *value;
};

/*
 * struct backend - one way to do a benchmark's work
 * @name:     as --impl takes it
 * @about:    what it is, in a few words
 * @absent:   not NULL: why this build has none
 * @ops:      OP_BIT() of what it can do; 0 for a back end of no map
 * @any_cpus: the map's nr_cpus can be chosen
 * @probe:    NULL, or find out whether it can run here
 * @create:   an empty map; streams are there for a back end that must copy
 *            them to where it works
 * @fill:     insert the slice's keys
 * @batch:    do the operation for each key of the slice; 0: all ended as the
 *            operation is meant to; else, stopping at the first that did not,
 *            its negative errno, or 1: it succeeded, but should not have
 * @empty:    NULL, or the same walk over the slice without the operation, for
 *            a back end whose loop costs something of its own: subtracted;
 *            answers as batch()
 *
 * probe(), create() and fill() answer 0, or -1 after why_set().
 */
struct backend {
	const char *name;
	const char *about;
	const char *absent;
	unsigned int ops;
	bool any_cpus;
	int (*probe)(struct why *why);
	int (*create)(const struct conf *conf, const struct stream *streams,
		      unsigned int nr_streams, void **map, struct why *why);
	void (*destroy)(void *map);
	int (*fill)(void *map, const struct slice *slice, struct why *why);
	int (*batch)(void *map, enum bench_op op, const struct slice *slice);
	int (*empty)(void *map, const struct slice *slice);
};

/*
 * struct bench_case - what a benchmark measures apart
 * @name: NULL: that of the back end
 * @op:   what a map's back end does in it
 */
struct bench_case {
	const char *name;
	enum bench_op op;
};

/*
 * struct unit - a back end at one combination, set up for the whole run
 * @inputs: what prepare() made, shared by all back ends of the combination
 * @state:  what setup() made
 * @ready:  setup() succeeded
 */
struct unit {
	const struct bench *bench;
	const struct backend *impl;
	const struct conf *conf;
	const struct options *opts;
	void *inputs;
	void *state;
	bool ready;
};

/*
 * struct cell - one row: a case of a unit, with what was measured
 * @nr_case: place in the benchmark's cases; likewise the next two in theirs
 * @failed:  has no samples
 * @samples: the value of each turn
 */
struct cell {
	struct unit *unit;
	const struct bench_case *bcase;
	unsigned int nr_case;
	unsigned int nr_conf;
	unsigned int nr_impl;
	bool failed;
	double *samples;
};

struct bench;

/*
 * struct result - a run of one benchmark
 * @confs:  combinations
 * @inputs: what prepare() made for each of them
 * @impls:  back ends that can run here, in the order of --impl
 * @units:  nr_confs * nr_impls, the combination is the outer one
 * @cells:  ordered by case, combination, back end
 */
struct result {
	const struct bench *bench;
	const struct options *opts;
	struct conf *confs;
	void **inputs;
	unsigned int nr_confs;
	const struct backend *impls[LIST_MAX];
	unsigned int nr_impls;
	struct unit *units;
	struct cell *cells;
	double *samples;
	unsigned int nr_cells;
	unsigned int repeat;
	double warmup;
	double duration;
};

/*
 * struct bench - a benchmark
 * @operation: what one operation is
 * @conf:      its own combination where no option says otherwise; threads 0: 1,
 *             nr_cpus 0: the machine's possible CPUs
 * @no_map:    works on no map: --cpus, --entries, sizes and --dist do not apply
 * @warmup:    seconds, as -w
 * @duration:  seconds, as -d
 * @repeat:    turns, as --repeat
 * @validate:  NULL, or refuse a combination that makes no sense
 * @prepare:   NULL, or make what all back ends of a combination share
 * @discard:   frees that
 * @setup:     NULL, or make state for one back end at one combination
 * @teardown:  frees that
 * @measure:   one case, once: warm up, run, give the value in @unit
 * @report:    NULL, or lines of its own under the table
 */
struct bench {
	const char *name;
	const char *operation;
	const char *unit;
	const struct bench_case *cases;
	unsigned int nr_cases;
	const struct backend *const *impls;
	unsigned int nr_impls;
	struct conf conf;
	bool no_map;
	double warmup;
	double duration;
	uint32_t repeat;
	int (*validate)(const struct conf *conf, struct why *why);
	int (*prepare)(const struct bench *bench, const struct conf *conf, void **inputs,
		       struct why *why);
	void (*discard)(void *inputs);
	int (*setup)(struct unit *unit, struct why *why);
	void (*teardown)(struct unit *unit);
	int (*measure)(struct unit *unit, unsigned int nr_case, double warmup, double duration,
		       double *value, struct why *why);
	void (*report)(const struct result *res, FILE *out);
};

extern const struct bench bench_htab_lookup;
extern const struct bench bench_htab_update;
extern const struct bench bench_htab_full_update;
extern const struct bench bench_iolat;

extern const struct backend impl_usermap;
extern const struct backend impl_kernel;
extern const struct backend impl_kernel_syscall;
extern const struct backend impl_table_lock;

/* load.c */

/*
 * struct load - threads that do the same until the time is over
 * @producer: do about BATCH operations as thread @nr; answers how many, or
 *            a negative errno, which ends the measurement
 */
struct load {
	int64_t (*producer)(void *ctx, uint32_t nr);
	void *ctx;
	uint32_t threads;
	bool pin;
	double warmup;
	double duration;
};

/*
 * struct op_time - what one operation of a thread took, in ns
 * @wall: by the clock
 * @cpu:  of the thread's own time on a CPU, so without its waiting for one
 */
struct op_time {
	double wall;
	double cpu;
};

/* Run @load; times[i] is that of thread i. 0, or a negative errno. */
int run_load(const struct load *load, struct op_time *times);

/* plan.c and run.c */

/*
 * Decide the rows of a benchmark; what is left out is said on stderr. Answers 0,
 * 1 if a back end asked for by name cannot run here, 2 for options that do not
 * fit. *res is to be given to result_free() in any case.
 */
int plan_bench(const struct bench *bench, const struct options *opts, struct result *res);

/* Measure the rows in turns. Answers 0, or 1 if some measurement failed. */
int run_bench(struct result *res);
void result_free(struct result *res);

/* A case's name in the row of a back end. */
const char *cell_case(const struct cell *cell);

/*
 * The cell to compare with, that of @cell itself if there is no other: of the
 * same case and combination the first back end, or of the same case and back
 * end the first combination. Failed ones do not count.
 */
const struct cell *cell_first_impl(const struct result *res, const struct cell *cell);
const struct cell *cell_first_conf(const struct result *res, const struct cell *cell);

/* machine.c: CPUs that this process may use. */
uint32_t usable_cpus(void);

/* Pin the calling thread to the n-th of the CPUs it may use, counted round. */
void pin_thread(uint32_t nr);

#endif
