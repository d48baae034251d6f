/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_lock.c - who holds a bucket, who waits for it, and who must not. */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/sys.h"
#include "chain.h"

static struct um_map *map;

static void open_map(uint32_t timeout_ms, const char *path)
{
	UM_OPTS(um_map_opts, o, .map_flags = BPF_F_ZERO_SEED, .lock_timeout_ms = timeout_ms,
		.nr_cpus = 2, .path = path);

	map = unit_map(8, 8, 100, &o);
	check_ok(put8(map, 1, 1));
}

static void close_map(void)
{
	um_map_close(map);
	map = NULL;
}

static struct um_rec *my_rec(void)
{
	struct um_rec *rec = NULL;

	check_ok(um_thread_rec(&map->arena, &rec));
	return rec;
}

static uint32_t *lock_of(uint64_t key)
{
	return &map->htab.buckets[home_of(map, key)].lock;
}

static int lock(uint64_t key)
{
	return um_bucket_lock(&map->arena, my_rec(), lock_of(key), home_of(map, key));
}

static void unlock(uint64_t key)
{
	um_bucket_unlock(&map->arena, my_rec(), lock_of(key));
}

static void a_lock_names_its_owner_and_the_owner_its_bucket(void **state)
{
	struct um_rec *rec;

	open_map(0, NULL);
	rec = my_rec();
	assert_ok(lock(1));
	assert_int_equal(*lock_of(1) & LOCK_OWNER_MASK, rec - map->arena.records + 1);
	assert_int_equal(*lock_of(1) >> LOCK_GEN_SHIFT & 0xff, rec->gen);
	assert_int_equal(rec->held[0], home_of(map, 1) + 1);
	assert_int_equal(um_self.locks_held, 1);
	unlock(1);
	assert_int_equal(*lock_of(1), 0);
	assert_int_equal(rec->held[0], 0);
	assert_int_equal(um_self.locks_held, 0);
	assert_int_equal(unit_stats(map).lock_waits, 0);
	close_map();
}

/* ---- waiting ---- */

struct race {
	uint64_t inside;
	uint64_t sum;
};

static void lock_and_add(int index, void *arg)
{
	struct race *r = arg;
	int i;

	for (i = 0; i < SCALED(100000); i++) {
		check_ok(lock(1));
		check_eq(add(&r->inside, 1), 1);
		r->sum++; /* plain: the lock is the only order */
		if (i % 1000 == 0)
			sleep_us(300); /* so that others run out of spins */
		add(&r->inside, (uint64_t)-1);
		unlock(1);
	}
}

static void only_one_of_many_threads_holds_a_lock(void **state)
{
	struct race r = { 0, 0 };

	open_map(100000, NULL);
	run_team(8, lock_and_add, &r);
	assert_int_equal(r.sum, 8 * SCALED(100000));
	assert_int_equal(*lock_of(1), 0);
	assert_true(unit_stats(map).lock_waits > 0);
	close_map();
}

static void update_once(int index, void *arg)
{
	check_ok(put8(map, 1, (uint64_t)index));
	add(arg, 1);
}

static void all_sleepers_are_woken_one_after_the_other(void **state)
{
	struct team t;
	uint64_t done = 0;

	open_map(100000, NULL);
	assert_ok(lock(1));
	team_start(&t, 16, update_once, &done);
	sleep_us(50000);
	assert_int_equal(load(&done), 0);
	assert_true(READ_ONCE(*lock_of(1)) & LOCK_WAITERS);
	unlock(1);
	team_join(&t);
	assert_int_equal(done, 16);
	assert_int_equal(*lock_of(1), 0);
	close_map();
}

static void update_timed_out(int index, void *arg)
{
	uint64_t key = 1, value;

	check_err(put8(map, 1, 5), -ETIMEDOUT);
	check_err(del8(map, 1), -ETIMEDOUT);
	check_err(um_map_lookup_and_delete_elem(map, &key, &value), -ETIMEDOUT);
	check_err(um_map_add_elem(map, &key, 0, 1), -ETIMEDOUT);
	/* what needs no lock goes on */
	check_err(um_map_update_elem(map, &key, &value, BPF_NOEXIST), -EEXIST);
	check_ok(get8(map, 1, &value));
	check_eq(value, 1);
	check_ok(put8(map, 2, 2));
	check_eq(um_self.locks_held, 0);
}

