/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* signals.c - calls from handlers that interrupt calls: done or refused, never stuck. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "check.h"
#include "maps.h"
#include "rng.h"
#include "threads.h"

enum { SIGNALS = SCALED(10000), OWN = 3, KEYS = 12 };

/* What handlers have done; one thread's handlers do not interrupt each other. */
struct duty {
	struct um_map *map[2]; /* in the order in which the handler takes them */
	uint32_t keys[KEYS];   /* the first OWN are the handler's alone */
	uint64_t added[2], busy, signals;
};

static _Thread_local struct duty *duty;

static void on_signal(int sig)
{
	struct duty *d = duty;
	uint64_t value;
	int i, err;

	if (!d)
		return;
	d->signals++;
	for (i = 0; i < 2; i++) {
		uint32_t own = d->keys[d->signals % OWN], other = d->keys[OWN + d->signals % 5];

		err = um_map_add_elem(d->map[i], &own, 0, 1);
		if (err == -EBUSY)
			d->busy++;
		else if (err == 0 || err == 1)
			d->added[i]++;
		else
			abort();
		/* reading needs no lock, so it is never refused for one */
		err = um_map_lookup_elem(d->map[i], &other, &value);
		if (err && err != -ENOENT && err != -EAGAIN)
			abort();
		if (um_read_lock(d->map[i]) == 0) {
			um_map_lookup_ref(d->map[i], &other);
			um_read_unlock(d->map[i]);
		}
		err = um_map_update_elem(d->map[i], &other, &value, BPF_EXIST);
		if (err == -EBUSY)
			d->busy++;
		else if (err && err != -ENOENT)
			abort();
	}
}

/* A signal to this thread every 50 us. */
static timer_t start_signals(void)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	struct itimerspec every = { { 0, 50000 }, { 0, 50000 } };
	timer_t timer;

	sigaction(SIGUSR1, &act, NULL);
	event._sigev_un._tid = gettid();
	check(!timer_create(CLOCK_MONOTONIC, &event, &timer));
	check(!timer_settime(timer, 0, &every, NULL));
	return timer;
}

/* All that a handler may interrupt, malloc(3) included, on the handler's buckets. */
static void be_interrupted(struct duty *d, struct rng *r)
{
	struct um_map *map = d->map[rng_below(r, 2)];
	uint32_t key = d->keys[OWN + rng_below(r, KEYS - OWN)];
	uint64_t value = rng_next(r);
	int err = 0;

	switch (rng_below(r, 6)) {
	case 0:
		err = um_map_delete_elem(map, &key);
		break;
	case 1:
		err = um_map_lookup_and_delete_elem(map, &key, &value);
		break;
	case 2:
		err = um_map_add_elem(map, &key, 0, 1);
		break;
	case 3:
		err = um_map_lookup_elem(map, &key, &value);
		break;
	case 4:
		free(malloc(value % 5000));
		break;
	default:
		err = um_map_update_elem(map, &key, &value, BPF_ANY);
	}
	check_msg(err >= 0 || err == -ENOENT, "an interrupted call answers %s", errno_text(err));
}

static void work_interrupted(struct duty *d, uint64_t stream)
{
	struct rng r = rng_new(test_seed, stream);
	timer_t timer;

	duty = d;
	timer = start_signals();
	while (*(volatile uint64_t *)&d->signals < SIGNALS)
		be_interrupted(d, &r);
	timer_delete(timer);
	duty = NULL;
}

static uint64_t sum_of_own(struct um_map *map, const uint32_t *keys)
{
	uint64_t value, sum = 0;
	int i;

	for (i = 0; i < OWN; i++)
		if (!um_map_lookup_elem(map, &keys[i], &value))
			sum += value;
	return sum;
}

static void a_handler_adds_or_is_refused(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct duty d = { .map = { small_map(40, flags | BPF_F_ZERO_SEED),
					   small_map(40, flags | BPF_F_ZERO_SEED) } };
		struct um_map_stats st[2] = { { .sz = sizeof(st[0]) }, { .sz = sizeof(st[0]) } };
		int i;

		colliding_keys(d.keys, KEYS);
		work_interrupted(&d, flags);
		for (i = 0; i < 2; i++) {
			check_eq(sum_of_own(d.map[i], d.keys), d.added[i]);
			check_ok(um_map_get_stats(d.map[i], &st[i]));
			check_counts(d.map[i], st[i].count);
			um_map_close(d.map[i]);
		}
		check_eq(st[0].busy + st[1].busy, d.busy);
		check_msg(d.busy > 0, "no handler met a lock, so nothing was shown");
		check_eq(d.added[0] + d.added[1] + d.busy >= 2 * d.signals, 1);
	}
}

/* Two threads, whose handlers take two maps in opposite orders. */
struct cross {
	struct duty duty[2];
};

static void work_crosswise(int index, void *arg)
{
	struct cross *c = arg;

	work_interrupted(&c->duty[index], 10 + (uint64_t)index);
}

static void handlers_of_two_threads_do_not_wait_for_each_other(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct um_map *a = small_map(40, flags | BPF_F_ZERO_SEED);
		struct um_map *b = small_map(40, flags | BPF_F_ZERO_SEED);
		struct cross c = { { { .map = { a, b } }, { .map = { b, a } } } };
		uint32_t keys[KEYS + OWN];

		/* keys of one bucket; the first of them are the handlers', in turn */
		colliding_keys(keys, KEYS + OWN);
		memcpy(c.duty[0].keys, keys, sizeof(c.duty[0].keys));
		memcpy(c.duty[1].keys, keys, sizeof(c.duty[1].keys));
		memcpy(c.duty[1].keys, keys + KEYS, OWN * sizeof(keys[0]));
		run_team(2, work_crosswise, &c);
		check_eq(sum_of_own(a, c.duty[0].keys), c.duty[0].added[0]);
		check_eq(sum_of_own(b, c.duty[0].keys), c.duty[0].added[1]);
		check_eq(sum_of_own(b, c.duty[1].keys), c.duty[1].added[0]);
		check_eq(sum_of_own(a, c.duty[1].keys), c.duty[1].added[1]);
		um_map_close(a);
		um_map_close(b);
	}
}

static const struct test tests[] = {
	{ "a_handler_adds_or_is_refused", a_handler_adds_or_is_refused },
	{ "handlers_of_two_threads_do_not_wait_for_each_other",
	  handlers_of_two_threads_do_not_wait_for_each_other },
};

TEST_MAIN(tests)
