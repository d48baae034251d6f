/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * main.c - runs a fuzz target without a fuzzer: over the files given, then over
 * -n COUNT inputs of random bytes that follow from -s SEED. Inputs run in child
 * processes under a watchdog; the input that fails is named and can be run alone
 * with -i INDEX, and kept in a file with -o FILE.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fuzz.h"
#include "rng.h"

#define INPUT_MAX 4096
#define BATCH 100
#define WATCHDOG_S 60

static uint64_t seed = 1;

static size_t random_input(uint64_t index, uint8_t *buf)
{
	struct rng r = rng_new(seed, index);
	size_t size = 8 * rng_below(&r, INPUT_MAX / 8), i;

	/* short ones are as interesting as long ones */
	if (index % 2)
		size = size % 512;
	for (i = 0; i < size; i += 8) {
		uint64_t word = rng_next(&r);

		memcpy(buf + i, &word, 8);
	}
	return size;
}

/* Runs inputs first .. last - 1 in a child; returns its wait status. */
static int run_batch(uint64_t first, uint64_t last)
{
	static uint8_t buf[INPUT_MAX];
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(WATCHDOG_S);
		for (; first < last; first++) {
			size_t size = random_input(first, buf);

			LLVMFuzzerTestOneInput(buf, size);
		}
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork or wait");
		exit(99);
	}
	return status;
}

static int run_random(uint64_t n)
{
	uint64_t first, i;
	int status;

	for (first = 0; first < n; first += BATCH) {
		uint64_t last = first + BATCH < n ? first + BATCH : n;

		if (!run_batch(first, last))
			continue;
		for (i = first; i < last; i++) {
			status = run_batch(i, i + 1);
			if (status) {
				printf("FAIL  input %llu of seed %llu: %s\n", (unsigned long long)i,
				       (unsigned long long)seed,
				       WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
							   : "it exits");
				return 1;
			}
		}
		printf("FAIL  inputs %llu to %llu of seed %llu, together\n",
		       (unsigned long long)first, (unsigned long long)last - 1,
		       (unsigned long long)seed);
		return 1;
	}
	return 0;
}

static void run_file(const char *path)
{
	static uint8_t buf[1 << 20];
	FILE *f = fopen(path, "r");
	size_t size;

	if (!f) {
		fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
		exit(99);
	}
	size = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	alarm(WATCHDOG_S);
	LLVMFuzzerTestOneInput(buf, size);
	alarm(0);
}

static void write_input(const char *path, uint64_t index)
{
	static uint8_t buf[INPUT_MAX];
	size_t size = random_input(index, buf);
	FILE *f = fopen(path, "w");

	if (!f || fwrite(buf, 1, size, f) != size || fclose(f)) {
		fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
		exit(99);
	}
}

int main(int argc, char **argv)
{
	static uint8_t buf[INPUT_MAX];
	const char *keep = NULL;
	long long index = -1;
	uint64_t n = 0;
	int c;

	while ((c = getopt(argc, argv, "s:n:i:o:")) != -1) {
		if (c == 's') {
			seed = strtoull(optarg, NULL, 0);
		} else if (c == 'n') {
			n = strtoull(optarg, NULL, 0);
		} else if (c == 'i') {
			index = strtoll(optarg, NULL, 0);
		} else if (c == 'o') {
			keep = optarg;
		} else {
			fprintf(stderr,
				"usage: %s [-s SEED] [-n COUNT | -i INDEX [-o FILE]] "
				"[FILE...]\n",
				argv[0]);
			return 99;
		}
	}
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout); /* a run that is killed has said its seed */
	for (; optind < argc; optind++)
		run_file(argv[optind]);
	if (index >= 0 && keep)
		write_input(keep, (uint64_t)index);
	if (index >= 0)
		LLVMFuzzerTestOneInput(buf, random_input((uint64_t)index, buf));
	return run_random(n);
}