static void *sleep_on_the_lock(void *arg)
{
	uint32_t word = READ_ONCE(*lock_of(1));

	for (;;) {
		struct timespec ten = { 10, 0 };
		long err;

		store(arg, 1);
		err = um_syscall(SYS_futex, lock_of(1), FUTEX_WAIT_PRIVATE, word, &ten, NULL, 0);
		if (err == -EINTR)
			continue;
		/* woken; -EAGAIN: unlocked before it slept; never -ETIMEDOUT */
		check_msg(!err || err == -EAGAIN, "nobody wakes the sleeper");
		return NULL;
	}
}

/* A sleeper of the library's wakes by itself before long; this one does not. */
static void a_release_wakes_who_sleeps(void **state)
{
	uint64_t about_to = 0;
	pthread_t t;

	open_map(0, NULL);
	assert_ok(lock(1));
	atomic_fetch_or(lock_of(1), LOCK_WAITERS);
	assert_ok(pthread_create(&t, NULL, sleep_on_the_lock, &about_to));
	wait_for(&about_to, 1);
	sleep_us(20000);
	unlock(1);
	assert_ok(pthread_join(t, NULL));
	close_map();
}

static void *lock_after_sleep(void *arg)
{
	check_ok(lock(1));
	store(arg, READ_ONCE(*lock_of(1)) & LOCK_WAITERS);
	unlock(1);
	return NULL;
}

/* There may be more who sleep: the next release must wake one of them. */
static void who_has_slept_keeps_the_flag_of_sleepers(void **state)
{
	uint64_t flag = 0;
	pthread_t t;

	open_map(100000, NULL);
	assert_ok(lock(1));
	assert_ok(pthread_create(&t, NULL, lock_after_sleep, &flag));
	while (!(READ_ONCE(*lock_of(1)) & LOCK_WAITERS))
		sleep_us(100);
	unlock(1);
	assert_ok(pthread_join(t, NULL));
	assert_int_equal(flag, LOCK_WAITERS);
	assert_int_equal(*lock_of(1), 0);
	close_map();
}

static void an_owner_that_does_not_get_on_is_a_timeout_and_changes_nothing(void **state)
{
	uint64_t value;

	open_map(20, NULL);
	assert_int_not_equal(home_of(map, 1), home_of(map, 2));
	assert_ok(lock(1));
	run_team(1, update_timed_out, NULL);
	unlock(1);
	assert_ok(get8(map, 1, &value));
	assert_int_equal(value, 1);
	assert_int_equal(unit_stats(map).timeouts, 4);
	assert_ok(put8(map, 1, 2)); /* though the waiters have left their mark */
	assert_int_equal(*lock_of(1), 0);
	close_map();
}

/* ---- handlers ---- */

static uint64_t handler_key;
static int handler_results[6];

static void calls_of_a_handler(int sig)
{
	uint64_t value = 9, *v = &value;

	handler_results[0] = put8(map, handler_key, 9);
	handler_results[1] = um_map_add_elem(map, &handler_key, 0, 1);
	handler_results[2] = um_map_lookup_and_delete_elem(map, &handler_key, v);
	handler_results[3] = del8(map, handler_key);
	handler_results[4] = get8(map, 1, v);
	handler_results[5] = um_synchronize(map);
}

static void a_handler_over_a_held_lock_never_waits(void **state)
{
	uint64_t value;

	open_map(100000, NULL);
	assert_ok(put8(map, 2, 2));
	signal(SIGUSR1, calls_of_a_handler);
	assert_ok(lock(1));
	handler_key = 1;
	raise(SIGUSR1);
	assert_int_equal(handler_results[0], -EBUSY);
	assert_int_equal(handler_results[1], -EBUSY);
	assert_int_equal(handler_results[2], -EBUSY);
	assert_int_equal(handler_results[3], -EBUSY);
	assert_ok(handler_results[4]);
	assert_int_equal(handler_results[5], -EBUSY);
	assert_int_equal(unit_stats(map).busy, 4);
	handler_key = 2; /* another bucket, whose lock is free */
	raise(SIGUSR1);
	assert_ok(handler_results[0]);
	assert_ok(handler_results[1]);
	assert_ok(handler_results[2]);
	assert_int_equal(handler_results[3], -ENOENT);
	assert_int_equal(um_self.locks_held, 1);
	unlock(1);
	assert_ok(get8(map, 1, &value));
	assert_int_equal(value, 1);
	assert_ok(put8(map, 1, 2));
	signal(SIGUSR1, SIG_DFL);
	close_map();
}

static void hold_until(int index, void *arg)
{
	check_ok(lock(2));
	store(arg, 1);
	wait_for(arg, 2);
	unlock(2);
}

