/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* contract.c - what usermap.h promises about arguments, options and descriptions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "maps.h"

static int keep(void *value, void *ctx)
{
	return 0;
}

static int go_on(const void *key, void *value, void *ctx)
{
	return 0;
}

static void null_where_a_pointer_is_needed_is_efault(void)
{
	struct um_map *map = small_map(4, 0);
	uint32_t key = 1;
	uint64_t value = 2;
	struct um_iter *it;

	check_ok(um_map_update_elem(map, &key, &value, BPF_ANY));
	check_err(um_map_lookup_elem(map, NULL, &value), -EFAULT);
	check_err(um_map_lookup_elem(map, &key, NULL), -EFAULT);
	check_err(um_map_lookup_elem_flags(map, NULL, &value, 0), -EFAULT);
	check_err(um_map_update_elem(map, NULL, &value, BPF_ANY), -EFAULT);
	check_err(um_map_update_elem(map, &key, NULL, BPF_ANY), -EFAULT);
	check_err(um_map_delete_elem(map, NULL), -EFAULT);
	check_err(um_map_lookup_and_delete_elem(map, NULL, &value), -EFAULT);
	check_err(um_map_lookup_and_delete_elem(map, &key, NULL), -EFAULT);
	check_err(um_map_get_next_key(map, NULL, NULL), -EFAULT);
	check_err(um_map_upsert_elem(map, NULL, &value, keep, NULL), -EFAULT);
	check_err(um_map_upsert_elem(map, &key, &value, NULL, NULL), -EFAULT);
	check_err(um_map_add_elem(map, NULL, 0, 1), -EFAULT);
	check_err(um_map_for_each_elem(map, NULL, NULL, 0), -EFAULT);
	check_err(um_iter_open(map, NULL), -EFAULT);
	check_err(um_map_get_info(map, NULL), -EFAULT);
	check_err(um_map_get_stats(map, NULL), -EFAULT);
	check_err(um_map_create(BPF_MAP_TYPE_HASH, NULL, 4, 8, 4, NULL, NULL), -EFAULT);
	check_err(um_map_unlink(NULL), -EFAULT);
	check_ok(um_iter_open(map, &it));
	check_err(um_iter_next(it, NULL, &value), -EFAULT);
	check_ok(um_iter_next(it, &key, NULL)); /* no value wanted */
	um_iter_close(it);
	um_iter_close(NULL);
	um_map_close(NULL);
	check_ok(um_map_lookup_elem(map, &key, &value));
	check_counts(map, 1);
	um_map_close(map);
}

static int create(uint32_t key, uint32_t value, uint32_t max, const struct um_map_opts *opts)
{
	struct um_map *map = NULL;
	uint64_t empty, full;
	int err = um_map_create(BPF_MAP_TYPE_HASH, NULL, key, value, max, opts, &map);
	int price = um_map_price(BPF_MAP_TYPE_HASH, NULL, key, value, max, opts, &empty, &full);

	/* the price is refused for the same reason, unless it is the system's */
	if (err != -ENOMEM)
		check_msg(price == err, "create answers %s, price %d", errno_text(err), price);
	check(!err == !!map);
	um_map_close(map);
	return err;
}

static int create_with(uint32_t map_flags, uint32_t um_flags)
{
	UM_OPTS(um_map_opts, opts, .map_flags = map_flags, .um_flags = um_flags);

	return create(4, 8, 4, &opts);
}

