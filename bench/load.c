/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* load.c - threads that do the same work until the time is over. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

/*
 * struct run - what the threads of one load share
 * @gate:      held until every thread exists
 * @cancelled: not every thread could be made; under @gate
 * @start:     passed by all at once, between warm-up and measurement
 */
struct run {
	const struct load *load;
	pthread_mutex_t gate;
	bool cancelled;
	pthread_barrier_t start;
};

/* Two lines apart from the next thread's, which writes its own. */
struct thread {
	pthread_t id;
	struct run *run;
	struct op_time time;
	uint32_t nr;
	int err;
} __attribute__((aligned(128)));

static double now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* Work for @seconds; *time is what an operation took. */
static int work(const struct load *load, uint32_t nr, double seconds, struct op_time *time)
{
	const double cpu_start = now_ns(CLOCK_THREAD_CPUTIME_ID);
	const double start = now_ns(CLOCK_MONOTONIC);
	uint64_t ops = 0;
	int64_t done;
	double now;

	do {
		done = load->producer(load->ctx, nr);
		if (done < 0)
			return (int)done;
		ops += (uint64_t)done;
		now = now_ns(CLOCK_MONOTONIC);
	} while (now - start < seconds * 1e9);
	time->wall = (now - start) / (double)ops;
	time->cpu = (now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_start) / (double)ops;
	return 0;
}

static void *load_thread(void *arg)
{
	struct thread *t = arg;
	struct run *run = t->run;
	bool cancelled;

	pthread_mutex_lock(&run->gate);
	cancelled = run->cancelled;
	pthread_mutex_unlock(&run->gate);
	if (cancelled)
		return NULL;

	if (run->load->pin)
		pin_thread(t->nr);
	if (run->load->warmup > 0)
		t->err = work(run->load, t->nr, run->load->warmup, &t->time);
	/* Whoever failed comes here too, or the others would wait for ever. */
	pthread_barrier_wait(&run->start);
	if (!t->err)
		t->err = work(run->load, t->nr, run->load->duration, &t->time);
	return NULL;
}

/* Start the threads and wait for their end. 0, or a negative errno. */
static int run_threads(struct run *run, struct thread *threads)
{
	uint32_t made, i;
	int err = 0;

	pthread_mutex_lock(&run->gate);
	for (made = 0; made < run->load->threads; made++) {
		threads[made].run = run;
		threads[made].nr = made;
		err = -pthread_create(&threads[made].id, NULL, load_thread, &threads[made]);
		if (err)
			break;
	}
	run->cancelled = err != 0;
	pthread_mutex_unlock(&run->gate);

	for (i = 0; i < made; i++) {
		pthread_join(threads[i].id, NULL);
		if (!err)
			err = threads[i].err;
	}
	return err;
}

int run_load(const struct load *load, struct op_time *times)
{
	const size_t size = load->threads * sizeof(struct thread);
	struct run run = { .load = load, .gate = PTHREAD_MUTEX_INITIALIZER };
	struct thread *threads;
	uint32_t i;
	int err;

	threads = aligned_alloc(_Alignof(struct thread), size);
	if (!threads)
		return -ENOMEM;
	memset(threads, 0, size);
	err = -pthread_barrier_init(&run.start, NULL, load->threads);
	if (!err) {
		err = run_threads(&run, threads);
		pthread_barrier_destroy(&run.start);
	}
	for (i = 0; !err && i < load->threads; i++)
		times[i] = threads[i].time;
	free(threads);
	return err;
}
