/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_mem_alloc.c - elements: free, waiting for readers, fresh. */
#include "unit.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "map/htab.h"

static struct um_map *map;

static void open_map(uint32_t max, uint32_t spares, uint32_t map_flags, uint32_t um_flags)
{
	UM_OPTS(um_map_opts, o, .spares = spares, .map_flags = map_flags, .um_flags = um_flags,
		.nr_cpus = 3, .lock_timeout_ms = 50);

	map = unit_map(8, 16, max, &o);
}

static void close_map(void)
{
	um_map_close(map);
	map = NULL;
}

static int put(uint64_t key, uint64_t n)
{
	uint64_t value[2] = { n, n };

	return um_map_update_elem(map, &key, value, BPF_ANY);
}

static uint64_t *ref(uint64_t key)
{
	return um_map_lookup_ref(map, &key);
}

/* ---- every element is somewhere ---- */

static void every_element_is_given_out_once(void **state)
{
	static const uint32_t flags[] = { 0, BPF_F_NO_PREALLOC };
	uint32_t i, n;

	for (i = 0; i < 2; i++) {
		struct um_mem *m;
		uint8_t *given;
		elem_idx e;
		int err;

		open_map(1000, 77, flags[i], 0);
		m = &map->htab.mem;
		given = calloc(1078, 1);
		for (n = 0; (e = um_mem_alloc(m, n % 3, &err)) != 0; n++) {
			assert_true(e <= 1077);
			assert_int_equal(given[e]++, 0);
			memset(elem_key(&map->htab, e), 0xff, map->htab.stride);
		}
		assert_ok(err);
		assert_int_equal(n, 1077);
		for (n = 1; n <= 1077; n++)
			um_mem_free(m, n % 3, n);
		for (n = 0; um_mem_alloc(m, 0, &err); n++)
			;
		assert_int_equal(n, 1077);
		free(given);
		close_map();
	}
}

static void used_elements_are_taken_before_fresh_ones(void **state)
{
	uint32_t i;

	open_map(1000, 100, BPF_F_NO_PREALLOC, 0);
	for (i = 0; i < 1000; i++) {
		assert_ok(put(1, i));
		assert_ok(del8(map, 1));
	}
	assert_true(map->arena.hdr->elem_fresh <= 49);
	close_map();
}

/* Two epochs have to pass, and one allocation may find only one of them over. */
static void waiting_elements_are_taken_before_fresh_ones(void **state)
{
	uint32_t i;

	open_map(1000, 100, BPF_F_NO_PREALLOC, 0);
	assert_ok(um_read_lock(map));
	um_read_unlock(map);
	for (i = 0; i < 10000; i++) {
		assert_ok(put(1, i));
		assert_ok(del8(map, 1));
	}
	assert_true(map->arena.hdr->elem_fresh <= 100);
	close_map();
}

static void memory_of_a_map_on_demand_grows_as_it_is_used(void **state)
{
	uint64_t empty, before, key;

	open_map(1u << 20, 100, BPF_F_NO_PREALLOC, 0);
	empty = before = unit_info(map).memory_used;
	for (key = 0; key < 100000; key++) {
		assert_ok(put(key, key));
		if (key % 10000 == 9999) {
			uint64_t used = unit_info(map).memory_used;

			assert_true(used > before && used - before < 10000 * 24 * 2 + 65536);
			before = used;
		}
	}
	assert_true(before - empty < 100000 * (24 + 4) + 6553 * 64 + 65536 * 2);
	for (key = 0; key < 100000; key++)
		assert_ok(del8(map, key));
	for (key = 0; key < 100000; key++)
		assert_ok(put(key + 100000, key));
	assert_true(unit_info(map).memory_used - before < 65536);
	assert_true(unit_info(map).memory_used < unit_info(map).memory_max);
	close_map();
}

#define LARGE 65536

static void put_large(int thread, void *arg)
{
	static const char value[LARGE];
	uint64_t key, i;

	for (i = 0; i < 16; i++) {
		key = (uint64_t)thread * 16 + i;
		check_ok(um_map_update_elem(arg, &key, value, BPF_ANY));
	}
}