static void flags_and_sizes_are_checked_as_in_the_kernel(void)
{
	UM_OPTS(um_map_opts, on_demand, .map_flags = BPF_F_NO_PREALLOC);
	UM_OPTS(um_map_opts, extra, .map_extra = 1);
	UM_OPTS(um_map_opts, cpus, .nr_cpus = 1025);
	UM_OPTS(um_map_opts, memfd, .um_flags = UM_F_MEMFD, .path = "map");
	UM_OPTS(um_map_opts, no_node, .map_flags = BPF_F_NUMA_NODE, .numa_node = -1);
	UM_OPTS(um_map_opts, far_node, .map_flags = BPF_F_NUMA_NODE, .numa_node = 1000000);
	uint32_t bit;

	check_err(create(0, 8, 4, NULL), -EINVAL);
	check_err(create(4, 0, 4, NULL), -EINVAL);
	check_err(create(4, 8, 0, NULL), -EINVAL);
	check_err(create(4, (4 << 20) - 48 - 4, 1, &on_demand), -E2BIG);
	check_err(create(4, (4 << 20) - 48 - 5, 1, &on_demand), 0);
	check_err(create(~0u, ~0u, 1, &on_demand), -E2BIG);
	check_err(create(4, 8, (1 << 27) + 1, &on_demand), -E2BIG);
	check_err(create(4, 8, ~0u, &on_demand), -E2BIG);
	check_err(create(4, 8, 4, &extra), -EINVAL);
	check_err(create(4, 8, 4, &cpus), -EINVAL);
	check_err(create(4, 8, 4, &memfd), -EINVAL);
	check_err(create(4, 8, 4, &no_node), 0);
	check_err(create(4, 8, 4, &far_node), -EINVAL);
	for (bit = 0; bit < 32; bit++) {
		uint32_t flag = 1u << bit;
		bool known =
			flag & (BPF_F_NO_PREALLOC | BPF_F_NUMA_NODE | BPF_F_RDONLY | BPF_F_WRONLY |
				BPF_F_ZERO_SEED | BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG);

		check_err(create_with(flag, 0), known ? 0 : -EINVAL);
		check_err(create_with(0, flag), flag & (UM_F_MEMFD | UM_F_REUSE) ? 0 : -EINVAL);
	}
	check_err(create_with(BPF_F_RDONLY | BPF_F_WRONLY, 0), -EINVAL);
	check_err(create_with(BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG, 0), -EINVAL);
}

static int create_type(int type)
{
	struct um_map *map = NULL;
	int err = um_map_create((enum bpf_map_type)type, NULL, 4, 8, 4, NULL, &map);

	um_map_close(map);
	return err;
}

static void types_not_there_yet_are_told_from_types_that_do_not_exist(void)
{
	check_err(create_type(0), -EINVAL);
	check_err(create_type(1000), -EINVAL);
	check_err(create_type(-1), -EINVAL);
	check_err(create_type(BPF_MAP_TYPE_HASH), 0);
	check_err(create_type(BPF_MAP_TYPE_LRU_HASH), -UM_ENOTSUPP);
	check_err(create_type(BPF_MAP_TYPE_PERCPU_HASH), -UM_ENOTSUPP);
	check_err(create_type(BPF_MAP_TYPE_HASH_OF_MAPS), -UM_ENOTSUPP);
}

static int create_named(const char *name)
{
	struct um_map_info info = { .sz = sizeof(info) };
	struct um_map *map = NULL;
	int err = um_map_create(BPF_MAP_TYPE_HASH, name, 4, 8, 4, NULL, &map);

	if (!err) {
		check_ok(um_map_get_info(map, &info));
		check(!strcmp(info.name, name ? name : ""));
	}
	um_map_close(map);
	return err;
}

static void names_are_checked_as_in_the_kernel(void)
{
	char name[3] = "a?";
	int c;

	check_ok(create_named(NULL));
	check_ok(create_named(""));
	check_ok(create_named("abcdefghijklmno"));
	check_err(create_named("abcdefghijklmnop"), -EINVAL);
	for (c = 1; c < 256; c++) {
		bool good = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			    (c >= 'a' && c <= 'z') || c == '_' || c == '.';

		name[1] = (char)c;
		check_err(create_named(name), good ? 0 : -EINVAL);
	}
}

static void options_may_be_of_another_version(void)
{
	struct {
		struct um_map_opts opts;
		uint64_t more;
	} later = { { .sz = sizeof(later), .nr_cpus = 3 }, 0 };
	struct um_map_opts earlier = { .sz = offsetof(struct um_map_opts, nr_cpus),
				       .map_flags = BPF_F_NO_PREALLOC,
				       .nr_cpus = 5000 /* beyond sz: not looked at */ };
	struct um_map_info info = { .sz = sizeof(info) };
	struct um_map *map = NULL;

	check_ok(create(4, 8, 4, &later.opts));
	later.more = 1;
	check_err(create(4, 8, 4, &later.opts), -E2BIG);
	check_ok(um_map_create(BPF_MAP_TYPE_HASH, NULL, 4, 8, 4, &earlier, &map));
	check_ok(um_map_get_info(map, &info));
	check_eq(info.map_flags, BPF_F_NO_PREALLOC);
	um_map_close(map);
}

