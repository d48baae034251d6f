/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* stop.c - a stopped process is alive: others lose time, and nothing else. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "check.h"
#include "worker.h"

enum { WORKERS = 3, ROUNDS = 200 };

static void stop(pid_t pid)
{
	int status;

	check(!kill(pid, SIGSTOP) && waitpid(pid, &status, WUNTRACED) == pid);
	check(WIFSTOPPED(status));
}

static void resume(pid_t pid)
{
	check(!kill(pid, SIGCONT));
}

/*
 * Worker 0 is stopped wherever it is; the others go on, at worst with -ETIMEDOUT.
 * When it goes on too, it ends its call as if nothing had been.
 */
static void stop_at_random_moments(const struct shape *s, uint64_t stream)
{
	struct crew *c = new_crew(s, test_seed + stream);
	struct rng r = rng_new(test_seed, stream);
	struct um_map *map = make_map(s);
	struct um_map_stats st = { .sz = sizeof(st) };
	uint64_t calls[WORKERS], timeouts = 0;
	pid_t pid[WORKERS];
	int round, i;

	c->may_time_out = true;
	c->never_full = s->max > WORKERS * KEYS_EACH;
	for (i = 0; i < WORKERS; i++)
		pid[i] = start_worker(c, i, 0);
	for (round = 0; round < ROUNDS; round++) {
		calls[0] = load(&c->journal[0].calls);
		wait_for(&c->journal[0].calls, calls[0] + 1);
		sleep_us(rng_below(&r, 1000));
		stop(pid[0]);
		for (i = 1; i < WORKERS; i++)
			calls[i] = load(&c->journal[i].calls);
		for (i = 1; i < WORKERS; i++)
			wait_for(&c->journal[i].calls, calls[i] + 10);
		resume(pid[0]);
	}
	for (i = 0; i < WORKERS; i++)
		store(&c->journal[i].stop, 1);
	for (i = 0; i < WORKERS; i++) {
		reap(pid[i]);
		timeouts += c->journal[i].timeouts;
	}
	check_map(c, map, WORKERS);
	check_ok(um_map_get_stats(map, &st));
	check_eq(st.recoveries, 0); /* nobody was taken for dead */
	fprintf(stderr, "%llu timeouts\n", (unsigned long long)timeouts);
	um_map_close(map);
	check_ok(um_map_unlink("map"));
}

static void a_stopped_process_costs_others_timeouts_at_worst(void)
{
	for (uint32_t i = 0; i < 2 * NR_MODES; i++) {
		struct shape s = { .value_size = i / NR_MODES ? 48 : 8,
				   .max = i / NR_MODES ? 60 : 130,
				   .map_flags = i % NR_MODES,
				   .lock_timeout_ms = 5,
				   .backing = IN_FILE };

		stop_at_random_moments(&s, i);
	}
}

/* One dies, one is stopped: what the first left may have to wait for the second. */
static void kill_one_and_stop_another(const struct shape *s, uint64_t stream)
{
	struct crew *c = new_crew(s, test_seed + stream);
	struct rng r = rng_new(test_seed, stream);
	struct um_map *map = make_map(s);
	pid_t pid[WORKERS];
	uint64_t calls;
	int round, i;

	c->may_time_out = true;
	for (i = 1; i < WORKERS; i++)
		pid[i] = start_worker(c, i, 0);
	for (round = 1; round <= 40; round++) {
		pid[0] = start_worker(c, 0, (uint64_t)round);
		wait_for(&c->journal[0].calls, 1);
		sleep_us(rng_below(&r, 1000));
		kill_worker(pid[0]);
		stop(pid[1]);
		calls = load(&c->journal[2].calls);
		wait_for(&c->journal[2].calls, calls + 5);
		resume(pid[1]);
		for (i = 1; i < WORKERS; i++)
			pause_worker(c, i);
		check_map(c, map, WORKERS);
		for (i = 1; i < WORKERS; i++)
			resume_worker(c, i);
	}
	for (i = 1; i < WORKERS; i++) {
		store(&c->journal[i].stop, 1);
		reap(pid[i]);
	}
	check_map(c, map, WORKERS);
	um_map_close(map);
	check_ok(um_map_unlink("map"));
}

static void a_stopped_process_delays_a_repair_and_no_more(void)
{
	for (uint32_t i = 0; i < 2 * NR_MODES; i++) {
		struct shape s = { .value_size = i / NR_MODES ? 48 : 8,
				   .max = i / NR_MODES ? 60 : 130,
				   .map_flags = i % NR_MODES,
				   .lock_timeout_ms = 5,
				   .backing = IN_FILE };

		kill_one_and_stop_another(&s, 10 + i);
	}
}

/* Stopped in a read section: its references stay good, writers run out of spares. */
struct scene {
	uint64_t inside, go_on;
};

static void refer_across_a_stop(void *arg)
{
	struct scene *s = arg;
	struct um_map *map = open_map("map", 0);
	uint32_t key = 3;
	uint64_t n;
	void *p;

	check_ok(um_read_lock(map));
	p = um_map_lookup_ref(map, &key);
	check(p && value_ref_number(p, 40, &n) && n == 3);
	store(&s->inside, 1);
	while (!load(&s->go_on))
		check(value_ref_number(p, 40, &n) && n == 3);
	check(value_ref_number(p, 40, &n) && n == 3);
	um_read_unlock(map);
	um_map_close(map);
}

static void a_reference_outlasts_a_stop(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape shape = { .value_size = 40,
				       .max = 10,
				       .map_flags = flags,
				       .lock_timeout_ms = 20,
				       .backing = IN_FILE };
		struct scene *s = shared_memory(sizeof(*s));
		struct um_map *map = make_map(&shape);
		unsigned char value[40] = { 0 };
		uint32_t key = 3, n = 0;
		pid_t pid;
		int err;

		check_eq(fill_up(map, 0), 10);
		pid = spawn(refer_across_a_stop, s);
		wait_for(&s->inside, 1);
		stop(pid);
		while (!(err = um_map_update_elem(map, &key, value, BPF_ANY)))
			check(++n < 100000);
		check_err(err, -ETIMEDOUT);
		check_ok(um_map_delete_elem(map, &key));
		store(&s->go_on, 1);
		resume(pid);
		reap(pid);
		check_ok(um_map_update_elem(map, &key, value, BPF_ANY));
		check_counts(map, 10);
		um_map_close(map);
		check_ok(um_map_unlink("map"));
	}
}

static const struct test tests[] = {
	{ "a_stopped_process_costs_others_timeouts_at_worst",
	  a_stopped_process_costs_others_timeouts_at_worst },
	{ "a_stopped_process_delays_a_repair_and_no_more",
	  a_stopped_process_delays_a_repair_and_no_more },
	{ "a_reference_outlasts_a_stop", a_reference_outlasts_a_stop },
};

TEST_MAIN(tests)
