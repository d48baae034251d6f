/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * test_map.c - the public calls: which error goes first, structs of other
 * sizes, and callbacks that do what they may.
 */
#include "unit.h"

static struct um_map *map;

static void open_map(uint32_t map_flags, uint32_t value_size)
{
	UM_OPTS(um_map_opts, o, .map_flags = map_flags, .nr_cpus = 2, .lock_timeout_ms = 200);

	map = unit_map(8, value_size, 10, &o);
}

static void close_map(void)
{
	um_map_close(map);
	map = NULL;
}

static void assert_no_lock_held(void)
{
	uint32_t i;

	assert_int_equal(um_self.locks_held, 0);
	for (i = 0; i < map->htab.nr_buckets; i++)
		assert_int_equal(map->htab.buckets[i].lock, 0);
}

/* ---- which error goes first ---- */

static int keep(void *value, void *ctx)
{
	return 0;
}

/* Permission goes before pointers; a bad flag of bpf(2) before permission. */
static void a_frozen_map_says_so_before_it_looks_at_arguments(void **state)
{
	uint64_t key = 1, value = 0;

	open_map(0, 8);
	assert_ok(put8(map, 1, 11));
	assert_ok(um_map_freeze(map));
	assert_int_equal(um_map_freeze(map), -EPERM);
	assert_int_equal(um_map_update_elem(map, NULL, NULL, 99), -EPERM);
	assert_int_equal(um_map_update_elem(map, &key, &value, BPF_F_LOCK), -EPERM);
	assert_int_equal(um_map_delete_elem(map, NULL), -EPERM);
	assert_int_equal(um_map_lookup_and_delete_elem(map, NULL, NULL), -EPERM);
	assert_int_equal(um_map_lookup_and_delete_elem_flags(map, NULL, NULL, 0), -EPERM);
	assert_int_equal(um_map_lookup_and_delete_elem_flags(map, NULL, NULL, 8), -EINVAL);
	assert_int_equal(um_map_lookup_and_delete_elem_flags(map, &key, &value, BPF_F_LOCK), -EPERM);
	assert_int_equal(um_map_upsert_elem(map, NULL, NULL, NULL, NULL), -EPERM);
	assert_int_equal(um_map_add_elem(map, NULL, 3, 1), -EPERM);
	assert_ok(get8(map, 1, &value));
	assert_int_equal(value, 11);
	close_map();
}

static void flags_of_an_update_are_told_apart(void **state)
{
	uint64_t key = 1, value = 11;

	open_map(0, 8);
	assert_int_equal(um_map_update_elem(map, NULL, NULL, BPF_F_LOCK), -EINVAL);
	assert_int_equal(um_map_update_elem(map, NULL, NULL, 99), -EFAULT);
	assert_int_equal(um_map_update_elem(map, &key, &value, BPF_EXIST + 1), -EINVAL);
	assert_int_equal(um_map_update_elem(map, &key, &value, 1ull << 63), -EINVAL);
	assert_int_equal(um_map_update_elem(map, &key, &value, BPF_EXIST), -ENOENT);
	assert_ok(um_map_update_elem(map, &key, &value, BPF_NOEXIST));
	assert_int_equal(um_map_update_elem(map, &key, &value, BPF_NOEXIST), -EEXIST);
	assert_int_equal(um_map_lookup_elem_flags(map, NULL, NULL, 1), -EINVAL);
	assert_int_equal(um_map_lookup_elem_flags(map, NULL, NULL, BPF_F_LOCK), -EINVAL);
	assert_int_equal(um_map_lookup_elem_flags(map, &key, &value, 1ull << 32), -EINVAL);
	assert_int_equal(unit_stats(map).count, 1);
	close_map();
}

