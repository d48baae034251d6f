/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_thread.c - numbers of threads, and their records in an arena. */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "mem/proc.h"

static struct um_map *map;

static struct um_rec *my_rec(void)
{
	struct um_rec *rec = NULL;

	check_ok(um_thread_rec(&map->arena, &rec));
	return rec;
}

static void open_map(uint32_t um_flags)
{
	UM_OPTS(um_map_opts, o, .um_flags = um_flags, .nr_cpus = 2);

	map = unit_map(8, 8, 1000, &o);
}

static void close_map(void)
{
	um_map_close(map);
	map = NULL;
}

static uint32_t blocks_taken(void)
{
	uint32_t b, n = 0;

	for_each_block(&map->arena, b)
		n++;
	return n;
}

static void a_thread_keeps_its_record(void **state)
{
	struct um_rec *rec;
	uint64_t key;

	open_map(0);
	rec = my_rec();
	assert_int_equal(rec->tid, gettid());
	for (key = 0; key < 100; key++)
		assert_ok(put8(map, key, key));
	assert_ptr_equal(my_rec(), rec);
	assert_int_equal(blocks_taken(), 1);
	close_map();
}

static void a_thread_has_a_record_in_each_map_but_one_number(void **state)
{
	struct um_map *maps[20];
	uint32_t i, no;

	open_map(0);
	my_rec();
	no = um_self.no;
	for (i = 0; i < 20; i++) {
		struct um_rec *rec;

		maps[i] = unit_map(8, 8, 10, NULL);
		assert_ok(um_thread_rec(&maps[i]->arena, &rec));
		assert_int_equal(um_self.no, no);
		assert_int_equal(rec->tid, gettid());
	}
	for (i = 0; i < 20; i++)
		um_map_close(maps[i]);
	close_map();
}

static void *use_once(void *arg)
{
	uint64_t key = (uintptr_t)arg;

	check_ok(put8(map, key % 1000, key));
	check_eq(READ_ONCE(my_rec()->tid), gettid());
	return NULL;
}

static void records_do_not_grow_with_threads_that_come_and_go(void **state)
{
	uint64_t used = 0;
	uintptr_t i;

	open_map(0);
	for (i = 0; i < SCALED(10000); i++) {
		pthread_t t;

		assert_ok(pthread_create(&t, NULL, use_once, (void *)i));
		assert_ok(pthread_join(t, NULL));
		if (i == 100)
			used = unit_info(map).memory_used;
	}
	assert_int_equal(blocks_taken(), 1);
	assert_int_equal(unit_info(map).memory_used, used);
	close_map();
}

/* ---- many at once ---- */

#define CROWD 200

static struct um_rec *rec_of[CROWD];
static pthread_barrier_t all_have_one;

static void *join_the_crowd(void *arg)
{
	uintptr_t i = (uintptr_t)arg;

	check_ok(put8(map, i, i));
	rec_of[i] = my_rec();
	pthread_barrier_wait(&all_have_one);
	check_eq(READ_ONCE(rec_of[i]->tid), gettid());
	check_ok(del8(map, i));
	check(my_rec() == rec_of[i]);
	return NULL;
}

static void every_living_thread_has_a_record_of_its_own(void **state)
{
	pthread_t t[CROWD];
	uintptr_t i, j;

	open_map(0);
	assert_ok(pthread_barrier_init(&all_have_one, NULL, CROWD));
	for (i = 0; i < CROWD; i++)
		assert_ok(pthread_create(&t[i], NULL, join_the_crowd, (void *)i));
	for (i = 0; i < CROWD; i++)
		assert_ok(pthread_join(t[i], NULL));
	for (i = 0; i < CROWD; i++)
		for (j = 0; j < i; j++)
			assert_ptr_not_equal(rec_of[i], rec_of[j]);
	assert_true(blocks_taken() <= CROWD / UM_BLOCK_RECS + 3);
	pthread_barrier_destroy(&all_have_one);
	close_map();
}

