/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * bench_htab.c - look-ups and updates, one key at a time, in a map that is full.
 *
 * Each thread has a stream of keys for each case, made beforehand and the same
 * for every back end. Threads read any key, but write keys of their own only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "keys.h"

/* At least so many picks, and twice the map's keys, as far as memory allows. */
#define STREAM_LEAST (1U << 20)
#define STREAM_BYTES (128ULL << 20)
#define STREAMS_BYTES (1ULL << 30)

/* The streams of a combination: thread t of case k has number k * threads + t. */
struct inputs {
	struct stream *streams;
	unsigned int nr;
};

/* What a thread changes while it measures, two lines apart from the others'. */
struct worker {
	struct slice slice;
	const struct stream *stream;
	bool surprised;
} __attribute__((aligned(128)));

/* One measurement. */
struct job {
	const struct backend *impl;
	void *map;
	enum bench_op op;
	struct worker *workers;
	char *values;
};

static void discard(void *inputs)
{
	struct inputs *in = inputs;
	unsigned int i;

	if (!in)
		return;
	for (i = 0; in->streams && i < in->nr; i++)
		free(in->streams[i].keys);
	free(in->streams);
	free(in);
}

/* A power of two, so that batches divide it. */
static uint32_t stream_length(const struct conf *conf, unsigned int nr_streams)
{
	const uint64_t stride = (conf->key_size + 7) & ~7U;
	uint64_t most = STREAMS_BYTES / nr_streams, nr = STREAM_LEAST;

	if (most > STREAM_BYTES)
		most = STREAM_BYTES;
	while (nr < 2ULL * conf->entries)
		nr *= 2;
	while (nr > BATCH && nr * stride > most)
		nr /= 2;
	return (uint32_t)nr;
}

/* The numbers that a thread picks from: of keys in the map, or of others. */
static void stream_range(const struct conf *conf, enum bench_op op, uint32_t thread,
			 uint64_t *first, uint64_t *nr)
{
	const uint64_t n = conf->entries;
	const bool absent = op == OP_MISS || op == OP_REFUSED;
	const bool shared = op == OP_HIT || op == OP_MISS;
	const uint64_t begin = shared ? 0 : n * thread / conf->threads;
	const uint64_t end = shared ? n : n * (thread + 1) / conf->threads;

	*first = begin + (absent ? n : 0);
	*nr = end - begin;
}

static int make_stream(struct stream *stream, const struct conf *conf, enum bench_op op,
		       uint32_t thread, uint32_t nr)
{
	struct picker picker;
	uint64_t first, range;
	uint32_t i;

	stream->nr = nr;
	stream->stride = (conf->key_size + 7) & ~7U;
	stream->keys = aligned_alloc(64, (size_t)nr * stream->stride);
	if (!stream->keys)
		return -1;
	memset(stream->keys, 0, (size_t)nr * stream->stride);
	stream_range(conf, op, thread, &first, &range);
	picker_init(&picker, &conf->dist, first, range, ((uint64_t)op << 32) + thread);
	for (i = 0; i < nr; i++)
		key_make(picker_next(&picker), conf->key_size,
			 stream->keys + (size_t)i * stream->stride);
	return 0;
}

static int prepare(const struct bench *bench, const struct conf *conf, void **inputs,
		   struct why *why)
{
	struct inputs *in = calloc(1, sizeof(*in));
	unsigned int i;

	if (!in)
		goto nomem;
	in->nr = bench->nr_cases * conf->threads;
	in->streams = calloc(in->nr, sizeof(*in->streams));
	if (!in->streams)
		goto nomem;
	for (i = 0; i < in->nr; i++) {
		if (make_stream(&in->streams[i], conf, bench->cases[i / conf->threads].op,
				i % conf->threads, stream_length(conf, in->nr)))
			goto nomem;
	}
	*inputs = in;
	return 0;
nomem:
	discard(in);
	why_set(why, "no memory for the keys");
	return -1;
}

