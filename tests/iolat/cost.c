/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * cost.c - what a pread costs, to be run with and without usermap-iolat. Not a
 * test; docs/iolat.md says how to read it.
 *
 *   cost FILE [THREADS [PROCESSES]]
 *
 * Each thread reads 4 KiB at random places of FILE, for 20 times 50 ms of its
 * CPU time, and the nanoseconds a call took are printed, the best turn and the
 * median of all. CPU time, so that a busy machine does not spoil it all.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TURNS 20
#define TURN_S 0.05

static const char *path;
static double turns[256][TURNS];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *reads(void *arg)
{
	double *mine = arg;
	static __thread char buf[4096];
	int fd = open(path, O_RDONLY), i, turn;
	off_t blocks = fd < 0 ? 0 : lseek(fd, 0, SEEK_END) / (off_t)sizeof(buf);
	uint64_t seed = (uintptr_t)mine;

	if (blocks < 1)
		exit(1);
	for (turn = 0; turn < TURNS; turn++) {
		double start = now(), end;
		long calls = 0;

		do {
			for (i = 0; i < 1000; i++) {
				off_t at;

				seed = seed * 6364136223846793005 + 1442695040888963407;
				at = (off_t)((seed >> 32) * (uint64_t)blocks >> 32);
				if (pread(fd, buf, sizeof(buf), at * (off_t)sizeof(buf)) < 0)
					exit(1);
			}
			calls += 1000;
			end = now();
		} while (end - start < TURN_S);
		mine[turn] = (end - start) * 1e9 / (double)calls;
	}
	return NULL;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void measure(int threads)
{
	pthread_t t[256];
	double all[256 * TURNS];
	int i, n;

	for (i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, reads, turns[i]);
	for (n = i = 0; i < threads; i++) {
		int turn;

		pthread_join(t[i], NULL);
		for (turn = 0; turn < TURNS; turn++)
			all[n++] = turns[i][turn];
	}
	qsort(all, (size_t)n, sizeof(*all), ascending);
	printf("best %.0f median %.0f ns/call, %d threads\n", all[0], all[n / 2], threads);
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1, processes = argc > 3 ? atoi(argv[3]) : 1;

	if (argc < 2 || threads < 1 || threads > 256 || processes < 1) {
		fprintf(stderr, "cost FILE [THREADS [PROCESSES]]\n");
		return 2;
	}
	path = argv[1];
	while (--processes)
		if (fork() == 0)
			break;
	measure(threads);
	fflush(stdout);
	while (wait(NULL) > 0)
		;
	return 0;
}
