/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* check.c - runs the tests of a program, each in a process of its own. */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "check.h"

#define SKIPPED 77
#define WATCHDOG_S 240 /* far above any test, also under a sanitizer */

uint64_t test_seed;

static char dir[64];
/* Then a failed check is an abort(), which debuggers and fuzzers look for. */
static bool in_process = true;

const char *test_dir(void)
{
	return dir;
}

const char *test_path(const char *name)
{
	static char buf[4][256];
	static int next;
	char *b = buf[next++ % 4];

	snprintf(b, sizeof(buf[0]), "%s/%s", dir, name);
	return b;
}

const char *errno_text(long err)
{
	static _Thread_local char buf[24];
	const char *name = err < 0 ? strerrorname_np((int)-err) : NULL;

	if (name)
		return name;
	snprintf(buf, sizeof(buf), "%ld", err);
	return buf;
}

void check_failed(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	flockfile(stderr);
	fprintf(stderr, "%s:%d: ", strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	fflush(NULL);
	if (in_process)
		abort();
	_exit(1);
}

void skip_test(const char *fmt, ...)
{
	va_list ap;

	fputs("skipped: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(SKIPPED);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void make_dir(void)
{
	snprintf(dir, sizeof(dir), "/dev/shm/usermap-test-XXXXXX");
	if (!mkdtemp(dir)) {
		fprintf(stderr, "cannot make %s: %s\n", dir, strerror(errno));
		exit(99);
	}
	setenv("USERMAP_DIR", dir, 1);
}

static void clear_dir(void)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Returns 0, SKIPPED or 1, and prints the line about this test. */
static int run_one(const struct test *t)
{
	struct timespec start, end;
	int status, result = 1;
	pid_t pid;

	mkdir(dir, 0700);
	fflush(NULL);
	clock_gettime(CLOCK_MONOTONIC, &start);
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(WATCHDOG_S);
		t->run();
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork or wait");
		exit(99);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	kill(-pid, SIGKILL); /* what the test has started and not ended */
	clear_dir();
	if (WIFSIGNALED(status))
		printf("FAIL  %s: killed by signal %d (%s)\n", t->name, WTERMSIG(status),
		       WTERMSIG(status) == SIGALRM ? "it hung" : strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == SKIPPED)
		printf("skip  %s\n", t->name), result = SKIPPED;
	else if (WEXITSTATUS(status))
		printf("FAIL  %s: exit status %d\n", t->name, WEXITSTATUS(status));
	else
		printf("ok    %s (%.2f s)\n", t->name,
		       (double)(end.tv_sec - start.tv_sec) +
			       (double)(end.tv_nsec - start.tv_nsec) / 1e9),
			result = 0;
	fflush(stdout);
	return result;
}

static bool chosen(const struct test *t, char **words)
{
	if (!*words)
		return true;
	for (; *words; words++)
		if (strstr(t->name, *words))
			return true;
	return false;
}

int run_tests(int argc, char **argv, const struct test *tests, size_t n)
{
	size_t i, ran = 0, skipped = 0, failed = 0;
	bool list = false;
	int c;

	in_process = false;
	if (getrandom(&test_seed, sizeof(test_seed), 0) != sizeof(test_seed))
		test_seed = (uint64_t)getpid();
	test_seed &= 0xffffffff; /* short enough to type */
	while ((c = getopt(argc, argv, "s:lx")) != -1) {
		if (c == 's') {
			test_seed = strtoull(optarg, NULL, 0);
		} else if (c == 'l') {
			list = true;
		} else if (c == 'x') {
			in_process = true;
		} else {
			fprintf(stderr, "usage: %s [-s SEED] [-l] [-x] [WORD...]\n", argv[0]);
			return 99;
		}
	}
	if (!list) {
		printf("seed %llu\n", (unsigned long long)test_seed);
		make_dir();
	}
	for (i = 0; i < n; i++) {
		int result = 0;

		if (!chosen(&tests[i], argv + optind))
			continue;
		if (list)
			puts(tests[i].name);
		else if (in_process)
			tests[i].run();
		else
			result = run_one(&tests[i]);
		ran++;
		skipped += result == SKIPPED;
		failed += result == 1;
	}
	if (!list)
		clear_dir();
	if (failed)
		return 1;
	return ran && ran == skipped ? SKIPPED : 0;
}
