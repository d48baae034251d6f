/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_rcu.c - read sections and the epoch, between threads and processes. */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "mem/rcu.h"

static struct um_map *map;

static void open_map(uint32_t um_flags, uint32_t timeout_ms)
{
	UM_OPTS(um_map_opts, o, .um_flags = um_flags, .lock_timeout_ms = timeout_ms, .nr_cpus = 2);

	map = unit_map(8, 16, 100, &o);
}

static void close_map(void)
{
	um_map_close(map);
	map = NULL;
}

static uint64_t epoch(void)
{
	return map->arena.hdr->gp_seq;
}

static struct um_rec *my_rec(void)
{
	struct um_rec *rec = NULL;

	check_ok(um_thread_rec(&map->arena, &rec));
	return rec;
}

static int advance(void)
{
	struct um_rec *reader = NULL;
	int err = um_rcu_advance(&map->arena, &reader);

	check_eq(err == -EAGAIN, reader != NULL);
	return err;
}

static void the_epoch_moves_once_past_a_reader_and_no_further(void **state)
{
	uint64_t start, cookie;
	struct um_rec *reader;

	open_map(0, 0);
	assert_ok(um_read_lock(map));
	start = epoch();
	cookie = um_rcu_get_state(&map->arena);
	assert_ok(advance()); /* the reader is in the current one */
	assert_int_equal(epoch(), start + 1);
	assert_int_equal(um_rcu_advance(&map->arena, &reader), -EAGAIN);
	assert_ptr_equal(reader, my_rec());
	assert_int_equal(epoch(), start + 1);
	assert_false(um_rcu_poll_state(&map->arena, cookie));
	um_read_unlock(map);
	assert_ok(advance());
	assert_true(um_rcu_poll_state(&map->arena, cookie));
	close_map();
}

static void sections_nest_and_the_outermost_counts(void **state)
{
	int i;

	open_map(0, 0);
	for (i = 0; i < 1000; i++)
		assert_ok(um_read_lock(map));
	assert_ok(advance());
	for (i = 0; i < 999; i++) {
		um_read_unlock(map);
		assert_int_equal(advance(), -EAGAIN);
	}
	um_read_unlock(map);
	assert_ok(advance());
	assert_ok(advance());
	close_map();
}

static void the_first_section_makes_the_map_count_readers(void **state)
{
	open_map(0, 0);
	assert_int_equal(map->arena.hdr->ref_users, 0);
	assert_int_equal(my_rec()->is_reader, 0);
	assert_ok(um_read_lock(map));
	assert_int_equal(map->arena.hdr->ref_users, 1);
	assert_int_equal(my_rec()->is_reader, 1);
	um_read_unlock(map);
	close_map();
}

static void a_cookie_holds_when_the_epoch_comes_round(void **state)
{
	uint64_t cookie;

	open_map(0, 0);
	map->arena.hdr->gp_seq = UINT64_MAX - 1;
	cookie = um_rcu_get_state(&map->arena);
	assert_false(um_rcu_poll_state(&map->arena, cookie));
	assert_ok(advance());
	assert_false(um_rcu_poll_state(&map->arena, cookie));
	assert_ok(advance());
	assert_true(um_rcu_poll_state(&map->arena, cookie));
	/* a section word holds 48 bits of it */
	map->arena.hdr->gp_seq = (1ull << 48) - 1;
	assert_ok(um_read_lock(map));
	assert_ok(advance());
	assert_int_equal(advance(), -EAGAIN);
	um_read_unlock(map);
	assert_ok(advance());
	close_map();
}

/* ---- waiting for readers ---- */

static void sit(int index, void *arg)
{
	check_ok(um_read_lock(map));
	store(arg, 1);
	wait_for(arg, 2);
	um_read_unlock(map);
}

static void synchronize_waits_for_the_sections_that_are_open(void **state)
{
	struct team t;
	uint64_t step = 0;

	open_map(0, 20);
	team_start(&t, 1, sit, &step);
	wait_for(&step, 1);
	assert_int_equal(um_synchronize(map), -ETIMEDOUT);
	store(&step, 2);
	team_join(&t);
	assert_ok(um_synchronize(map));
	close_map();
}