static void info_says_what_a_map_is(void)
{
	UM_OPTS(um_map_opts, opts,
		.map_flags = BPF_F_NO_PREALLOC | BPF_F_ZERO_SEED | BPF_F_WRONLY_PROG | BPF_F_RDONLY,
		.um_flags = UM_F_REUSE | UM_F_MEMFD, .nr_cpus = 9);
	struct um_map_info info = { .sz = sizeof(info) };
	struct um_map_stats st = { .sz = sizeof(st) };
	struct um_map *map = NULL;
	struct um_map_info old;

	check_ok(um_map_create(BPF_MAP_TYPE_HASH, "me", 5, 17, 33, &opts, &map));
	check_ok(um_map_get_info(map, &info));
	check_eq(info.type, BPF_MAP_TYPE_HASH);
	check(info.id);
	check_eq(info.key_size, 5);
	check_eq(info.value_size, 17);
	check_eq(info.max_entries, 33);
	check_eq(info.map_flags, BPF_F_NO_PREALLOC | BPF_F_ZERO_SEED | BPF_F_WRONLY_PROG);
	check_eq(info.um_flags, UM_F_REUSE | UM_F_MEMFD);
	check_eq(info.nr_cpus, 9);
	check(!info.frozen && info.read_only && !strcmp(info.name, "me"));

	/* structs of other versions: what there is room for, and nothing beyond */
	memset(&old, 0xee, sizeof(old));
	old.sz = offsetof(struct um_map_info, key_size);
	check_ok(um_map_get_info(map, &old));
	check_eq(old.type, BPF_MAP_TYPE_HASH);
	check_eq(old.id, info.id);
	check_eq(old.key_size, 0xeeeeeeee);
	old.sz = 7;
	check_err(um_map_get_info(map, &old), -EINVAL);
	st.sz = 7;
	check_err(um_map_get_stats(map, &st), -EINVAL);
	st.sz = 8;
	check_ok(um_map_get_stats(map, &st));
	um_map_close(map);
}

static void the_default_number_of_lists_is_that_of_the_possible_cpus(void)
{
	struct um_map *map = small_map(1, 0);
	struct um_map_info info = { .sz = sizeof(info) };

	check(um_possible_cpus() >= 1);
	check_ok(um_map_get_info(map, &info));
	check_eq(info.nr_cpus, um_possible_cpus());
	um_map_close(map);
}

static void price(uint32_t max, uint32_t value_size, uint32_t flags, uint32_t nr_cpus)
{
	UM_OPTS(um_map_opts, opts, .map_flags = flags, .nr_cpus = nr_cpus);
	struct um_map_info info = { .sz = sizeof(info) };
	struct um_map *map = NULL;
	uint64_t empty, full, after;
	uint32_t key;

	check_ok(um_map_price(BPF_MAP_TYPE_HASH, NULL, 4, value_size, max, &opts, &empty, &full));
	check(empty && full >= empty);
	check_ok(um_map_create(BPF_MAP_TYPE_HASH, NULL, 4, value_size, max, &opts, &map));
	check_ok(um_map_get_info(map, &info));
	check_msg(llabs((long long)info.memory_used - (long long)empty) * 20 <= (long long)empty,
		  "said to take %llu bytes, takes %llu", (unsigned long long)empty,
		  (unsigned long long)info.memory_used);
	check_eq(info.memory_max, full);
	key = fill_up(map, 0);
	check_eq(key, max);
	check_ok(um_map_get_info(map, &info));
	after = info.memory_used;
	check(after >= empty && after <= full);
	check(flags || after - empty <= empty / 8); /* it was all there */
	um_map_close(map);
	check_ok(um_map_price(BPF_MAP_TYPE_HASH, NULL, 4, value_size, max, &opts, NULL, NULL));
}

static void the_price_is_known_before_a_map_is_made(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		price(1, 1, flags, 1);
		price(1000, 8, flags, 0);
		price(1000, 8, flags, 256);
		price(20000, 64, flags, 2);
		price(100, 4096, flags, 2);
	}
}