static void the_first_wrong_thing_of_a_new_map_gives_the_answer(void **state)
{
	UM_OPTS(um_map_opts, extra, .map_extra = 1);
	UM_OPTS(um_map_opts, unknown, .map_flags = 1u << 31);
	UM_OPTS(um_map_opts, cpus, .nr_cpus = UM_MAX_CPUS + 1);
	const uint32_t big = 1u << 30;

	map = NULL;
	/* each call has this fault and all later ones */
	assert_int_equal(um_map_price(BPF_MAP_TYPE_ARRAY, "?", 0, 0, 0, &extra, NULL, NULL), -EINVAL);
	assert_int_equal(um_map_price(BPF_MAP_TYPE_ARRAY, "?", 0, 0, 0, &unknown, NULL, NULL),
			 -UM_ENOTSUPP);
	assert_int_equal(um_map_price(BPF_MAP_TYPE_HASH, "?", big, big, 0, NULL, NULL, NULL),
			 -EINVAL);
	assert_int_equal(um_map_price(BPF_MAP_TYPE_HASH, "?", big, big, 1, &cpus, NULL, NULL),
			 -E2BIG);
	assert_int_equal(um_map_price(BPF_MAP_TYPE_HASH, "?", 8, 8, 1, &cpus, NULL, NULL), -EINVAL);
	assert_int_equal(um_map_create(BPF_MAP_TYPE_HASH, "?", 8, 8, 1, NULL, NULL), -EINVAL);
	assert_int_equal(um_map_create(BPF_MAP_TYPE_HASH, "ok", 8, 8, 1, NULL, NULL), -EFAULT);
	assert_int_equal(um_map_open(NULL, NULL, NULL), -EFAULT);
	assert_int_equal(um_map_open(NULL, NULL, &map), -EFAULT);
	assert_int_equal(um_map_open("", NULL, &map), -ENOENT);
	assert_int_equal(um_map_open_fd(-1, NULL, NULL), -EFAULT);
	assert_int_equal(um_map_open_fd(-1, NULL, &map), -EBADF);
	assert_null(map);
}

static void a_counter_of_an_add_is_inside_the_value(void **state)
{
	static const struct {
		uint32_t value_size;
		size_t offset;
		int first; /* answer to the first add */
	} at[] = {
		{ 4, 0, -EINVAL },	    { 7, 0, -EINVAL },	  { 8, 0, 1 },
		{ 8, 8, -EINVAL },	    { 8, 4, -EINVAL },	  { 15, 8, -EINVAL },
		{ 16, 8, 1 },		    { 16, 9, -EINVAL },	  { 20, 8, 1 },
		{ 20, 16, -EINVAL },	    { 24, 16, 1 },	  { 24, 24, -EINVAL },
		{ 24, (size_t)-8, -EINVAL }, { 24, 1ull << 32, -EINVAL },
	};
	uint64_t key = 1, value[4], i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		open_map(0, at[i].value_size);
		assert_int_equal(um_map_add_elem(map, &key, at[i].offset, 5), at[i].first);
		assert_int_equal(unit_stats(map).count, at[i].first == 1);
		if (at[i].first == 1) {
			assert_ok(um_map_add_elem(map, &key, at[i].offset, (uint64_t)-7));
			assert_ok(um_map_lookup_elem(map, &key, value));
			assert_int_equal(value[at[i].offset / 8], (uint64_t)-2);
			if (at[i].offset)
				assert_int_equal(value[0], 0);
		}
		close_map();
	}
}

/* ---- structs of other versions ---- */