static void a_handler_over_a_held_lock_does_not_wait_for_other_threads_either(void **state)
{
	struct team t;
	uint64_t step = 0;

	open_map(100000, NULL);
	assert_ok(put8(map, 2, 2));
	team_start(&t, 1, hold_until, &step);
	wait_for(&step, 1);
	signal(SIGUSR1, calls_of_a_handler);
	assert_ok(lock(1));
	handler_key = 2;
	raise(SIGUSR1);
	assert_int_equal(handler_results[0], -EBUSY);
	unlock(1);
	store(&step, 2);
	team_join(&t);
	signal(SIGUSR1, SIG_DFL);
	close_map();
}

static void a_held_lock_counts_for_every_map(void **state)
{
	struct um_map *first;

	open_map(100000, NULL);
	first = map;
	assert_ok(lock(1));
	open_map(100000, NULL); /* puts key 1 into a free bucket of the second */
	assert_ok(lock(1));
	assert_int_equal(um_self.locks_held, 2);
	assert_int_equal(put8(map, 1, 3), -EBUSY);
	assert_int_equal(put8(first, 1, 3), -EBUSY);
	assert_ok(put8(first, 2, 3));
	unlock(1);
	close_map();
	map = first;
	unlock(1);
	assert_int_equal(um_self.locks_held, 0);
	close_map();
}

static void there_is_an_end_to_handlers_in_handlers(void **state)
{
	uint64_t keys[UM_MAX_HELD + 1] = { 1 };
	int i;

	open_map(0, NULL);
	for (i = 1; i <= UM_MAX_HELD; i++) {
		int j;

		for (keys[i] = keys[i - 1], j = 0; j < i;)
			for (keys[i]++, j = 0; j < i; j++)
				if (home_of(map, keys[i]) == home_of(map, keys[j]))
					break;
	}
	for (i = 0; i < UM_MAX_HELD; i++)
		assert_ok(lock(keys[i]));
	assert_int_equal(lock(keys[UM_MAX_HELD]), -EBUSY);
	assert_int_equal(put8(map, keys[UM_MAX_HELD], 1), -EBUSY);
	for (i = UM_MAX_HELD; i > 0; i--)
		unlock(keys[i - 1]);
	assert_ok(put8(map, keys[UM_MAX_HELD], 1));
	close_map();
}

/* ---- dead owners ---- */

static void lock_and_tell(void *arg)
{
	struct call c;

	check_ok(call_begin(map, &c));
	check_ok(lock(1));
	store(arg, 1);
	for (;;)
		pause();
}

static void a_writer_goes_on_within_a_second_when_the_owner_is_killed(void **state)
{
	uint64_t *locked = shared_memory(4096);
	pid_t pid;

	open_map(1000, "killed");
	pid = spawn(lock_and_tell, locked);
	wait_for(locked, 1);
	assert_int_equal(put8(map, 1, 2), -ETIMEDOUT); /* alive */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_ok(put8(map, 1, 3));
	assert_int_equal(unit_stats(map).recoveries, 1);
	assert_int_equal(unit_stats(map).count, 1);
	assert_int_equal(*lock_of(1), 0);
	close_map();
	assert_ok(um_map_unlink("killed"));
}

static void sleepers_go_on_when_the_owner_is_killed_meanwhile(void **state)
{
	uint64_t *locked = shared_memory(4096), done = 0;
	struct team t;
	pid_t pid;

	open_map(100000, "killed");
	pid = spawn(lock_and_tell, locked);
	wait_for(locked, 1);
	team_start(&t, 8, update_once, &done);
	sleep_us(20000);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	team_join(&t);
	assert_int_equal(done, 8);
	assert_int_equal(unit_stats(map).recoveries, 1);
	close_map();
	assert_ok(um_map_unlink("killed"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_lock_names_its_owner_and_the_owner_its_bucket),
	cmocka_unit_test(only_one_of_many_threads_holds_a_lock),
	cmocka_unit_test(all_sleepers_are_woken_one_after_the_other),
	cmocka_unit_test(a_release_wakes_who_sleeps),
	cmocka_unit_test(who_has_slept_keeps_the_flag_of_sleepers),
	cmocka_unit_test(an_owner_that_does_not_get_on_is_a_timeout_and_changes_nothing),
	cmocka_unit_test(a_handler_over_a_held_lock_never_waits),
	cmocka_unit_test(a_handler_over_a_held_lock_does_not_wait_for_other_threads_either),
	cmocka_unit_test(a_held_lock_counts_for_every_map),
	cmocka_unit_test(there_is_an_end_to_handlers_in_handlers),
	cmocka_unit_test(a_writer_goes_on_within_a_second_when_the_owner_is_killed),
	cmocka_unit_test(sleepers_go_on_when_the_owner_is_killed_meanwhile),
};

UNIT_MAIN(tests)
