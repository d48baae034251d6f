/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_arena.c - geometry, commitment, creation, and what opening refuses. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "mem/proc.h"

/* ---- geometry ---- */

static const struct {
	uint32_t key, value, max, cpus, spares, flags;
} shapes[] = {
	{ 1, 1, 1, 1, 1, 0 },
	{ 4, 4, 1, 1, 1, 0 },
	{ 4, 8, 1000, 2, 1024, 0 },
	{ 8, 8, 1, 1024, 1, BPF_F_NO_PREALLOC },
	{ 8, 8, 13, 3, 7, 0 },
	{ 8, 8, 64 * 13 / 2, 32, 7, 0 },
	{ 5, 3, 100, 33, 100, BPF_F_NO_PREALLOC },
	{ 16, 256, 12345, 64, 999, 0 },
	{ 1, 4194254, 3, 65, 2, 0 },
	{ 4194254, 1, 3, 2, 2, BPF_F_NO_PREALLOC },
	{ 8, 8, 1u << 20, 256, 131072, 0 },
	{ 8, 8, 1u << 27, 1024, 1u << 24, BPF_F_NO_PREALLOC },
	{ 4, 1u << 20, 1u << 27, 1, 1u << 26, BPF_F_NO_PREALLOC },
};

static struct um_params shape(uint32_t i)
{
	struct um_params p = unit_params(shapes[i].key, shapes[i].value, shapes[i].max);

	p.nr_cpus = shapes[i].cpus;
	p.spares = shapes[i].spares;
	p.map_flags = shapes[i].flags;
	return p;
}

static void assert_regions(const struct um_params *p, const struct um_geometry *g)
{
	const struct {
		uint64_t from, bytes, align;
	} region[] = {
		{ 0, sizeof(struct um_header), 4096 },
		{ g->blocks, sizeof(struct um_block) * UM_NR_BLOCKS, 64 },
		{ g->procs, sizeof(struct um_proc) * UM_MAX_PROCS, 8 },
		{ g->percpu, sizeof(struct um_percpu) * (uint64_t)p->nr_cpus, 64 },
		{ g->token_map, 8ull * ((p->nr_cpus + 31) / 32), 64 },
		{ g->free_map, 8ull * ((p->nr_cpus + 63) / 64), 64 },
		{ g->occupancy, 8ull * ((g->nr_buckets + 63ull) / 64), 64 },
		{ g->buckets, 64ull * g->nr_buckets, 64 },
		{ g->overflow, 64ull * g->nr_overflow, p->page_size },
		{ g->links, 4ull * g->nr_elems, p->page_size },
		{ g->elems, (uint64_t)g->stride * g->nr_elems, p->page_size },
		{ g->records, sizeof(struct um_rec) * (uint64_t)UM_MAX_THREADS, p->page_size },
		{ g->size, 0, p->page_size },
	};
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(region); i++) {
		assert_int_equal(region[i].from % region[i].align, 0);
		if (i + 1 < ARRAY_SIZE(region))
			assert_true(region[i].from + region[i].bytes <= region[i + 1].from);
	}
	assert_int_equal(g->fixed_end, g->overflow);
}

static void regions_are_in_order_aligned_and_apart(void **state)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct um_params p = shape(i);
		struct um_geometry g;

		um_geometry_compute(&p, &g);
		assert_regions(&p, &g);
		assert_int_equal(g.nr_elems, p.max_entries + p.spares);
		assert_true(g.nr_elems < UM_INDEX_MASK + 1);
		assert_true(10ull * g.nr_buckets >= p.max_entries);
		assert_true(g.nr_overflow >= p.max_entries);
		assert_true(um_geometry_empty(&p, &g) <= g.size);
	}
}

static void a_value_is_aligned_and_inside_its_element(void **state)
{
	uint32_t key, value;

	for (key = 1; key < 40; key++)
		for (value = 1; value < 40; value++) {
			struct um_params p = unit_params(key, value, 10);
			uint32_t align = key <= 4 && value <= 4 ? 4 : 8;
			struct um_geometry g;

			um_geometry_compute(&p, &g);
			assert_true(g.value_off >= key && g.value_off + value <= g.stride);
			assert_int_equal(g.value_off % align, 0);
			assert_int_equal(g.stride % align, 0);
			assert_true(g.stride < key + value + 2 * align);
		}
}