/* Keys 0 to entries - 1, in the order of their numbers. */
static int fill(const struct backend *impl, void *map, const struct conf *conf, struct why *why)
{
	const uint32_t stride = (conf->key_size + 7) & ~7U;
	char *keys = calloc(BATCH, stride);
	char *value = calloc(1, conf->value_size + 8);
	struct slice slice = { .keys = keys, .stride = stride, .value = value };
	uint32_t first, i;
	int ret = 0;

	if (!keys || !value) {
		why_set(why, "no memory for the keys");
		ret = -1;
	}
	for (first = 0; !ret && first < conf->entries; first += slice.nr) {
		slice.nr = conf->entries - first < BATCH ? conf->entries - first : BATCH;
		for (i = 0; i < slice.nr; i++)
			key_make(first + i, conf->key_size, keys + (size_t)i * stride);
		ret = impl->fill(map, &slice, why);
	}
	free(keys);
	free(value);
	return ret;
}

static int setup(struct unit *unit, struct why *why)
{
	const struct inputs *in = unit->inputs;
	const struct backend *impl = unit->impl;

	if (impl->create(unit->conf, in->streams, in->nr, &unit->state, why))
		return -1;
	if (fill(impl, unit->state, unit->conf, why)) {
		impl->destroy(unit->state);
		return -1;
	}
	return 0;
}

static void teardown(struct unit *unit)
{
	unit->impl->destroy(unit->state);
}

/* The next slice of the thread's stream; round and round. */
static struct slice *next_slice(struct worker *w)
{
	struct slice *slice = &w->slice;

	slice->pos = (slice->pos + slice->nr) & (w->stream->nr - 1);
	slice->keys = w->stream->keys + (size_t)slice->pos * slice->stride;
	return slice;
}

static int64_t produce(void *ctx, uint32_t nr)
{
	const struct job *job = ctx;
	struct worker *w = &job->workers[nr];
	int ret = job->impl->batch(job->map, job->op, next_slice(w));

	if (unlikely(ret)) {
		w->surprised = ret > 0;
		return ret < 0 ? ret : -EPROTO;
	}
	return BATCH;
}

static int64_t produce_empty(void *ctx, uint32_t nr)
{
	const struct job *job = ctx;
	int ret = job->impl->empty(job->map, next_slice(&job->workers[nr]));

	return ret ? ret : BATCH;
}

static int make_workers(struct job *job, const struct unit *unit, unsigned int nr_case)
{
	const struct conf *conf = unit->conf;
	const struct inputs *in = unit->inputs;
	const size_t value_room = (conf->value_size + 127) & ~127ULL;
	uint32_t t;

	job->workers = aligned_alloc(128, conf->threads * sizeof(*job->workers));
	job->values = aligned_alloc(128, conf->threads * value_room);
	if (!job->workers || !job->values)
		return -1;
	memset(job->values, 0, conf->threads * value_room);
	for (t = 0; t < conf->threads; t++) {
		const uint32_t nr = nr_case * conf->threads + t;

		job->workers[t] = (struct worker){
			.stream = &in->streams[nr],
			.slice = { .stride = in->streams[nr].stride,
				   .nr = BATCH,
				   .stream = nr,
				   .thread = t,
				   .value = job->values + t * value_room },
		};
	}
	return 0;
}

static void say_why(const struct job *job, uint32_t threads, int err, struct why *why)
{
	uint32_t t;

	why_set(why, "%s", strerror(-err));
	for (t = 0; t < threads; t++) {
		if (job->workers[t].surprised)
			why_set(why, "an operation succeeded that cannot: the map is not what the "
				     "benchmark made it");
	}
}

/*
 * The time of one operation of all threads together; -1 if it is not above 0.
 * The empty loop's part is taken from the time on a CPU, which is the same
 * whether a thread had to wait for one or not.
 */
static double together(const struct op_time *loop, const struct op_time *empty, uint32_t threads)
{
	double rate = 0;
	uint32_t t;

	for (t = 0; t < threads; t++) {
		if (!(loop[t].cpu > empty[t].cpu))
			return -1;
		rate += 1 / (loop[t].wall * (1 - empty[t].cpu / loop[t].cpu));
	}
	return 1 / rate;
}

/*
 * An empty loop, where there is one, takes its turn right before the loop it is
 * taken off from, for a quarter of the time.
 */