/* On demand: an empty map is its table; entries are paid for when they come. */
static void memory_on_demand_is_taken_as_it_is_used(void)
{
	struct shape s = { .value_size = 64, .max = 1000000, .map_flags = ON_DEMAND };
	struct um_map *map = make_map(&s);
	struct um_map_info empty = { .sz = sizeof(empty) }, few = { .sz = sizeof(few) };
	unsigned char value[64] = { 0 };
	uint32_t key;

	check_ok(um_map_get_info(map, &empty));
	check(empty.memory_used < empty.memory_max / 4);
	for (key = 0; key < 100; key++)
		check_ok(um_map_update_elem(map, &key, value, BPF_ANY));
	check_ok(um_map_get_info(map, &few));
	check_msg(few.memory_used - empty.memory_used <= 2 << 20, "100 entries took %llu bytes",
		  (unsigned long long)(few.memory_used - empty.memory_used));
	um_map_close(map);
}

static void every_error_has_a_sentence(void)
{
	int err, what;

	for (what = UM_CREATE; what <= UM_UNLINK; what++)
		for (err = 0; err < 600; err++) {
			const char *text = um_strerror(-err, (enum um_what)what);
			size_t n;

			check(text && *text);
			n = strlen(text);
			check_msg(text[n - 1] != '.' && text[n - 1] != '\n', "%s", text);
		}
	/* the same code, other causes */
	check(strcmp(um_strerror(-E2BIG, UM_CREATE), um_strerror(-E2BIG, UM_UPDATE)));
	check(strcmp(um_strerror(-ENOENT, UM_OPEN), um_strerror(-ENOENT, UM_DELETE)));
	check(um_strerror(-1, (enum um_what)99));
}

static void version_and_directory_are_told(void)
{
	char buf[256];
	int n;

	check(!strcmp(um_version(), "0.1.0"));
	n = um_map_dir(buf, sizeof(buf));
	check(n == (int)strlen(test_dir()) && !strcmp(buf, test_dir()));
	check_eq(um_map_dir(NULL, 0), n);
	check_err(um_map_dir(buf, (size_t)n), -ENAMETOOLONG);
	check_eq(um_map_dir(buf, (size_t)n + 1), n);
	check(!unsetenv("USERMAP_DIR"));
	check(um_map_dir(buf, sizeof(buf)) == 16 && !strcmp(buf, "/dev/shm/usermap"));
}

static int stop_or_fail(const void *key, void *value, void *ctx)
{
	return ++*(int *)ctx == 3;
}

static void for_each_counts_its_calls(void)
{
	struct um_map *map = small_map(10, 0);
	int calls = 0;

	check_eq(um_map_for_each_elem(map, go_on, NULL, 0), 0);
	fill_up(map, 0);
	check_eq(um_map_for_each_elem(map, go_on, NULL, 0), 10);
	check_eq(um_map_for_each_elem(map, stop_or_fail, &calls, 0), 3);
	check_err(um_map_for_each_elem(map, go_on, NULL, 1), -EINVAL);
	um_map_close(map);
}

static const struct test tests[] = {
	{ "null_where_a_pointer_is_needed_is_efault", null_where_a_pointer_is_needed_is_efault },
	{ "flags_and_sizes_are_checked_as_in_the_kernel",
	  flags_and_sizes_are_checked_as_in_the_kernel },
	{ "types_not_there_yet_are_told_from_types_that_do_not_exist",
	  types_not_there_yet_are_told_from_types_that_do_not_exist },
	{ "names_are_checked_as_in_the_kernel", names_are_checked_as_in_the_kernel },
	{ "options_may_be_of_another_version", options_may_be_of_another_version },
	{ "info_says_what_a_map_is", info_says_what_a_map_is },
	{ "the_default_number_of_lists_is_that_of_the_possible_cpus",
	  the_default_number_of_lists_is_that_of_the_possible_cpus },
	{ "the_price_is_known_before_a_map_is_made", the_price_is_known_before_a_map_is_made },
	{ "memory_on_demand_is_taken_as_it_is_used", memory_on_demand_is_taken_as_it_is_used },
	{ "every_error_has_a_sentence", every_error_has_a_sentence },
	{ "version_and_directory_are_told", version_and_directory_are_told },
	{ "for_each_counts_its_calls", for_each_counts_its_calls },
};

TEST_MAIN(tests)