static void options_of_opening_may_be_of_another_version(void **state)
{
	UM_OPTS(um_map_opts, o, .path = "versions");
	struct {
		struct um_open_opts opts;
		uint64_t more;
	} later = { { .sz = sizeof(later) }, 0 };
	struct um_open_opts earlier = { .sz = offsetof(struct um_open_opts, lock_timeout_ms),
					.map_flags = BPF_F_RDONLY, .lock_timeout_ms = 77 };
	struct um_open_opts none = { .sz = sizeof(size_t) - 1 };
	struct um_map *keeper = unit_map(8, 8, 10, &o);

	assert_ok(um_map_open("versions", &later.opts, &map));
	close_map();
	later.more = 1ull << 63;
	assert_int_equal(um_map_open("versions", &later.opts, &map), -E2BIG);
	assert_int_equal(um_map_open_fd(um_map_fd(keeper), &later.opts, &map), -E2BIG);
	assert_int_equal(um_map_open("versions", &none, &map), -EINVAL);
	assert_null(map);
	assert_ok(um_map_open("versions", &earlier, &map));
	assert_int_equal(unit_info(map).read_only, 1);
	assert_int_not_equal(map->arena.lock_timeout_ms, 77); /* beyond its size */
	close_map();
	um_map_close(keeper);
	assert_ok(um_map_unlink("versions"));
}

/* Each size: what fits is written, "sz" stays, and no byte beyond. */
static void descriptions_of_every_size_get_what_fits(void **state)
{
	struct um_map_info info, whole_info;
	struct um_map_stats stats, whole_stats;
	struct {
		struct um_map_stats stats;
		uint64_t more;
	} later = { { .sz = sizeof(later) }, 0x77 };
	unsigned char want[sizeof(info)];
	size_t sz;

	open_map(0, 8);
	assert_ok(put8(map, 1, 1));
	whole_info = unit_info(map);
	whole_stats = unit_stats(map);
	assert_int_equal(whole_stats.count, 1);
	for (sz = 8; sz <= sizeof(info); sz++) {
		memset(&info, 0xee, sizeof(info));
		memset(want, 0xee, sizeof(info));
		info.sz = whole_info.sz = sz;
		memcpy(want, &whole_info, sz);
		assert_ok(um_map_get_info(map, &info));
		assert_memory_equal(&info, want, sizeof(info));
	}
	for (sz = 8; sz <= sizeof(stats); sz++) {
		memset(&stats, 0xee, sizeof(stats));
		memset(want, 0xee, sizeof(stats));
		stats.sz = whole_stats.sz = sz;
		memcpy(want, &whole_stats, sz);
		assert_ok(um_map_get_stats(map, &stats));
		assert_memory_equal(&stats, want, sizeof(stats));
	}
	assert_ok(um_map_get_stats(map, &later.stats));
	assert_int_equal(later.stats.count, 1);
	assert_int_equal(later.more, 0x77);
	close_map();
}

/* ---- callbacks ---- */

static int add_one_or_fail(void *value, void *ctx)
{
	++*(uint64_t *)value;
	return *(int *)ctx;
}

static void an_upsert_that_is_called_off_changes_nothing(void **state)
{
	static const uint32_t sizes[] = { 8, 16, 4096 };
	uint64_t key = 1, value[512] = { 5 };
	int code, i;

	for (i = 0; i < 3; i++) {
		open_map(0, sizes[i]);
		code = -ECANCELED; /* not called for a new key */
		assert_int_equal(um_map_upsert_elem(map, &key, NULL, add_one_or_fail, &code), -ENOENT);
		assert_int_equal(um_map_upsert_elem(map, &key, value, add_one_or_fail, &code), 1);
		assert_int_equal(um_map_upsert_elem(map, &key, value, add_one_or_fail, &code),
				 -ECANCELED);
		code = -4095;
		assert_int_equal(um_map_upsert_elem(map, &key, NULL, add_one_or_fail, &code), -4095);
		assert_ok(um_map_lookup_elem(map, &key, value));
		assert_int_equal(value[0], 5);
		code = 0;
		assert_int_equal(um_map_upsert_elem(map, &key, NULL, add_one_or_fail, &code), 0);
		assert_ok(um_map_lookup_elem(map, &key, value));
		assert_int_equal(value[0], 6);
		value[0] = 5;
		assert_no_lock_held();
		close_map();
	}
}

