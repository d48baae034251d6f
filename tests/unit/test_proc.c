/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_proc.c - which processes live, and the lock that dies with its holder. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/sys.h"
#include "mem/proc.h"

#define SECOND 1000000000ull

static struct um_map *map;
static uint64_t *slot_of_child; /* + 1, shared with children */

static void make_map(const char *path)
{
	UM_OPTS(um_map_opts, o, .nr_cpus = 2, .path = path, .um_flags = path ? 0 : UM_F_MEMFD);

	map = unit_map(8, 8, 100, &o);
	slot_of_child = shared_memory(4096);
}

static void close_map(void)
{
	um_map_close(map);
	unlink(unit_path("proc"));
}

/* A child joins by its first call, and stays until it is killed. */
static void join_and_stay(void *arg)
{
	void (*then)(void) = (void (*)(void))arg;

	check_ok(put8(map, 50, 50));
	if (then)
		then();
	store(slot_of_child, map->arena.slot + 1);
	for (;;)
		pause();
}

static pid_t start(void (*then)(void))
{
	pid_t pid;

	store(slot_of_child, 0);
	pid = spawn(join_and_stay, (void *)then);
	wait_for(slot_of_child, 1);
	return pid;
}

static uint32_t child_slot(void)
{
	return (uint32_t)load(slot_of_child) - 1;
}

static void kill_and_leave_a_zombie(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void each_kind_of_file(void (*test)(void))
{
	make_map(NULL);
	test();
	close_map();
	make_map("proc");
	test();
	close_map();
}

static void lives_until_killed(void)
{
	pid_t pid = start(NULL);
	uint32_t slot = child_slot();

	assert_int_not_equal(slot, map->arena.slot);
	assert_true(um_proc_alive(&map->arena, slot));
	assert_true(um_proc_alive(&map->arena, map->arena.slot));
	assert_false(um_proc_any_dead(&map->arena));
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_true(um_proc_alive(&map->arena, slot));
	kill_and_leave_a_zombie(pid);
	assert_false(um_proc_alive(&map->arena, slot));
	assert_true(um_proc_any_dead(&map->arena));
	assert_int_equal(kill(pid, 0), 0); /* which pids would have told */
	waitpid(pid, NULL, 0);
	assert_false(um_proc_alive(&map->arena, slot));
}

static void a_process_lives_until_it_is_killed_and_a_zombie_does_not(void **state)
{
	each_kind_of_file(lives_until_killed);
}

static void close_all(void)
{
	int fd;

	for (fd = 0; fd < 1024; fd++)
		close(fd);
}

static void lives_without_descriptors(void)
{
	pid_t pid = start(close_all);

	assert_true(um_proc_alive(&map->arena, child_slot()));
	kill_and_leave_a_zombie(pid);
	assert_false(um_proc_alive(&map->arena, child_slot()));
	waitpid(pid, NULL, 0);
}

static void a_process_lives_on_when_it_closes_all_descriptors(void **state)
{
	each_kind_of_file(lives_without_descriptors);
}

/* Outlives its parent, but not this test. */
static void fork_a_sleeper(void)
{
	pid_t pid = fork();

	check(pid >= 0);
	if (pid == 0) {
		alarm(20);
		for (;;)
			pause();
	}
	store(&slot_of_child[1], (uint64_t)pid);
}

static void not_kept_alive_by_child(void)
{
	pid_t pid = start(fork_a_sleeper);
	bool alive;

	kill_and_leave_a_zombie(pid);
	alive = um_proc_alive(&map->arena, child_slot());
	kill((pid_t)load(&slot_of_child[1]), SIGKILL);
	assert_false(alive);
	waitpid(pid, NULL, 0);
}

static void the_children_of_a_process_do_not_keep_it_alive(void **state)
{
	each_kind_of_file(not_kept_alive_by_child);
}

static void exec_sleep(void)
{
	store(slot_of_child, map->arena.slot + 1);
	execlp("sleep", "sleep", "1000", (char *)NULL);
	_exit(1);
}

static void dead_after_exec(void)
{
	pid_t pid = start(exec_sleep);
	int i;

	for (i = 0; i < 5000 && um_proc_alive(&map->arena, child_slot()); i++)
		sleep_us(1000);
	assert_false(um_proc_alive(&map->arena, child_slot()));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_process_that_executes_another_program_is_gone_from_the_map(void **state)
{
	each_kind_of_file(dead_after_exec);
}

static void opens_read_only(void *arg)
{
	UM_OPTS(um_open_opts, o, .map_flags = BPF_F_RDONLY);
	uint64_t value;

	check_ok(um_map_open("proc", &o, &map));
	check_eq(um_proc_alive(&map->arena, child_slot()), *(int *)arg);
	check_ok(get8(map, 50, &value));
	um_map_close(map);
}

static void a_read_only_opener_can_tell_too(void **state)
{
	int alive = 1;
	pid_t pid;

	make_map("proc");
	pid = start(NULL);
	run_child(opens_read_only, &alive);
	kill_and_leave_a_zombie(pid);
	alive = 0;
	run_child(opens_read_only, &alive);
	waitpid(pid, NULL, 0);
	close_map();
}

/* ---- slots ---- */

static void a_slot_is_reused_after_its_process_left(void **state)
{
	struct um_map *second = NULL;
	uint32_t slot, i;

	make_map("proc");
	for (i = 0; i < 5; i++) {
		second = unit_open("proc");
		if (i)
			assert_int_equal(second->arena.slot, slot);
		slot = second->arena.slot;
		um_map_close(second);
	}
	close_map();
}

static void a_slot_of_the_dead_is_reused_once_it_is_cleared(void **state)
{
	struct um_map *second;
	uint32_t slot, i;

	make_map("proc");
	for (i = 0; i < 5; i++) {
		pid_t pid = start(NULL);

		if (i)
			assert_int_equal(child_slot(), slot);
		slot = child_slot();
		kill_and_leave_a_zombie(pid);
		waitpid(pid, NULL, 0);
		second = unit_open("proc"); /* repairs */
		assert_false(um_proc_any_dead(&map->arena));
		/* who died outside of a call leaves nothing to count */
		assert_int_equal(unit_stats(map).recoveries, 0);
		um_map_close(second);
	}
	close_map();
}

/* Where the lock bytes of the slots begin, as in proc.c. */
#define FIRST_BYTE (1ll << 60)

/* One descriptor stands for all processes but three, this one among them. */
static void a_process_too_many_is_refused_until_one_leaves(void **state)
{
	struct flock rest = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = FIRST_BYTE + 3,
			      .l_len = UM_MAX_PROCS - 3 };
	struct um_map *second, *third, *more = NULL;
	uint32_t slot;
	int fd;

	make_map("proc");
	fd = open(unit_path("proc"), O_RDWR);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &rest), 0);
	second = unit_open("proc");
	third = unit_open("proc");
	slot = second->arena.slot;
	assert_int_equal(um_map_open("proc", NULL, &more), -EUSERS);
	assert_null(more);
	um_map_close(second);
	more = unit_open("proc");
	assert_int_equal(more->arena.slot, slot);
	assert_int_equal(um_map_open("proc", NULL, &second), -EUSERS);
	close(fd); /* the last slots can be had, too */
	second = unit_open("proc");
	assert_int_equal(second->arena.slot, 3);
	um_map_close(second);
	um_map_close(third);
	um_map_close(more);
	close_map();
}

