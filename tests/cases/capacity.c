/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* capacity.c - a map takes exactly max_entries, whoever races for the last place. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include "check.h"
#include "maps.h"
#include "rng.h"
#include "threads.h"

#define THREADS 16

struct race {
	struct um_map *map;
	uint32_t max, keys;
	atomic_uint ok, full, done;
};

/* Thread i inserts the keys that are i modulo THREADS; one more samples the count. */
static void insert_or_sample(int index, void *arg)
{
	struct race *r = arg;
	uint64_t value = 1;
	uint32_t key;

	if (index == THREADS) {
		while (atomic_load(&r->done) < THREADS)
			check_msg(map_count(r->map) <= r->max, "the count is above max_entries");
		return;
	}
	for (key = (uint32_t)index; key < r->keys; key += THREADS) {
		int err = um_map_update_elem(r->map, &key, &value, BPF_NOEXIST);

		check_msg(!err || err == -E2BIG, "an insert answers %s", errno_text(err));
		atomic_fetch_add(err ? &r->full : &r->ok, 1);
	}
	atomic_fetch_add(&r->done, 1);
}

static void race_for(const struct shape *s)
{
	struct race r = { .map = make_map(s), .max = s->max, .keys = s->max * 8 / 5 };
	struct um_map_stats st = { .sz = sizeof(st) };
	uint32_t key, took = 0, i;
	uint64_t value = 2;

	if (r.keys < s->max + THREADS)
		r.keys = s->max + THREADS;
	run_team(THREADS + 1, insert_or_sample, &r);
	check_msg(r.ok == s->max && r.full == r.keys - s->max, "%u inserts went in, %u did not: %s",
		  r.ok, r.full, shape_text(s));
	check_counts(r.map, s->max);
	check_ok(um_map_get_stats(r.map, &st));
	check_eq(st.refused, r.full);

	check_ok(um_map_get_next_key(r.map, NULL, &key));
	check_ok(um_map_delete_elem(r.map, &key));
	for (i = 0; i < 2; i++) {
		key = r.keys + i;
		took += !um_map_update_elem(r.map, &key, &value, BPF_NOEXIST);
	}
	check_eq(took, 1);
	check_counts(r.map, s->max);
	um_map_close(r.map);
}

static void exactly_max_entries_of_racing_inserts_succeed(void)
{
	uint32_t n = (uint32_t)um_possible_cpus();
	uint32_t max[] = { 1000, 1, n > 1 ? n - 1 : 1, n + 1 };
	size_t i;

	for (uint32_t flags = 0; flags < NR_MODES; flags++)
		for (i = 0; i < 4; i++) {
			struct shape s = { .max = max[i], .map_flags = flags };

			race_for(&s);
		}
}

static void the_number_of_lists_does_not_change_the_capacity(void)
{
	uint32_t cpus[] = { 1, 7, 64, 65, 256, 1024 };
	size_t i;

	for (uint32_t flags = 0; flags < NR_MODES; flags++)
		for (i = 0; i < 6; i++) {
			struct shape s = { .max = 300, .map_flags = flags, .nr_cpus = cpus[i] };

			race_for(&s);
			s.max = cpus[i] - (cpus[i] > 1);
			race_for(&s);
		}
}

static void capacity_is_exact_in_maps_that_are_shared(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .max = 500, .map_flags = flags, .backing = MEMFD };

		race_for(&s);
		s.backing = IN_FILE;
		race_for(&s);
		check_ok(um_map_unlink("map"));
	}
}

/* Two threads take turns at the last place of a full map. */
static void delete_then_insert(int index, void *arg)
{
	struct race *r = arg;
	uint32_t key = r->max + (uint32_t)index, i;
	uint64_t value = 3;

	for (i = 0; i < 20000; i++) {
		int err = um_map_update_elem(r->map, &key, &value, BPF_NOEXIST);

		if (err == -E2BIG) {
			atomic_fetch_add(&r->full, 1);
			continue;
		}
		check_ok(err);
		atomic_fetch_add(&r->ok, 1);
		check_msg(map_count(r->map) <= r->max, "the count is above max_entries");
		check_ok(um_map_delete_elem(r->map, &key));
	}
}

static void a_map_that_breathes_at_its_limit_keeps_its_capacity(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct race r = { .map = small_map(100, flags), .max = 100 };
		uint32_t key;

		check_eq(fill_up(r.map, 0), 100);
		key = 99;
		check_ok(um_map_delete_elem(r.map, &key));
		run_team(4, delete_then_insert, &r);
		check(r.ok > 0);
		check_counts(r.map, 99);
		check_eq(fill_up(r.map, 1000), 1);
		check_counts(r.map, 100);
		um_map_close(r.map);
	}
}