/* Waves, so that numbers of the dead are looked for while others are born. */
static void *be_born(void *arg)
{
	pthread_t child;

	use_once(arg);
	if ((uintptr_t)arg % 1000 > 1) {
		check_ok(pthread_create(&child, NULL, be_born, (char *)arg - 1));
		use_once(arg);
		check_ok(pthread_join(child, NULL));
	}
	use_once(arg);
	return NULL;
}

static void threads_are_born_while_numbers_are_reused(void **state)
{
	pthread_t t[8];
	uintptr_t round, i;

	open_map(0);
	for (round = 0; round < SCALED(200) + 5; round++) {
		for (i = 0; i < 8; i++)
			assert_ok(pthread_create(&t[i], NULL, be_born, (void *)(i * 1000 + 6)));
		for (i = 0; i < 8; i++)
			assert_ok(pthread_join(t[i], NULL));
	}
	assert_true(blocks_taken() <= 8);
	close_map();
}

/* ---- first calls ---- */

static void note_record(int index, void *arg)
{
	rec_of[index] = my_rec();
	add(arg, 1);
	wait_for(arg, TEAM_MAX); /* all live at once */
}

static void start_together(void *arg)
{
	uint64_t arrived = 0;
	int i, j;

	open_map(0);
	run_team(TEAM_MAX, note_record, &arrived);
	for (i = 0; i < TEAM_MAX; i++)
		for (j = 0; j < i; j++)
			check_msg(rec_of[i] != rec_of[j], "threads %d and %d share a record", i, j);
}

static void threads_that_start_together_have_records_of_their_own(void **state)
{
	int i;

	for (i = 0; i < SCALED(90) + 10; i++)
		run_child(start_together, NULL);
}

/* Stands where the first call of a thread brings a map into a child. */
static int interrupted_reattach(struct um_arena *a)
{
	raise(SIGUSR1);
	um_thread_attach(a);
	return 0;
}

static volatile sig_atomic_t handled;

static void call_in_first_call(int sig)
{
	uint64_t key = 1, value = 0;

	check_err(put8(map, 1, 9), -EBUSY);
	check_err(del8(map, 1), -EBUSY);
	check_err(um_map_add_elem(map, &key, 0, 1), -EBUSY);
	check_err(um_read_lock(map), -EBUSY);
	check_err(um_synchronize(map), -EBUSY);
	check_ok(get8(map, 1, &value)); /* needs no record */
	check_eq(value, 11);
	handled++;
}

static void *first_call(void *arg)
{
	check_ok(put8(map, 2, 22));
	check_eq(READ_ONCE(my_rec()->tid), gettid());
	check_eq(READ_ONCE(my_rec()->call_seq) % 2, 0);
	check_ok(um_read_lock(map));
	um_read_unlock(map);
	return NULL;
}

static void a_handler_over_a_first_call_is_refused_what_needs_a_record(void **state)
{
	struct sigaction sa = { .sa_handler = call_in_first_call };
	int (*reattach)(struct um_arena *a);
	pthread_t t;

	open_map(0);
	assert_ok(put8(map, 1, 11));
	assert_ok(sigaction(SIGUSR1, &sa, NULL));
	reattach = um_arena_reattach;
	um_arena_reattach = interrupted_reattach;
	WRITE_ONCE(map->arena.gen, 0);
	handled = 0;
	assert_ok(pthread_create(&t, NULL, first_call, NULL));
	assert_ok(pthread_join(t, NULL));
	um_arena_reattach = reattach;
	assert_int_equal(handled, 1);
	assert_int_equal(unit_stats(map).count, 2);
	assert_int_equal(unit_stats(map).busy, 3);
	close_map();
}

/* ---- records that change hands ---- */

static void *leave_in_a_section(void *arg)
{
	check_ok(um_read_lock(map));
	*(struct um_rec **)arg = my_rec();
	return NULL;
}