/* Large elements are committed by each allocation of a run, so threads meet there. */
static void memory_that_racing_threads_commit_is_counted_once(void **state)
{
	UM_OPTS(um_map_opts, o, .map_flags = BPF_F_NO_PREALLOC, .nr_cpus = 2);
	int round;

	for (round = 0; round < 30; round++) {
		const struct um_header *h;
		uint64_t used, elems, ovf;

		map = unit_map(8, LARGE, 1000, &o);
		h = map->arena.hdr;
		put_large(8, map); /* this thread's record is there now */
		used = h->committed;
		elems = h->elem_committed;
		ovf = h->ovf_committed;
		run_team(8, put_large, map);
		assert_int_equal(h->committed - used,
				 (h->elem_committed - elems) * (map->htab.stride + 4) +
					 (h->ovf_committed - ovf) * sizeof(struct bucket));
		close_map();
	}
}

/* ---- readers ---- */

static void an_element_deleted_in_a_section_is_not_reused_until_it_ends(void **state)
{
	uint64_t *held, i;
	int err = 0;

	open_map(2, 3, 0, 0);
	assert_ok(put(1, 11));
	assert_ok(um_read_lock(map));
	held = ref(1);
	assert_ok(del8(map, 1));
	assert_int_equal(unit_stats(map).waiting, 1);
	assert_int_equal(unit_stats(map).count, 0);
	for (i = 0; !err; i++) {
		err = put(2, i);
		assert_int_equal(held[0], 11);
		assert_int_equal(held[1], 11);
	}
	assert_int_equal(err, -EBUSY);
	assert_int_equal(i - 1, 4); /* of five elements */
	assert_int_equal(ref(2)[0], 3); /* the last that went in */
	assert_int_equal(unit_stats(map).count, 1);
	assert_int_equal(unit_stats(map).waiting, 4);
	um_read_unlock(map);
	for (i = 0; i < 100; i++)
		assert_ok(put(2, i));
	close_map();
}

static void an_inner_section_does_not_end_the_outer(void **state)
{
	uint64_t *held, i;

	open_map(1, 1, 0, 0);
	assert_ok(put(1, 11));
	assert_ok(um_read_lock(map));
	held = ref(1);
	assert_ok(um_read_lock(map));
	assert_ok(put(1, 12));
	um_read_unlock(map);
	for (i = 0; i < 10; i++)
		assert_int_equal(put(1, 13), -EBUSY);
	assert_int_equal(held[0], 11);
	assert_int_equal(ref(1)[0], 12);
	um_read_unlock(map);
	assert_ok(put(1, 14));
	close_map();
}

static void sit(int index, void *arg)
{
	uint64_t *held;

	check_ok(um_read_lock(map));
	held = ref(1);
	store(arg, 1);
	wait_for(arg, 2);
	check_eq(held[0], 11);
	um_read_unlock(map);
}

static void a_reader_that_sits_makes_writers_time_out_and_loses_nothing(void **state)
{
	struct team t;
	uint64_t step = 0, i;
	int err = 0;

	open_map(2, 2, 0, 0);
	assert_ok(put(1, 11));
	team_start(&t, 1, sit, &step);
	wait_for(&step, 1);
	for (i = 0; !err && i < 100; i++)
		err = put(1, 100 + i);
	assert_int_equal(err, -ETIMEDOUT);
	assert_int_equal(unit_stats(map).timeouts, 1);
	assert_int_equal(unit_stats(map).count, 1);
	assert_true(unit_stats(map).waiting > 0);
	assert_ok(del8(map, 1)); /* needs no element */
	assert_int_equal(put(2, 1), -ETIMEDOUT);
	store(&step, 2);
	team_join(&t);
	for (i = 0; i < 100; i++)
		assert_ok(put(1 + i % 2, i));
	assert_int_equal(put(3, 1), -E2BIG);
	close_map();
}

static void who_wants_the_kernels_way_has_elements_reused_at_once(void **state)
{
	uint64_t *held, i;

	open_map(1, 1, 0, UM_F_REUSE);
	assert_ok(put(1, 11));
	assert_ok(um_read_lock(map));
	held = ref(1);
	for (i = 0; i < 100; i++)
		assert_ok(put(1, 100 + i));
	assert_int_not_equal(held[0], 11);
	assert_int_equal(unit_stats(map).waiting, 0);
	um_read_unlock(map);
	close_map();
}

static void without_readers_nothing_waits(void **state)
{
	uint64_t i;

	open_map(1, 1, 0, 0);
	for (i = 0; i < 1000; i++)
		assert_ok(put(1, i));
	assert_int_equal(unit_stats(map).waiting, 0);
	close_map();
}

/* ---- no memory ---- */