static void geometry_is_the_same_each_time_padding_included(void **state)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct um_params p = shape(i);
		struct um_geometry a, b;

		memset(&a, 0x11, sizeof(a));
		memset(&b, 0x22, sizeof(b));
		um_geometry_compute(&p, &a);
		um_geometry_compute(&p, &b);
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

/* ---- memory ---- */

static void drop(struct um_arena *a)
{
	um_thread_detach(a);
	um_proc_leave(a);
	um_arena_unmap(a);
	free(a);
}

static void each_kind_of_arena_is_made_with_its_header(void **state)
{
	int kind;

	for (kind = 0; kind < 3; kind++) {
		struct um_params p = unit_params(8, 8, 100);
		struct um_arena *a;

		p.um_flags = kind == 1 ? UM_F_MEMFD : 0;
		a = unit_arena(&p, kind == 2 ? unit_path("arena") : NULL);
		assert_int_equal(a->fd >= 0, kind > 0);
		assert_int_equal(a->shared, kind > 0);
		assert_int_equal(a->hdr->magic, UM_MAGIC);
		assert_int_equal(a->hdr->creator_pid, getpid());
		assert_string_equal(a->hdr->name, "unit");
		assert_memory_equal(&a->hdr->geo, &a->geo, sizeof(a->geo));
		assert_int_equal(a->hdr->committed, um_geometry_empty(&p, &a->geo));
		/* all that a preallocated map says it has can be written */
		memset(a->base + a->geo.elems, 0xff, a->geo.records - a->geo.elems);
		memset(a->base + a->geo.links, 0xff, 4ull * a->geo.nr_elems);
		memset(a->base + a->geo.overflow, 0xff, 64 * a->hdr->ovf_committed);
		drop(a);
	}
	assert_int_equal(unlink(unit_path("arena")), 0);
}

static void memory_is_committed_in_pages_again_and_beyond(void **state)
{
	int kind;

	for (kind = 0; kind < 2; kind++) {
		struct um_params p = unit_params(8, 8, 100000);
		struct um_arena *a;
		uint64_t at;

		p.map_flags = BPF_F_NO_PREALLOC;
		p.um_flags = kind ? UM_F_MEMFD : 0;
		a = unit_arena(&p, NULL);
		at = a->geo.elems + 5000;
		assert_ok(um_arena_commit(a, at, 1));
		a->base[at] = 7;
		assert_ok(um_arena_commit(a, at, 1));
		assert_ok(um_arena_commit(a, at - 1, 8192));
		assert_int_equal(a->base[at], 7);
		memset(a->base + at - 1, 1, 8192);
		assert_ok(um_arena_commit(a, a->geo.size - 1, 1));
		a->base[a->geo.size - 1] = 1;
		drop(a);
	}
}

static void a_new_map_uses_what_was_priced(void **state)
{
	struct rng r = rng_new(test_seed, 0);
	int i;

	for (i = 0; i < 300; i++) {
		UM_OPTS(um_map_opts, o, .nr_cpus = 1 + rng_below(&r, 100));
		uint32_t key = 1 + rng_below(&r, 40), value = 1 + rng_below(&r, 300);
		uint32_t max = 1 + rng_below(&r, 1u << rng_below(&r, 17));
		uint64_t empty, full;
		struct um_map *map;

		o.map_flags = rng_below(&r, 2) ? BPF_F_NO_PREALLOC : 0;
		o.spares = rng_below(&r, 2) ? 1 + rng_below(&r, 2000) : 0;
		if (i % 3 == 1)
			o.um_flags = UM_F_MEMFD;
		if (i % 3 == 2)
			o.path = "priced";
		assert_ok(um_map_price(BPF_MAP_TYPE_HASH, NULL, key, value, max, &o, &empty, &full));
		map = unit_map(key, value, max, &o);
		assert_int_equal(unit_info(map).memory_used, empty);
		assert_int_equal(unit_info(map).memory_max, full);
		um_map_close(map);
		if (o.path)
			assert_ok(um_map_unlink("priced"));
	}
}