static void a_record_is_clean_when_it_changes_hands(void **state)
{
	struct um_rec *rec = NULL, was;

	open_map(0);
	my_rec();
	rec = my_rec() + 1;
	rec->section = 3 << 16 | 2;
	rec->call_seq = 7;
	rec->is_reader = 1;
	rec->held[0] = 5;
	rec->tid = 99;
	rec->gen = 255;
	was = *rec;
	um_thread_clear_rec(rec);
	assert_int_equal(rec->section, 0);
	assert_int_equal(rec->call_seq, 8);
	assert_int_equal(rec->is_reader, 0);
	assert_int_equal(rec->held[0], 0);
	assert_int_equal(rec->tid, 0);
	assert_int_equal(rec->gen, 0); /* 8 bits of the lock word */
	assert_int_not_equal(rec->gen, was.gen);
	close_map();
}

/* What its last process left in a block is not what the next one finds. */
static void a_block_is_clean_when_it_changes_hands(void **state)
{
	UM_OPTS(um_map_opts, o, .path = "block", .nr_cpus = 2);
	struct um_map *keeper = unit_map(8, 8, 100, &o);
	struct um_rec *rec;
	uint32_t b;
	int i;

	assert_ok(put8(keeper, 1, 1));
	for (i = 0; i < 2; i++) {
		map = unit_open("block");
		assert_ok(put8(map, 2, 2));
		b = (uint32_t)(my_rec() - map->arena.records) / UM_BLOCK_RECS;
		for_each_rec_of(&map->arena, b, rec) {
			if (rec == my_rec())
				continue;
			assert_int_equal(rec->section, 0);
			assert_int_equal(rec->call_seq % 2, 0);
			assert_int_equal(rec->held[0], 0);
			assert_int_equal(rec->tid, 0);
		}
		close_map();
		for_each_rec_of(&keeper->arena, b, rec) {
			rec->section = 1;
			rec->call_seq |= 1;
			rec->held[0] = 3;
			rec->tid = 99;
		}
	}
	um_map_close(keeper);
	assert_ok(um_map_unlink("block"));
}

static void a_section_of_a_dead_thread_ends_when_its_number_is_reused(void **state)
{
	struct um_rec *rec;
	pthread_t t;
	int i;

	open_map(0);
	map->arena.lock_timeout_ms = 20;
	assert_ok(pthread_create(&t, NULL, leave_in_a_section, &rec));
	assert_ok(pthread_join(t, NULL));
	for (i = 0; i < 2 * UM_BLOCK_RECS; i++) {
		assert_ok(pthread_create(&t, NULL, use_once, NULL));
		assert_ok(pthread_join(t, NULL));
	}
	assert_ok(um_synchronize(map));
	close_map();
}

/* Records change hands twice a round, so their generations come round. */
static void opening_again_and_again_uses_no_more_memory(void **state)
{
	UM_OPTS(um_map_opts, o, .path = "again", .nr_cpus = 2);
	struct um_map *keeper = unit_map(8, 8, 100, &o);
	uint64_t used = 0;
	int i;

	for (i = 0; i < 300; i++) {
		map = unit_open("again");
		assert_ok(put8(map, 1, 1));
		um_map_close(map);
		if (!i)
			used = unit_info(keeper).memory_used;
	}
	assert_int_equal(unit_info(keeper).memory_used, used);
	um_map_close(keeper);
	assert_ok(um_map_unlink("again"));
}

/* ---- fork ---- */

static void child_writes(void *arg)
{
	const struct um_rec *parents = arg;
	const struct um_map *m = map;
	uint64_t value;

	check_ok(get8(map, 1, &value));
	check_ok(put8(map, 2, 22));
	check_eq(READ_ONCE(my_rec()->tid), gettid());
	check(!m->arena.shared || my_rec() != parents);
	check_ok(get8(map, 2, &value));
	check_eq(value, 22);
	check_eq(unit_stats(map).count, 2);
}

static void a_child_gets_a_record_of_its_own(void **state)
{
	static const uint32_t um_flags[] = { 0, UM_F_MEMFD };
	uint64_t value;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct um_rec *rec, was;

		open_map(um_flags[i]);
		assert_ok(put8(map, 1, 1));
		rec = my_rec();
		was = *rec;
		run_child(child_writes, rec);
		assert_ptr_equal(my_rec(), rec);
		assert_int_equal(rec->tid, was.tid);
		assert_int_equal(rec->call_seq, was.call_seq);
		assert_int_equal(get8(map, 2, &value), um_flags[i] ? 0 : -ENOENT);
		close_map();
	}
}

