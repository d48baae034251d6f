/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* threads.h - threads that start together, and processes that are waited for. */
#ifndef TEST_THREADS_H
#define TEST_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TEAM_MAX 64

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* How often a racing thread does its thing: sanitizers are slower by a factor. */
#define SCALED(n) (SANITIZED ? (n) / 40 : (n))

struct team {
	int n;
	void (*fn)(int index, void *arg);
	void *arg;
	pthread_barrier_t start_line;
	pthread_t thread[TEAM_MAX];
	struct member {
		struct team *team;
		int index;
	} member[TEAM_MAX];
};

/* n threads, thread i on the i-th CPU that may be used, released together. */
void team_start(struct team *t, int n, void (*fn)(int index, void *arg), void *arg);
void team_join(struct team *t);
void run_team(int n, void (*fn)(int index, void *arg), void *arg);

void pin_to(int index);
int usable_cpus(void);

/* A child that runs fn and exits 0; failed checks in it are its exit status. */
pid_t spawn(void (*fn)(void *arg), void *arg);
void reap(pid_t pid); /* the check is that it exited 0 */
void run_child(void (*fn)(void *arg), void *arg);

/* memory that children share with their parent, zeroed */
void *shared_memory(size_t size);

void sleep_us(unsigned int us);
void wait_for(const uint64_t *word, uint64_t at_least); /* that others store() to */
uint64_t now_ns(void);

/* Words that threads share in a test, and words of values that references show. */
static inline uint64_t load(const void *p)
{
	return __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE);
}

static inline void store(void *p, uint64_t v)
{
	__atomic_store_n((uint64_t *)p, v, __ATOMIC_RELEASE);
}

static inline uint64_t add(void *p, uint64_t v)
{
	return __atomic_add_fetch((uint64_t *)p, v, __ATOMIC_ACQ_REL);
}

#endif