/* What the file system says, which no accounting of ours can talk round. */
static void the_price_is_what_the_file_takes(void **state)
{
	static const uint32_t flags[] = { 0, BPF_F_NO_PREALLOC };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		UM_OPTS(um_map_opts, o, .path = "priced", .map_flags = flags[i]);
		struct um_map *map = unit_map(8, 8, 50000, &o);
		struct stat st;

		assert_int_equal(fstat(um_map_fd(map), &st), 0);
		assert_int_equal(st.st_blocks * 512, unit_info(map).memory_used);
		assert_int_equal(st.st_size, unit_info(map).memory_max);
		um_map_close(map);
		assert_ok(um_map_unlink("priced"));
	}
}

/* ---- failures of creation ---- */

static int descriptors(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void limited(void *arg)
{
	int resource = *(int *)arg, before = descriptors();
	struct rlimit l = { 1 << 20, 1 << 20 };
	UM_OPTS(um_map_opts, file, .path = "limited");
	UM_OPTS(um_map_opts, memfd, .um_flags = UM_F_MEMFD);
	struct um_map *map = (void *)8;
	int want = resource == RLIMIT_FSIZE ? -EFBIG : -ENOMEM;

	check_ok(setrlimit(resource, &l));
	check_err(um_map_create(BPF_MAP_TYPE_HASH, NULL, 8, 8, 1000000, &file, &map), want);
	check_err(um_map_create(BPF_MAP_TYPE_HASH, NULL, 8, 8, 1000000, &memfd, &map), want);
	if (resource != RLIMIT_FSIZE)
		check_err(um_map_create(BPF_MAP_TYPE_HASH, NULL, 8, 8, 1000000, NULL, &map), want);
	check(map == (void *)8);
	check_eq(descriptors(), before);
	check(access(unit_path("limited"), F_OK) != 0);
}

static void a_limit_is_an_error_and_leaves_nothing(void **state)
{
	int fsize = RLIMIT_FSIZE, as = RLIMIT_AS;

	run_child(limited, &fsize);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	run_child(limited, &as);
#else
	(void)as;
#endif
}

/* A file of somebody's that happens to have the name we might use in between. */
static void a_strange_file_beside_the_path_is_left_alone(void **state)
{
	UM_OPTS(um_map_opts, o, .path = "map");
	char name[64], text[16] = "";
	struct um_map *map, *again;
	const char *beside;
	int fd;

	snprintf(name, sizeof(name), "map.%d.new", (int)getpid());
	beside = unit_path(name);
	fd = open(beside, O_CREAT | O_RDWR, 0600);
	assert_int_equal(write(fd, "precious", 8), 8);
	map = unit_map(8, 8, 10, &o);
	assert_ok(put8(map, 1, 2));
	again = unit_open("map");
	assert_int_equal(unit_stats(again).count, 1);
	um_map_close(again);
	um_map_close(map);
	close(fd);
	fd = open(beside, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), 8);
	assert_string_equal(text, "precious");
	close(fd);
	unlink(beside);
	assert_ok(um_map_unlink("map"));
}

/* An index has 28 bits, and 0 is none. */
static void more_elements_than_there_are_indexes_are_refused(void **state)
{
	UM_OPTS(um_map_opts, o, .spares = UM_MAX_ENTRIES);
	uint64_t full;

	assert_int_equal(um_map_price(BPF_MAP_TYPE_HASH, NULL, 4, 4, UM_MAX_ENTRIES, &o, NULL, &full),
			 -E2BIG);
	o.spares--;
	assert_ok(um_map_price(BPF_MAP_TYPE_HASH, NULL, 4, 4, UM_MAX_ENTRIES, &o, NULL, &full));
}

/* ---- what opening refuses ---- */

#define FIELD(f) offsetof(struct um_header, f), sizeof(((struct um_header *)0)->f)