static void grandchildren(void *arg)
{
	uintptr_t depth = (uintptr_t)arg;

	check_ok(put8(map, 100 + depth, depth));
	check_eq(READ_ONCE(my_rec()->tid), gettid());
	if (depth)
		run_child(grandchildren, (void *)(depth - 1));
	check_ok(put8(map, 200 + depth, depth));
}

static void children_of_children_write_too(void **state)
{
	open_map(UM_F_MEMFD);
	my_rec();
	run_child(grandchildren, (void *)5);
	assert_int_equal(unit_stats(map).count, 12);
	close_map();
}

static void child_with_threads(void *arg)
{
	pthread_t t[10];
	uintptr_t i;

	for (i = 0; i < 10; i++)
		check_ok(pthread_create(&t[i], NULL, use_once, (void *)i));
	for (i = 0; i < 10; i++)
		check_ok(pthread_join(t[i], NULL));
	check_eq(unit_stats(map).count, 10);
}

static void the_first_calls_of_a_child_may_come_from_several_threads(void **state)
{
	static const uint32_t um_flags[] = { 0, UM_F_MEMFD };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		open_map(um_flags[i]);
		my_rec();
		run_child(child_with_threads, NULL);
		close_map();
	}
}

static void child_closes(void *arg)
{
	um_map_close(map);
}

static void a_child_that_closes_unused_takes_nothing_from_its_parent(void **state)
{
	static const uint32_t um_flags[] = { 0, UM_F_MEMFD };
	struct um_rec *rec;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		open_map(um_flags[i]);
		assert_ok(put8(map, 1, 1));
		rec = my_rec();
		run_child(child_closes, NULL);
		assert_ptr_equal(my_rec(), rec);
		assert_int_equal(blocks_taken(), 1);
		assert_ok(put8(map, 2, 2));
		close_map();
	}
}

static void leave_section(void *arg)
{
	uint64_t key = 1, *ref = um_map_lookup_ref(map, &key);

	check(ref && *ref == 7);
	um_read_unlock(map);
	check_ok(um_read_lock(map));
	um_read_unlock(map);
	check_ok(put8(map, 1, 8));
}

/* The section stays its parent's; the child may say that it leaves it. */
static void a_child_forked_in_a_section_can_leave_it(void **state)
{
	static const uint32_t um_flags[] = { 0, UM_F_MEMFD };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		UM_OPTS(um_map_opts, o, .um_flags = um_flags[i]);

		map = unit_map(8, 8, 100, &o);
		assert_ok(put8(map, 1, 7));
		assert_ok(um_read_lock(map));
		run_child(leave_section, NULL);
		um_read_unlock(map);
		um_map_close(map);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_thread_keeps_its_record),
	cmocka_unit_test(a_thread_has_a_record_in_each_map_but_one_number),
	cmocka_unit_test(records_do_not_grow_with_threads_that_come_and_go),
	cmocka_unit_test(every_living_thread_has_a_record_of_its_own),
	cmocka_unit_test(threads_are_born_while_numbers_are_reused),
	cmocka_unit_test(threads_that_start_together_have_records_of_their_own),
	cmocka_unit_test(a_handler_over_a_first_call_is_refused_what_needs_a_record),
	cmocka_unit_test(a_record_is_clean_when_it_changes_hands),
	cmocka_unit_test(a_block_is_clean_when_it_changes_hands),
	cmocka_unit_test(a_section_of_a_dead_thread_ends_when_its_number_is_reused),
	cmocka_unit_test(opening_again_and_again_uses_no_more_memory),
	cmocka_unit_test(a_child_gets_a_record_of_its_own),
	cmocka_unit_test(children_of_children_write_too),
	cmocka_unit_test(the_first_calls_of_a_child_may_come_from_several_threads),
	cmocka_unit_test(a_child_that_closes_unused_takes_nothing_from_its_parent),
	cmocka_unit_test(a_child_forked_in_a_section_can_leave_it),
};

UNIT_MAIN(tests)