/* Changes its own key, deletes it, and walks, in the middle of an upsert of it. */
static int call_all(void *value, void *ctx)
{
	uint64_t key = 1, next, other[2] = { 100, 100 }, *calls = ctx;
	struct um_iter *it;

	if ((*calls)++ == 0) {
		check_ok(um_map_update_elem(map, &key, other, BPF_EXIST));
		check_ok(um_map_add_elem(map, &key, 0, 1));
		key = 2;
		check_eq(um_map_upsert_elem(map, &key, other, keep, NULL), 1);
		check_ok(um_iter_open(map, &it));
		check_ok(um_iter_next(it, &next, NULL));
		um_iter_close(it);
		check_ok(um_map_get_next_key(map, NULL, &next));
		check_ok(um_synchronize(map));
	}
	++*(uint64_t *)value;
	return 0;
}

static void an_upsert_may_call_the_library_and_sees_its_changes(void **state)
{
	static const uint32_t sizes[] = { 8, 16 };
	uint64_t key = 1, value[2] = { 1, 1 }, calls;
	int i;

	for (i = 0; i < 2; i++) {
		open_map(0, sizes[i]);
		value[0] = 1;
		assert_ok(um_map_update_elem(map, &key, value, BPF_ANY));
		calls = 0;
		assert_int_equal(um_map_upsert_elem(map, &key, NULL, call_all, &calls), 0);
		assert_int_equal(calls, 2); /* on a fresh copy */
		assert_ok(um_map_lookup_elem(map, &key, value));
		assert_int_equal(value[0], 102);
		assert_int_equal(unit_stats(map).count, 2);
		assert_no_lock_held();
		close_map();
	}
}

static int delete_it(void *value, void *ctx)
{
	uint64_t *calls = ctx;

	if ((*calls)++ == 0)
		check_ok(del8(map, 1));
	++*(uint64_t *)value;
	return 0;
}

static void an_upsert_whose_key_goes_meanwhile_begins_again(void **state)
{
	uint64_t key = 1, value = 50, calls = 0;

	open_map(0, 8);
	assert_ok(put8(map, 1, 1));
	assert_int_equal(um_map_upsert_elem(map, &key, &value, delete_it, &calls), 1);
	assert_int_equal(calls, 1);
	assert_ok(get8(map, 1, &value));
	assert_int_equal(value, 50);
	calls = 0;
	assert_int_equal(um_map_upsert_elem(map, &key, NULL, delete_it, &calls), -ENOENT);
	assert_int_equal(unit_stats(map).count, 0);
	close_map();
}

static jmp_buf out;

static int leave(void *value, void *ctx)
{
	++*(uint64_t *)value;
	longjmp(out, 1);
}

static void an_upsert_that_is_left_by_a_jump_leaves_the_map_whole(void **state)
{
	uint64_t key = 1, value;
	volatile int i;

	open_map(0, 8);
	assert_ok(put8(map, 1, 7));
	for (i = 0; i < 100; i++)
		if (!setjmp(out)) {
			um_map_upsert_elem(map, &key, NULL, leave, NULL);
			fail_msg("the callback came back");
		}
	assert_no_lock_held();
	assert_ok(get8(map, 1, &value));
	assert_int_equal(value, 7);
	for (i = 2; i <= 10; i++)
		assert_ok(put8(map, (uint64_t)i, 1));
	assert_int_equal(put8(map, 11, 1), -E2BIG);
	assert_ok(um_synchronize(map));
	close_map();
}

/* ---- walks ---- */

static int stop_at(const void *key, void *value, void *ctx)
{
	uint64_t *left = ctx;

	return --*left == 0;
}

static int drop_each(const void *key, void *value, void *ctx)
{
	uint64_t was = *(uint64_t *)value;

	check_ok(um_map_delete_elem(map, key));
	check_eq(*(uint64_t *)value, was); /* still in a section */
	check_err(um_synchronize(map), -EBUSY);
	return 0;
}

