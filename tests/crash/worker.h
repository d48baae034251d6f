/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * worker.h - processes that change keys of their own in one map and write down,
 * in memory that outlives them, what they have done and what they are doing. So
 * it is known what has to be in the map after any of them is killed.
 */
#ifndef TEST_WORKER_H
#define TEST_WORKER_H

#include <signal.h>
#include "maps.h"
#include "rng.h"
#include "threads.h"

#define ABSENT (~0ull)
#define KEYS_EACH 40
#define WORKERS_MAX 8

/* One worker's keys: number KEYS_EACH * its index and on. */
struct journal {
	uint64_t value[KEYS_EACH]; /* as of the last completed call; or ABSENT */
	uint64_t doing;		   /* index of the key being changed + 1; 0: none */
	uint64_t before, after;	   /* of that key */
	uint64_t calls;		   /* completed */
	uint64_t refused;	   /* of them, how many for want of a place */
	uint64_t timeouts;	   /* only where they are allowed */
	uint64_t longest_ns;
	uint64_t stop;		/* stored by the parent: end, please */
	uint64_t pause, paused; /* likewise: do nothing for a while */
};

struct crew {
	struct shape shape; /* in a file */
	uint64_t seed;
	bool may_time_out;
	bool never_full; /* there is room for all keys */
	struct journal journal[WORKERS_MAX];
};

struct crew *new_crew(const struct shape *s, uint64_t seed);

/* Starts worker i; each start has a life of its own in random numbers. */
pid_t start_worker(struct crew *c, int i, uint64_t life);
void kill_worker(pid_t pid);
void pause_worker(struct crew *c, int i);
void resume_worker(struct crew *c, int i);

/*
 * With workers 0 .. n - 1 dead or paused: the map holds what their journals say,
 * counts agree, and it takes exactly what is missing to be full. Settles what a
 * dead one was doing.
 */
void check_map(struct crew *c, struct um_map *map, int n);

#endif
