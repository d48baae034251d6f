/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* kill.c - processes that die in the middle of a call harm nobody. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "check.h"
#include "worker.h"

enum { VICTIMS = 2, SURVIVOR = VICTIMS, ROUNDS = 60 };

static void report(const struct crew *c, int i, struct um_map *map)
{
	struct um_map_stats st = { .sz = sizeof(st) };

	check_ok(um_map_get_stats(map, &st));
	fprintf(stderr, "survivor: %llu calls, %llu refused, longest %.1f ms; %llu recoveries\n",
		(unsigned long long)c->journal[i].calls, (unsigned long long)c->journal[i].refused,
		(double)c->journal[i].longest_ns / 1e6, (unsigned long long)st.recoveries);
}

static void kill_at_random_moments(const struct shape *s, uint64_t stream)
{
	struct crew *c = new_crew(s, test_seed + stream);
	struct rng r = rng_new(test_seed, stream);
	struct um_map *map = make_map(s);
	pid_t survivor, victim[VICTIMS];
	uint64_t round, calls;
	int i;

	c->never_full = s->max > (VICTIMS + 1) * KEYS_EACH;
	survivor = start_worker(c, SURVIVOR, 0);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < VICTIMS; i++)
			victim[i] = start_worker(c, i, round + 1);
		for (i = 0; i < VICTIMS; i++) {
			wait_for(&c->journal[i].calls, 1);
			sleep_us(rng_below(&r, 3000));
			kill_worker(victim[i]);
		}
		calls = load(&c->journal[SURVIVOR].calls);
		wait_for(&c->journal[SURVIVOR].calls, calls + 100); /* it goes on */
		pause_worker(c, SURVIVOR);
		check_map(c, map, VICTIMS + 1);
		resume_worker(c, SURVIVOR);
	}
	store(&c->journal[SURVIVOR].stop, 1);
	reap(survivor);
	check_map(c, map, VICTIMS + 1);
	report(c, SURVIVOR, map);
	um_map_close(map);
	check_ok(um_map_unlink("map"));
}

static void a_killed_process_leaves_a_whole_map_with_room(void)
{
	for (uint32_t i = 0; i < 2 * NR_MODES; i++) {
		struct shape s = { .value_size = i / NR_MODES ? 48 : 8,
				   .max = 130,
				   .map_flags = i % NR_MODES,
				   .backing = IN_FILE };

		kill_at_random_moments(&s, i);
	}
}

static void a_killed_process_leaves_a_whole_map_that_is_full(void)
{
	for (uint32_t i = 0; i < 2 * NR_MODES; i++) {
		struct shape s = { .value_size = i / NR_MODES ? 48 : 8,
				   .max = 50,
				   .map_flags = i % NR_MODES,
				   .nr_cpus = i / NR_MODES ? 0 : 100,
				   .backing = IN_FILE };

		kill_at_random_moments(&s, 10 + i);
	}
}

/* Few spares, so that dead readers and dead writers have some of them in hand. */
static void a_killed_process_gives_its_spares_back(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .value_size = 48,
				   .max = 130,
				   .map_flags = flags,
				   .spares = 8,
				   .lock_timeout_ms = 10000,
				   .backing = IN_FILE };

		kill_at_random_moments(&s, 20 + flags);
	}
}

/* ---- one bucket, and everybody at it ---- */

enum { STORMERS = 4 };

struct storm {
	uint64_t calls[STORMERS];
	uint64_t stop;
	uint32_t keys[12];
};

struct stormer {
	struct storm *s;
	int index;
	uint64_t life;
};

static void storm_on(void *arg)
{
	struct stormer *me = arg;
	struct rng r = rng_new(test_seed + 1000, me->life * STORMERS + (uint64_t)me->index);
	UM_OPTS(um_open_opts, opts, .lock_timeout_ms = 10000);
	unsigned char value[24];
	struct um_map *map;
	uint64_t n;

	check_ok(um_map_open("map", &opts, &map));
	while (!load(&me->s->stop)) {
		uint32_t key = me->s->keys[rng_below(&r, 12)];
		int err;

		value_of(rng_next(&r), value, sizeof(value));
		if (rng_below(&r, 3))
			err = um_map_update_elem(map, &key, value, BPF_ANY);
		else
			err = um_map_delete_elem(map, &key);
		check_msg(!err || err == -ENOENT, "a call answers %s", errno_text(err));
		if (!um_map_lookup_elem(map, &key, value))
			check(value_number(value, sizeof(value), &n));
		store(&me->s->calls[me->index], me->s->calls[me->index] + 1);
	}
	um_map_close(map);
}

static pid_t start_stormer(struct storm *s, int i, uint64_t life)
{
	struct stormer me = { s, i, life };

	s->calls[i] = 0;
	return spawn(storm_on, &me);
}