/* ---- the recovery lock ---- */

static void try_recovery_lock(void *arg)
{
	int token = um_recovery_lock(&map->arena, SECOND / 50);

	check_err(token, *(int *)arg);
}

static void *try_from_thread(void *arg)
{
	try_recovery_lock(arg);
	return NULL;
}

static void excludes_threads(void)
{
	int token = um_recovery_lock(&map->arena, SECOND), busy = -ETIMEDOUT;
	pthread_t t;

	assert_true(token >= 0);
	assert_ok(pthread_create(&t, NULL, try_from_thread, &busy));
	assert_ok(pthread_join(t, NULL));
	um_recovery_unlock(&map->arena, token);
	token = um_recovery_lock(&map->arena, 0);
	assert_true(token >= 0);
	um_recovery_unlock(&map->arena, token);
}

static void the_recovery_lock_excludes_threads(void **state)
{
	each_kind_of_file(excludes_threads);
	map = unit_map(8, 8, 10, NULL);
	excludes_threads();
	um_map_close(map);
}

static void excludes_processes(void)
{
	int token = um_recovery_lock(&map->arena, SECOND), busy = -ETIMEDOUT;

	assert_true(token >= 0);
	run_child(try_recovery_lock, &busy);
	um_recovery_unlock(&map->arena, token);
}

static void the_recovery_lock_excludes_processes(void **state)
{
	each_kind_of_file(excludes_processes);
}

static void take_recovery_lock(void)
{
	check(um_recovery_lock(&map->arena, SECOND) >= 0);
}

static void dies_with_holder(void)
{
	pid_t pid = start(take_recovery_lock);
	int token;

	assert_int_equal(um_recovery_lock(&map->arena, SECOND / 50), -ETIMEDOUT);
	kill_and_leave_a_zombie(pid);
	token = um_recovery_lock(&map->arena, 5 * SECOND);
	assert_true(token >= 0);
	um_recovery_unlock(&map->arena, token);
	waitpid(pid, NULL, 0);
}

static void the_recovery_lock_dies_with_its_holder(void **state)
{
	each_kind_of_file(dies_with_holder);
}

struct race {
	uint64_t inside, entered;
};

static void lock_and_count(int index, void *arg)
{
	struct race *r = arg;
	int i, token;

	for (i = 0; i < 100; i++) {
		token = um_recovery_lock(&map->arena, 100 * SECOND);
		check(token >= 0);
		check_eq(add(&r->inside, 1), 1);
		r->entered++;
		add(&r->inside, (uint64_t)-1);
		um_recovery_unlock(&map->arena, token);
	}
}

static void only_one_thread_repairs_at_a_time(void **state)
{
	struct race r = { 0, 0 };

	make_map(NULL);
	run_team(4, lock_and_count, &r);
	assert_int_equal(r.entered, 400);
	close_map();
	r.entered = 0;
	map = unit_map(8, 8, 10, NULL);
	run_team(4, lock_and_count, &r);
	assert_int_equal(r.entered, 400);
	um_map_close(map);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_process_lives_until_it_is_killed_and_a_zombie_does_not),
	cmocka_unit_test(a_process_lives_on_when_it_closes_all_descriptors),
	cmocka_unit_test(the_children_of_a_process_do_not_keep_it_alive),
	cmocka_unit_test(a_process_that_executes_another_program_is_gone_from_the_map),
	cmocka_unit_test(a_read_only_opener_can_tell_too),
	cmocka_unit_test(a_slot_is_reused_after_its_process_left),
	cmocka_unit_test(a_slot_of_the_dead_is_reused_once_it_is_cleared),
	cmocka_unit_test(a_process_too_many_is_refused_until_one_leaves),
	cmocka_unit_test(the_recovery_lock_excludes_threads),
	cmocka_unit_test(the_recovery_lock_excludes_processes),
	cmocka_unit_test(the_recovery_lock_dies_with_its_holder),
	cmocka_unit_test(only_one_thread_repairs_at_a_time),
};

UNIT_MAIN(tests)