static void for_each_says_how_often_it_called(void **state)
{
	uint64_t key, left, n;

	open_map(0, 8);
	for (key = 1; key <= 10; key++)
		assert_ok(put8(map, key, key));
	for (n = 1; n <= 10; n++) {
		left = n;
		assert_int_equal(um_map_for_each_elem(map, stop_at, &left, 0), n);
		assert_int_equal(left, 0);
	}
	left = 11;
	assert_int_equal(um_map_for_each_elem(map, stop_at, &left, 0), 10);
	assert_int_equal(um_map_for_each_elem(map, NULL, NULL, 1), -EINVAL);
	assert_int_equal(um_map_for_each_elem(map, drop_each, NULL, 0), 10);
	assert_int_equal(unit_stats(map).count, 0);
	assert_ok(um_synchronize(map)); /* the section was left */
	assert_no_lock_held();
	close_map();
}

static void a_walk_that_is_over_stays_over(void **state)
{
	uint64_t key, value;
	struct um_iter *it, *early;

	open_map(0, 8);
	assert_ok(um_iter_open(map, &early));
	assert_ok(um_iter_open(map, &it));
	assert_int_equal(um_iter_next(it, &key, &value), -ENOENT);
	assert_ok(put8(map, 1, 11));
	assert_int_equal(um_iter_next(it, &key, &value), -ENOENT);
	assert_int_equal(um_iter_next(it, NULL, NULL), -EFAULT);
	um_iter_close(it);
	assert_int_equal(um_iter_next(early, NULL, &value), -EFAULT); /* loses nothing */
	assert_ok(um_iter_next(early, &key, &value));
	assert_int_equal(key, 1);
	assert_int_equal(value, 11);
	assert_int_equal(um_iter_next(early, &key, &value), -ENOENT);
	assert_int_equal(value, 11); /* not written */
	um_iter_close(early);
	close_map();
}

static void next_key_may_be_written_over_its_key(void **state)
{
	static const uint32_t sizes[] = { 8, 512, 513, 5000 };
	unsigned char key[5000], first[5000], value[8] = { 0 };
	int i, n;

	for (i = 0; i < 4; i++) {
		map = unit_map(sizes[i], 8, 3, NULL);
		for (n = 0; n < 3; n++) {
			memset(key, n, sizeof(key));
			assert_ok(um_map_update_elem(map, key, value, BPF_ANY));
		}
		assert_ok(um_map_get_next_key(map, NULL, key));
		memcpy(first, key, sizeof(first));
		assert_ok(um_map_get_next_key(map, key, key));
		assert_ok(um_map_get_next_key(map, key, key));
		assert_int_equal(um_map_get_next_key(map, key, key), -ENOENT);
		memset(key, 9, sizeof(key)); /* absent: from the start */
		assert_ok(um_map_get_next_key(map, key, key));
		assert_memory_equal(key, first, sizes[i]);
		close_map();
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_frozen_map_says_so_before_it_looks_at_arguments),
	cmocka_unit_test(flags_of_an_update_are_told_apart),
	cmocka_unit_test(the_first_wrong_thing_of_a_new_map_gives_the_answer),
	cmocka_unit_test(a_counter_of_an_add_is_inside_the_value),
	cmocka_unit_test(options_of_opening_may_be_of_another_version),
	cmocka_unit_test(descriptions_of_every_size_get_what_fits),
	cmocka_unit_test(an_upsert_that_is_called_off_changes_nothing),
	cmocka_unit_test(an_upsert_may_call_the_library_and_sees_its_changes),
	cmocka_unit_test(an_upsert_whose_key_goes_meanwhile_begins_again),
	cmocka_unit_test(an_upsert_that_is_left_by_a_jump_leaves_the_map_whole),
	cmocka_unit_test(for_each_says_how_often_it_called),
	cmocka_unit_test(a_walk_that_is_over_stays_over),
	cmocka_unit_test(next_key_may_be_written_over_its_key),
};

UNIT_MAIN(tests)