static void a_process_killed_with_a_bucket_locked_stops_nobody(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape shape = { .value_size = 24,
				       .max = 20,
				       .map_flags = flags | BPF_F_ZERO_SEED,
				       .lock_timeout_ms = 10000,
				       .backing = IN_FILE };
		struct um_map *map = make_map(&shape);
		struct um_map_stats st = { .sz = sizeof(st) };
		struct storm *s = shared_memory(sizeof(*s));
		struct rng r = rng_new(test_seed, 30 + flags);
		pid_t pid[STORMERS];
		uint64_t round, calls;
		int i;

		colliding_keys(s->keys, 12);
		for (i = 0; i < STORMERS; i++)
			pid[i] = start_stormer(s, i, 0);
		for (round = 1; round <= 100; round++) {
			i = (int)rng_below(&r, STORMERS);
			wait_for(&s->calls[i], 1);
			sleep_us(rng_below(&r, 2000));
			kill_worker(pid[i]);
			calls = load(&s->calls[(i + 1) % STORMERS]);
			wait_for(&s->calls[(i + 1) % STORMERS], calls + 10);
			pid[i] = start_stormer(s, i, round);
		}
		store(&s->stop, 1);
		for (i = 0; i < STORMERS; i++)
			reap(pid[i]);
		check_ok(um_map_get_stats(map, &st));
		check_counts(map, st.count);
		for (i = 0; i < 12; i++)
			um_map_delete_elem(map, &s->keys[i]);
		check_counts(map, 0);
		check_eq(fill_up(map, 0), 20);
		fprintf(stderr, "%llu recoveries\n", (unsigned long long)st.recoveries);
		um_map_close(map);
		check_ok(um_map_unlink("map"));
	}
}

/* ---- readers ---- */

static void hold_references_for_ever(void *arg)
{
	uint64_t *ready = arg;
	struct um_map *map = open_map("map", 0);
	uint32_t key;

	check_ok(um_read_lock(map));
	for (key = 0; key < 10; key++)
		check(um_map_lookup_ref(map, &key));
	store(ready, 1);
	for (;;)
		sleep_us(1000000);
}

static void a_process_killed_with_references_holds_nothing(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .value_size = 40,
				   .max = 10,
				   .map_flags = flags,
				   .spares = 4,
				   .lock_timeout_ms = 100,
				   .backing = IN_FILE };
		uint64_t *ready = shared_memory(sizeof(*ready));
		struct um_map *map = make_map(&s);
		unsigned char value[40] = { 0 };
		uint32_t key = 1, i;
		pid_t pid;
		int err;

		check_eq(fill_up(map, 0), 10);
		pid = spawn(hold_references_for_ever, ready);
		wait_for(ready, 1);
		for (i = 0; i < 100; i++) {
			err = um_map_update_elem(map, &key, value, BPF_ANY);
			if (err)
				break;
		}
		check_err(err, -ETIMEDOUT); /* alive, it is waited for */
		check_err(um_synchronize(map), -ETIMEDOUT);
		kill_worker(pid);
		check_ok(um_synchronize(map));
		for (i = 0; i < 1000; i++)
			check_ok(um_map_update_elem(map, &key, value, BPF_ANY));
		check_counts(map, 10);
		um_map_close(map);
		check_ok(um_map_unlink("map"));
	}
}

/* ---- a process that opens after all others have died ---- */

static void opening_repairs_what_the_last_process_left(void)
{
	struct rng r = rng_new(test_seed, 40);
	uint64_t round;

	for (round = 0; round < 60; round++) {
		struct shape s = { .value_size = round % 2 ? 48 : 8,
				   .max = 100,
				   .map_flags = round / 2 % NR_MODES,
				   .backing = IN_FILE };
		struct crew *c = new_crew(&s, test_seed + 500);
		struct um_map *map = make_map(&s);
		pid_t pid[2];
		int i;

		um_map_close(map);
		for (i = 0; i < 2; i++)
			pid[i] = start_worker(c, i, round);
		for (i = 0; i < 2; i++) {
			wait_for(&c->journal[i].calls, 1);
			sleep_us(rng_below(&r, 2000));
			kill_worker(pid[i]);
		}
		map = open_map("map", 0);
		check_map(c, map, 2);
		um_map_close(map);
		check_ok(um_map_unlink("map"));
	}
}

static const struct test tests[] = {
	{ "a_killed_process_leaves_a_whole_map_with_room",
	  a_killed_process_leaves_a_whole_map_with_room },
	{ "a_killed_process_leaves_a_whole_map_that_is_full",
	  a_killed_process_leaves_a_whole_map_that_is_full },
	{ "a_killed_process_gives_its_spares_back", a_killed_process_gives_its_spares_back },
	{ "a_process_killed_with_a_bucket_locked_stops_nobody",
	  a_process_killed_with_a_bucket_locked_stops_nobody },
	{ "a_process_killed_with_references_holds_nothing",
	  a_process_killed_with_references_holds_nothing },
	{ "opening_repairs_what_the_last_process_left",
	  opening_repairs_what_the_last_process_left },
};

TEST_MAIN(tests)
