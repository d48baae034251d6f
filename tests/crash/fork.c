/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* fork.c - children forked while other threads are in the middle of calls. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include "check.h"
#include "maps.h"
#include "rng.h"
#include "threads.h"

enum { WRITERS = 2, KEYS = 30, MAX = 50, VALUE = 24 };

struct scene {
	struct um_map *own, *shared;
	atomic_bool stop;
	bool sections; /* writers also hold references */
};

/* @busy: in a section, where a writer does not wait for spares, as for itself */
static void write_one(struct um_map *map, struct rng *r, bool busy)
{
	unsigned char value[VALUE];
	uint32_t key = rng_below(r, KEYS);
	int err;

	value_of(key, value, sizeof(value));
	if (rng_below(r, 3))
		err = um_map_update_elem(map, &key, value, BPF_ANY);
	else
		err = um_map_delete_elem(map, &key);
	check_msg(!err || err == -ENOENT || (busy && err == -EBUSY), "a call answers %s",
		  errno_text(err));
}

static void keep_writing(int index, void *arg)
{
	struct scene *s = arg;
	struct rng r = rng_new(test_seed, (uint64_t)index);

	while (!atomic_load(&s->stop)) {
		if (s->sections)
			check_ok(um_read_lock(s->own));
		write_one(s->own, &r, s->sections);
		if (s->sections)
			um_read_unlock(s->own);
		write_one(s->shared, &r, false);
	}
}

/* Each key has its value or is absent, counts agree, and no place is lost. */
static void check_own(struct um_map *map)
{
	unsigned char value[VALUE];
	uint64_t n, there = 0;
	uint32_t key;
	int err;

	for (key = 0; key < KEYS; key++) {
		err = um_map_lookup_elem(map, &key, value);
		check_msg(!err || err == -ENOENT, "a look-up answers %s", errno_text(err));
		check(err || (value_number(value, VALUE, &n) && n == key));
		there += !err;
	}
	check_eq(map_walk(map), there);
	for (key = 0; key < KEYS; key++) {
		value_of(key, value, sizeof(value));
		check_ok(um_map_update_elem(map, &key, value, BPF_ANY));
	}
	check_counts(map, KEYS);
	check_eq(fill_up(map, 1000), MAX - KEYS);
	check_counts(map, MAX);
	for (key = 0; key < MAX - KEYS; key++)
		check_ok(um_map_delete_elem(map, &(uint32_t){ 1000 + key }));
	check_ok(um_read_lock(map));
	key = 1;
	check(um_map_lookup_ref(map, &key));
	um_read_unlock(map);
	check_ok(um_synchronize(map));
}

static void use_all(void *arg)
{
	struct scene *s = arg;
	struct rng r = rng_new(test_seed, 99);
	struct um_map *fresh;
	int i;

	for (i = 0; i < 100; i++)
		write_one(s->shared, &r, false);
	check_own(s->own);
	fresh = small_map(10, 0);
	check_eq(fill_up(fresh, 0), 10);
	um_map_close(fresh);
	um_map_close(s->own);
	um_map_close(s->shared);
}

static void fork_while_threads_write(bool sections)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .value_size = VALUE, .max = MAX, .map_flags = flags };
		struct scene scene = { .own = make_map(&s), .sections = sections };
		struct team t;
		int i;

		s.backing = MEMFD;
		scene.shared = make_map(&s);
		team_start(&t, WRITERS, keep_writing, &scene);
		for (i = 0; i < 150; i++) {
			sleep_us(200);
			run_child(use_all, &scene);
		}
		atomic_store(&scene.stop, true);
		team_join(&t);
		check_own(scene.own);
		check_own(scene.shared);
		um_map_close(scene.own);
		um_map_close(scene.shared);
	}
}

static void a_child_forked_in_the_middle_of_writes_uses_its_maps(void)
{
	fork_while_threads_write(false);
}

static void readers_of_the_parent_hold_nothing_in_the_child(void)
{
	fork_while_threads_write(true);
}

/* A grandchild, and threads in a child. */
static void write_in_child(int index, void *arg)
{
	struct scene *s = arg;
	struct rng r = rng_new(test_seed, 200 + (uint64_t)index);
	int i;

	for (i = 0; i < 2000; i++) {
		write_one(s->own, &r, false);
		write_one(s->shared, &r, false);
	}
}

static void use_in_threads(void *arg)
{
	struct scene *s = arg;

	run_team(3, write_in_child, s);
	check_own(s->own);
}

static void fork_again(void *arg)
{
	use_in_threads(arg);
	run_child(use_in_threads, arg);
	use_in_threads(arg);
}

static void children_may_have_threads_and_children(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .value_size = VALUE, .max = MAX, .map_flags = flags };
		struct scene scene = { .own = make_map(&s) };
		int i;

		s.backing = MEMFD;
		scene.shared = make_map(&s);
		for (i = 0; i < 20; i++) {
			use_in_threads(&scene);
			run_child(fork_again, &scene);
		}
		check_own(scene.shared);
		um_map_close(scene.own);
		um_map_close(scene.shared);
	}
}

static const struct test tests[] = {
	{ "a_child_forked_in_the_middle_of_writes_uses_its_maps",
	  a_child_forked_in_the_middle_of_writes_uses_its_maps },
	{ "readers_of_the_parent_hold_nothing_in_the_child",
	  readers_of_the_parent_hold_nothing_in_the_child },
	{ "children_may_have_threads_and_children", children_may_have_threads_and_children },
};

TEST_MAIN(tests)