static int run_job(struct job *job, const struct unit *unit, double warmup, double duration,
		   struct op_time *loop, struct op_time *empty)
{
	struct load load = {
		.ctx = job,
		.threads = unit->conf->threads,
		.pin = unit->opts->pin,
	};
	int err;

	if (unit->impl->empty) {
		load.producer = produce_empty;
		load.warmup = warmup / 4;
		load.duration = duration / 4;
		err = run_load(&load, empty);
		if (err)
			return err;
	}
	load.producer = produce;
	load.warmup = warmup;
	load.duration = duration;
	return run_load(&load, loop);
}

static int measure(struct unit *unit, unsigned int nr_case, double warmup, double duration,
		   double *value, struct why *why)
{
	const uint32_t threads = unit->conf->threads;
	struct job job = {
		.impl = unit->impl,
		.map = unit->state,
		.op = unit->bench->cases[nr_case].op,
	};
	struct op_time *loop = calloc(threads, sizeof(*loop));
	struct op_time *empty = calloc(threads, sizeof(*empty));
	int err = -ENOMEM;

	if (loop && empty && !make_workers(&job, unit, nr_case))
		err = run_job(&job, unit, warmup, duration, loop, empty);
	if (err) {
		say_why(&job, job.workers ? threads : 0, err, why);
	} else {
		*value = together(loop, empty, threads);
		if (*value < 0) {
			why_set(why, "the empty loop took longer than the loop, give a longer -d");
			err = -ERANGE;
		}
	}
	free(job.workers);
	free(job.values);
	free(loop);
	free(empty);
	return err ? -1 : 0;
}

static int validate(const struct conf *conf, struct why *why)
{
	if (conf->entries < conf->threads) {
		why_set(why,
			"each of the %u threads needs a key of its own, give --entries %u or "
			"more",
			conf->threads, conf->threads);
		return -1;
	}
	if (conf->key_size < 8 && 2ULL * conf->entries > 1ULL << (8 * conf->key_size)) {
		why_set(why,
			"keys of %u bytes are too few for %u in the map and as many outside, "
			"give a larger --key or fewer --entries",
			conf->key_size, conf->entries);
		return -1;
	}
	return 0;
}

static const struct backend *const readers[] = {
	&impl_usermap,
	&impl_kernel,
	&impl_kernel_syscall,
};

static const struct backend *const writers[] = {
	&impl_usermap,
	&impl_kernel,
	&impl_kernel_syscall,
	&impl_table_lock,
};

static const struct bench_case lookup_cases[] = {
	{ .name = "hit", .op = OP_HIT },
	{ .name = "miss", .op = OP_MISS },
};

static const struct bench_case update_cases[] = {
	{ .name = "existing", .op = OP_UPDATE },
};

static const struct bench_case full_update_cases[] = {
	{ .name = "refused", .op = OP_REFUSED },
};

/* Many short turns: the machine seldom changes its pace within one. */
#define HTAB_BENCH                                                                                 \
	.unit = "ns/op", .conf = { .entries = 1048576, .key_size = 8, .value_size = 8 },           \
	.warmup = 0.02, .duration = 0.05, .repeat = 31, .validate = validate, .prepare = prepare,  \
	.discard = discard, .setup = setup, .teardown = teardown, .measure = measure

const struct bench bench_htab_lookup = {
	.name = "htab-lookup",
	.operation = "one look-up that copies the value out",
	.cases = lookup_cases,
	.nr_cases = ARRAY_SIZE(lookup_cases),
	.impls = readers,
	.nr_impls = ARRAY_SIZE(readers),
	HTAB_BENCH,
};

const struct bench bench_htab_update = {
	.name = "htab-update",
	.operation = "one update of a key that is there; each thread its own keys",
	.cases = update_cases,
	.nr_cases = ARRAY_SIZE(update_cases),
	.impls = writers,
	.nr_impls = ARRAY_SIZE(writers),
	HTAB_BENCH,
};

const struct bench bench_htab_full_update = {
	.name = "htab-full-update",
	.operation = "one insert of a new key into a full map",
	.cases = full_update_cases,
	.nr_cases = ARRAY_SIZE(full_update_cases),
	.impls = writers,
	.nr_impls = ARRAY_SIZE(writers),
	HTAB_BENCH,
};