static void fill_without_memory(void *arg)
{
	struct rlimit l;
	uint64_t key, full, value[2];
	int err = 0;

	open_map(1u << 20, 100, BPF_F_NO_PREALLOC, UM_F_MEMFD);
	/* what the map has not taken yet is not there to be had */
	for (key = 0; key < 1000; key++)
		check_ok(put(key, key));
	check_ok(mprotect(map->arena.base + map->arena.geo.fixed_end, 4096, PROT_READ | PROT_WRITE));
	check(munmap(map->arena.base + map->arena.geo.elems + (4u << 20),
		     map->arena.geo.records - map->arena.geo.elems - (4u << 20)) == 0);
	l = (struct rlimit){ 0, 0 };
	setrlimit(RLIMIT_CORE, &l);
	for (; !err; key++)
		err = put(key, key);
	check_err(err, -ENOMEM);
	full = --key;
	check_eq(unit_stats(map).count, full);
	check_eq(unit_stats(map).nomem, 1);
	for (key = 0; key < full; key++) {
		check_ok(um_map_lookup_elem(map, &key, value));
		check_eq(value[0], key);
	}
	check_err(put(full, 1), -ENOMEM);
	check_ok(del8(map, 5));
	check_ok(put(full, 1));
}

static void no_memory_is_an_error_and_the_map_is_whole(void **state)
{
	run_child(fill_without_memory, NULL);
}

/* ---- threads ---- */

#define HELD 8

struct race {
	uint64_t *owner;
	uint32_t nr;
};

static void take_and_give(int thread, void *arg)
{
	struct race *r = arg;
	struct um_mem *m = &map->htab.mem;
	struct rng rng = rng_new(test_seed, (uint64_t)thread);
	elem_idx held[HELD];
	uint32_t nr = 0, i;
	int err;

	for (i = 0; i < SCALED(100000); i++) {
		uint32_t cpu = rng_below(&rng, 3);
		elem_idx e;

		if (nr < HELD && (!nr || rng_below(&rng, 2))) {
			e = um_mem_alloc(m, cpu, &err);
			if (!e)
				continue;
			check_eq(__atomic_exchange_n(&r->owner[e], 1, __ATOMIC_ACQ_REL), 0);
			held[nr++] = e;
		} else {
			e = held[--nr];
			check_eq(__atomic_exchange_n(&r->owner[e], 0, __ATOMIC_ACQ_REL), 1);
			if (rng_below(&rng, 2))
				um_mem_free_rcu(m, cpu, e);
			else
				um_mem_free(m, cpu, e);
		}
	}
	while (nr) {
		store(&r->owner[held[--nr]], 0);
		um_mem_free_rcu(m, 0, held[nr]);
	}
}

static void racing_threads_share_no_element_and_lose_none(void **state)
{
	struct race r;
	struct um_rec *reader;
	uint32_t n;
	int err;

	open_map(50, 50, BPF_F_NO_PREALLOC, 0);
	assert_ok(um_read_lock(map));
	um_read_unlock(map);
	r.owner = calloc(101, sizeof(*r.owner));
	run_team(8, take_and_give, &r);
	for (n = 0; n < 3; n++)
		assert_true(um_mem_reclaim(&map->htab.mem, 0, &reader) != -EAGAIN);
	for (n = 0; um_mem_alloc(&map->htab.mem, 0, &err); n++)
		;
	assert_int_equal(n, 100);
	assert_int_equal(um_mem_waiting(&map->htab.mem), 0);
	free(r.owner);
	close_map();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_element_is_given_out_once),
	cmocka_unit_test(used_elements_are_taken_before_fresh_ones),
	cmocka_unit_test(waiting_elements_are_taken_before_fresh_ones),
	cmocka_unit_test(memory_that_racing_threads_commit_is_counted_once),
	cmocka_unit_test(memory_of_a_map_on_demand_grows_as_it_is_used),
	cmocka_unit_test(an_element_deleted_in_a_section_is_not_reused_until_it_ends),
	cmocka_unit_test(an_inner_section_does_not_end_the_outer),
	cmocka_unit_test(a_reader_that_sits_makes_writers_time_out_and_loses_nothing),
	cmocka_unit_test(who_wants_the_kernels_way_has_elements_reused_at_once),
	cmocka_unit_test(without_readers_nothing_waits),
	cmocka_unit_test(no_memory_is_an_error_and_the_map_is_whole),
	cmocka_unit_test(racing_threads_share_no_element_and_lose_none),
};

UNIT_MAIN(tests)