static const struct wrong {
	const char *what;
	size_t offset, size;
	uint64_t value;
	int err;
} wrong[] = {
	{ "magic", FIELD(magic), 0x1234, -EMEDIUMTYPE },
	{ "magic of the other byte order", FIELD(magic), __builtin_bswap64(UM_MAGIC), -ENOEXEC },
	{ "byte order", FIELD(byte_order), 0x04030201, -ENOEXEC },
	{ "machine", FIELD(machine), 2, -ENOEXEC },
	{ "layout", FIELD(layout), UM_LAYOUT + 1, -EPROTONOSUPPORT },
	{ "incompatible feature", FIELD(incompat), 1, -EPROTONOSUPPORT },
	{ "feature of writers", FIELD(ro_compat), 1, -EPROTONOSUPPORT },
	{ "hash", FIELD(params.hash_id), UM_HASH_ID + 1, -EPROTONOSUPPORT },
	{ "page size", FIELD(params.page_size), 65536, -ENOEXEC },
	{ "boot", FIELD(boot_id[3]), 0, -ESTALE },
	{ "type", FIELD(params.type), BPF_MAP_TYPE_ARRAY, -EPROTONOSUPPORT },
	{ "no key", FIELD(params.key_size), 0, -EUCLEAN },
	{ "no value", FIELD(params.value_size), 0, -EUCLEAN },
	{ "huge key", FIELD(params.key_size), 1u << 31, -EUCLEAN },
	{ "huge value", FIELD(params.value_size), UINT32_MAX, -EUCLEAN },
	{ "no entries", FIELD(params.max_entries), 0, -EUCLEAN },
	{ "too many entries", FIELD(params.max_entries), UM_MAX_ENTRIES + 1, -EUCLEAN },
	{ "other entries", FIELD(params.max_entries), 101, -EUCLEAN },
	{ "too many spares", FIELD(params.spares), UM_MAX_ENTRIES + 1, -EUCLEAN },
	{ "no CPUs", FIELD(params.nr_cpus), 0, -EUCLEAN },
	{ "too many CPUs", FIELD(params.nr_cpus), UM_MAX_CPUS + 1, -EUCLEAN },
	{ "reader mode", FIELD(reader_mode), UM_READERS_FENCE + 1, -EUCLEAN },
	{ "stride", FIELD(geo.stride), 24, -EUCLEAN },
	{ "value's place", FIELD(geo.value_off), 16, -EUCLEAN },
	{ "buckets", FIELD(geo.buckets), 8192, -EUCLEAN },
	{ "records", FIELD(geo.records), 1ull << 40, -EUCLEAN },
	{ "size", FIELD(geo.size), 4096, -EUCLEAN },
	{ "number of buckets", FIELD(geo.nr_buckets), 1, -EUCLEAN },
};

static int open_arena(const char *path, bool writable)
{
	struct um_arena *a = calloc(1, sizeof(*a));
	int fd = open(path, writable ? O_RDWR : O_RDONLY), err;

	check(a && fd >= 0);
	err = um_arena_open(a, fd, writable);
	if (!err)
		um_arena_unmap(a);
	else
		check(close(fd) == 0); /* stays the caller's */
	free(a);
	return err;
}

static const char *new_file(void)
{
	struct um_params p = unit_params(8, 8, 100);
	const char *path = unit_path("opened");

	unlink(path);
	drop(unit_arena(&p, path));
	return path;
}

static void each_wrong_field_of_a_header_has_its_error(void **state)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		const char *path = new_file();
		int fd = open(path, O_RDWR), err;
		uint64_t value = wrong[i].value;

		if (wrong[i].err == -ESTALE) {
			assert_int_equal(pread(fd, &value, 1, (off_t)wrong[i].offset), 1);
			value ^= 0x40;
		}
		assert_ok(open_arena(path, true));
		assert_int_equal(pwrite(fd, &value, wrong[i].size, (off_t)wrong[i].offset),
				 wrong[i].size);
		err = open_arena(path, true);
		if (err != wrong[i].err)
			fail_msg("wrong %s: %s", wrong[i].what, errno_text(err));
		err = open_arena(path, false);
		/* a feature of writers is none of a reader's business */
		if (err != (wrong[i].offset == offsetof(struct um_header, ro_compat) ? 0 :
										       wrong[i].err))
			fail_msg("wrong %s, read-only: %s", wrong[i].what, errno_text(err));
		close(fd);
	}
}

