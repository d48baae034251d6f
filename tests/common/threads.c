/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* threads.c - threads that start together, and processes that are waited for. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "check.h"
#include "threads.h"

static cpu_set_t usable;

/* Before anything is pinned: threads inherit what their creator is pinned to. */
__attribute__((constructor)) static void note_usable(void)
{
	if (sched_getaffinity(0, sizeof(usable), &usable))
		CPU_SET(0, &usable);
}

int usable_cpus(void)
{
	return CPU_COUNT(&usable);
}

void pin_to(int index)
{
	cpu_set_t one;
	int cpu;

	index %= usable_cpus();
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &usable) && index-- == 0)
			break;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *member_main(void *p)
{
	struct member *m = p;

	pin_to(m->index);
	pthread_barrier_wait(&m->team->start_line);
	m->team->fn(m->index, m->team->arg);
	return NULL;
}

void team_start(struct team *t, int n, void (*fn)(int index, void *arg), void *arg)
{
	int i;

	check(n <= TEAM_MAX);
	t->n = n;
	t->fn = fn;
	t->arg = arg;
	check(!pthread_barrier_init(&t->start_line, NULL, (unsigned int)n));
	for (i = 0; i < n; i++) {
		t->member[i].team = t;
		t->member[i].index = i;
		check(!pthread_create(&t->thread[i], NULL, member_main, &t->member[i]));
	}
}

void team_join(struct team *t)
{
	int i;

	for (i = 0; i < t->n; i++)
		pthread_join(t->thread[i], NULL);
	pthread_barrier_destroy(&t->start_line);
}

void run_team(int n, void (*fn)(int index, void *arg), void *arg)
{
	struct team t;

	team_start(&t, n, fn, arg);
	team_join(&t);
}

pid_t spawn(void (*fn)(void *arg), void *arg)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	check_msg(pid >= 0, "fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		fn(arg);
		fflush(NULL);
		_exit(0);
	}
	return pid;
}

void reap(pid_t pid)
{
	int status;

	check_eq(waitpid(pid, &status, 0), pid);
	check_msg(!WIFSIGNALED(status), "a child died of signal %d", WTERMSIG(status));
	check_msg(!WEXITSTATUS(status), "a child failed, exit status %d", WEXITSTATUS(status));
}

void run_child(void (*fn)(void *arg), void *arg)
{
	reap(spawn(fn, arg));
}

void *shared_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED);
	return p;
}

void sleep_us(unsigned int us)
{
	struct timespec t = { us / 1000000, (long)(us % 1000000) * 1000 };

	nanosleep(&t, NULL);
}

void wait_for(const uint64_t *word, uint64_t at_least)
{
	uint64_t start = now_ns();

	while (load(word) < at_least) {
		check_msg(now_ns() - start < 60000000000u, "the other side does not come");
		sleep_us(100);
	}
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