static void leave_later(int index, void *arg)
{
	check_ok(um_read_lock(map));
	store(arg, 1);
	sleep_us(30000);
	store(arg, 2);
	um_read_unlock(map);
}

static void synchronize_returns_after_the_reader_has_left(void **state)
{
	struct team t;
	uint64_t step = 0;

	open_map(0, 100000);
	team_start(&t, 1, leave_later, &step);
	wait_for(&step, 1);
	assert_ok(um_synchronize(map));
	assert_int_equal(load(&step), 2);
	team_join(&t);
	close_map();
}

static void who_is_in_a_section_may_not_wait_for_it(void **state)
{
	struct um_map *other;

	open_map(0, 0);
	other = unit_map(8, 8, 10, NULL);
	assert_ok(um_read_lock(map));
	assert_int_equal(um_synchronize(map), -EBUSY);
	assert_ok(um_synchronize(other)); /* its sections are others */
	um_read_unlock(map);
	assert_ok(um_synchronize(map));
	um_map_close(other);
	close_map();
}

static void sit_in_process(void *arg)
{
	check_ok(um_read_lock(map));
	store(arg, 1);
	for (;;)
		pause();
}

static void a_reader_of_another_process_is_waited_for_until_it_dies(void **state)
{
	uint64_t *step = shared_memory(4096);
	pid_t pid;

	open_map(UM_F_MEMFD, 50);
	pid = spawn(sit_in_process, step);
	wait_for(step, 1);
	assert_int_equal(um_synchronize(map), -ETIMEDOUT);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_ok(um_synchronize(map));
	/* it was in no writing call, so nothing was counted */
	assert_int_equal(unit_stats(map).recoveries, 0);
	close_map();
}

/* ---- what sections are for ---- */

struct race {
	uint64_t stop;
	uint64_t seen;
};

/* The two words of a value are always equal, in any element that is reachable. */
static void read_by_reference(struct race *r)
{
	struct rng rng = rng_new(test_seed, 7);
	uint64_t key, seen = 0;

	while (!load(&r->stop) || !seen) {
		uint64_t *ref, a, b, i;

		check_ok(um_read_lock(map));
		key = rng_below(&rng, 20);
		ref = um_map_lookup_ref(map, &key);
		for (i = 0; ref && i < 20; i++) {
			a = load(&ref[0]);
			b = load(&ref[1]);
			check_eq(a % 100, key);
			check_eq(b, a);
			seen++;
		}
		um_read_unlock(map);
	}
	add(&r->seen, seen);
}

static void write_values(struct race *r)
{
	struct rng rng = rng_new(test_seed, 8);
	int i;

	for (i = 0; i < SCALED(6000) + 500; i++) {
		uint64_t key = rng_below(&rng, 20), n = rng_next(&rng) / 100 * 100 + key;
		uint64_t value[2] = { n, n };

		if (n / 100 % 3)
			check_ok(um_map_update_elem(map, &key, value, BPF_ANY));
		else
			um_map_delete_elem(map, &key);
	}
	store(&r->stop, 1);
}

static void read_or_write(int index, void *arg)
{
	if (index)
		read_by_reference(arg);
	else
		write_values(arg);
}

static void a_reference_shows_one_key_until_its_section_ends(void **state)
{
	UM_OPTS(um_map_opts, o, .nr_cpus = 3, .spares = 20, .lock_timeout_ms = 100000);
	struct race r = { 0, 0 };

	map = unit_map(8, 16, 20, &o);
	run_team(4, read_or_write, &r);
	assert_true(r.seen > 0);
	close_map();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_epoch_moves_once_past_a_reader_and_no_further),
	cmocka_unit_test(sections_nest_and_the_outermost_counts),
	cmocka_unit_test(the_first_section_makes_the_map_count_readers),
	cmocka_unit_test(a_cookie_holds_when_the_epoch_comes_round),
	cmocka_unit_test(synchronize_waits_for_the_sections_that_are_open),
	cmocka_unit_test(synchronize_returns_after_the_reader_has_left),
	cmocka_unit_test(who_is_in_a_section_may_not_wait_for_it),
	cmocka_unit_test(a_reader_of_another_process_is_waited_for_until_it_dies),
	cmocka_unit_test(a_reference_shows_one_key_until_its_section_ends),
};

UNIT_MAIN(tests)