static void a_name_without_end_is_damage(void **state)
{
	const char *path = new_file();
	int fd = open(path, O_RDWR);

	assert_int_equal(pwrite(fd, "0123456789abcdef", 16, offsetof(struct um_header, name)), 16);
	assert_int_equal(open_arena(path, true), -EUCLEAN);
	close(fd);
}

static void a_compatible_feature_does_not_matter(void **state)
{
	const char *path = new_file();
	int fd = open(path, O_RDWR);
	uint32_t one = 1;

	assert_int_equal(pwrite(fd, &one, 4, offsetof(struct um_header, compat)), 4);
	assert_ok(open_arena(path, true));
	close(fd);
}

static void a_file_cut_short_is_no_data_or_no_map(void **state)
{
	const char *path = new_file();
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 1), 0);
	assert_int_equal(open_arena(path, true), -ENODATA);
	assert_int_equal(truncate(path, 4096), 0);
	assert_int_equal(open_arena(path, false), -ENODATA);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(open_arena(path, false), -ENODATA);
	assert_int_equal(truncate(path, 8), 0);
	assert_int_equal(open_arena(path, false), -ENODATA);
	assert_int_equal(truncate(path, 7), 0);
	assert_int_equal(open_arena(path, false), -EMEDIUMTYPE);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(open_arena(path, false), -EMEDIUMTYPE);
	assert_int_equal(open_arena("/dev/null", false), -EMEDIUMTYPE);
	assert_int_equal(open_arena("/", false), -EMEDIUMTYPE);
	assert_int_equal(open_arena("/proc/self/exe", false), -EMEDIUMTYPE);
}

static void a_reader_cannot_write(void *path)
{
	struct um_arena *a = calloc(1, sizeof(*a));
	int fd = open(path, O_RDONLY);

	check(a && fd >= 0);
	check_ok(um_arena_open(a, fd, false));
	check_eq(a->hdr->magic, UM_MAGIC);
	check(mprotect(a->base, 4096, PROT_READ | PROT_WRITE) != 0);
	um_arena_unmap(a);
	free(a);
}

static void a_file_opened_for_reading_is_mapped_read_only(void **state)
{
	run_child(a_reader_cannot_write, (void *)new_file());
}

static void a_descriptor_that_became_another_file_is_not_taken_for_ours(void **state)
{
	struct um_params p = unit_params(8, 8, 100);
	struct um_arena *a;
	int null = open("/dev/null", O_RDWR);

	p.um_flags = UM_F_MEMFD;
	a = unit_arena(&p, NULL);
	assert_true(um_arena_fd_valid(a));
	assert_int_equal(dup2(null, a->fd), a->fd);
	assert_false(um_arena_fd_valid(a));
	um_arena_unmap(a);
	/* not ours, so not closed */
	assert_true(fcntl(a->fd, F_GETFD) >= 0);
	close(a->fd);
	close(null);
	free(a);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(regions_are_in_order_aligned_and_apart),
	cmocka_unit_test(a_value_is_aligned_and_inside_its_element),
	cmocka_unit_test(geometry_is_the_same_each_time_padding_included),
	cmocka_unit_test(each_kind_of_arena_is_made_with_its_header),
	cmocka_unit_test(memory_is_committed_in_pages_again_and_beyond),
	cmocka_unit_test(a_new_map_uses_what_was_priced),
	cmocka_unit_test(the_price_is_what_the_file_takes),
	cmocka_unit_test(a_limit_is_an_error_and_leaves_nothing),
	cmocka_unit_test(a_strange_file_beside_the_path_is_left_alone),
	cmocka_unit_test(more_elements_than_there_are_indexes_are_refused),
	cmocka_unit_test(each_wrong_field_of_a_header_has_its_error),
	cmocka_unit_test(a_name_without_end_is_damage),
	cmocka_unit_test(a_compatible_feature_does_not_matter),
	cmocka_unit_test(a_file_cut_short_is_no_data_or_no_map),
	cmocka_unit_test(a_file_opened_for_reading_is_mapped_read_only),
	cmocka_unit_test(a_descriptor_that_became_another_file_is_not_taken_for_ours),
};

UNIT_MAIN(tests)