/* From here on the system has no more memory for this process, or has again. */
static void allow_memory(int allow)
{
	struct rlimit limit;

	check(!getrlimit(RLIMIT_DATA, &limit));
	limit.rlim_cur = allow ? limit.rlim_max : 4096; /* 0 would mean no limit */
	check(!setrlimit(RLIMIT_DATA, &limit));
}

static void a_failed_insert_costs_no_capacity(void)
{
	static unsigned char value[8000];
	struct shape s = { .value_size = sizeof(value),
			   .max = 100,
			   .map_flags = BPF_F_NO_PREALLOC };
	struct um_map *map = make_map(&s);
	uint32_t key, stored = 0, refused = 0;

	for (key = 0; key < 1000; key++) {
		int err;

		allow_memory(key % 2);
		err = um_map_update_elem(map, &key, value, BPF_NOEXIST);
		allow_memory(1);
		check_msg(!err || err == -ENOMEM, "an insert answers %s", errno_text(err));
		refused += err == -ENOMEM;
		stored += !err;
		check_eq(map_count(map), stored);
		if (!err && stored > key / 20) { /* let it grow to 50 by and by */
			check_ok(um_map_delete_elem(map, &key));
			stored--;
		}
		check_eq(map_count(map), stored);
	}
	check_counts(map, stored);
	check_msg(refused > 0, "no insert lacked memory, so nothing was shown");
	check_eq(fill_up(map, 100000), 100 - stored);
	check_counts(map, 100);
	um_map_close(map);
}

static void without_memory_deletes_work_and_inserts_change_nothing(void)
{
	static unsigned char value[8000], back[8000];
	struct shape s = { .value_size = sizeof(value),
			   .max = 200,
			   .map_flags = BPF_F_NO_PREALLOC };
	struct um_map *map = make_map(&s);
	struct um_map_stats st = { .sz = sizeof(st) };
	uint32_t key, fresh;
	int err = 0;

	for (key = 0; key < 100; key++) {
		value_of(key, value, sizeof(value));
		check_ok(um_map_update_elem(map, &key, value, BPF_NOEXIST));
	}
	allow_memory(0);
	for (fresh = 1000; !err && fresh < 1200; fresh++)
		err = um_map_update_elem(map, &fresh, value, BPF_NOEXIST);
	fresh -= 1001; /* how many went into the reserve */
	allow_memory(1);
	check_err(err, -ENOMEM);
	check_counts(map, 100 + fresh);
	check_ok(um_map_get_stats(map, &st));
	check_eq(st.nomem, 1);
	allow_memory(0);
	for (key = 0; key < 100; key++) {
		uint64_t n;

		check_ok(um_map_lookup_and_delete_elem(map, &key, back));
		check(value_number(back, sizeof(back), &n) && n == key);
	}
	allow_memory(1);
	check_counts(map, fresh);
	um_map_close(map);
}

static void refused_calls_cost_no_capacity(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct um_map *map = small_map(100, flags);
		uint32_t key, i;
		uint64_t value = 5;

		for (key = 0; key < 50; key++)
			check_ok(um_map_update_elem(map, &key, &value, BPF_ANY));
		for (i = 0; i < 10000; i++) {
			key = i % 50;
			check_err(um_map_update_elem(map, &key, &value, BPF_NOEXIST), -EEXIST);
			check_err(um_map_update_elem(map, &key, &value, 77), -EINVAL);
			check_err(um_map_update_elem(map, &key, &value, BPF_F_LOCK), -EINVAL);
			key += 50;
			check_err(um_map_update_elem(map, &key, &value, BPF_EXIST), -ENOENT);
			check_err(um_map_delete_elem(map, &key), -ENOENT);
			check_err(um_map_upsert_elem(map, &key, NULL, NULL, NULL), -EFAULT);
		}
		check_counts(map, 50);
		check_eq(fill_up(map, 50), 50);
		check_counts(map, 100);
		um_map_close(map);
	}
}

static const struct test tests[] = {
	{ "exactly_max_entries_of_racing_inserts_succeed",
	  exactly_max_entries_of_racing_inserts_succeed },
	{ "the_number_of_lists_does_not_change_the_capacity",
	  the_number_of_lists_does_not_change_the_capacity },
	{ "capacity_is_exact_in_maps_that_are_shared", capacity_is_exact_in_maps_that_are_shared },
	{ "a_map_that_breathes_at_its_limit_keeps_its_capacity",
	  a_map_that_breathes_at_its_limit_keeps_its_capacity },
	{ "a_failed_insert_costs_no_capacity", a_failed_insert_costs_no_capacity },
	{ "without_memory_deletes_work_and_inserts_change_nothing",
	  without_memory_deletes_work_and_inserts_change_nothing },
	{ "refused_calls_cost_no_capacity", refused_calls_cost_no_capacity },
};

TEST_MAIN(tests)
