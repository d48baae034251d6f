/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* readonly.c - handles and users that may only read, or only write. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"
#include "maps.h"
#include "threads.h"

#define NOBODY 65534

static int no_change(void *value, void *ctx)
{
	return 0;
}

static int ignore(const void *key, void *value, void *ctx)
{
	return 0;
}

/* Every reading call works and every writing call is refused. */
static void only_reads(struct um_map *map, uint32_t entries)
{
	struct um_map_info info = { .sz = sizeof(info) };
	uint64_t value = 0;
	uint32_t key;

	check_counts(map, entries);
	for (key = 0; key < entries; key++) {
		check_ok(um_map_lookup_elem(map, &key, &value));
		check_eq(value, (uint64_t)key * 7);
	}
	key = 0;
	check_ok(um_map_get_info(map, &info));
	check_eq(info.read_only, 1);
	check_err(um_map_update_elem(map, &key, &value, BPF_ANY), -EPERM);
	check_err(um_map_delete_elem(map, &key), -EPERM);
	check_err(um_map_lookup_and_delete_elem(map, &key, &value), -EPERM);
	check_err(um_map_upsert_elem(map, &key, &value, no_change, NULL), -EPERM);
	check_err(um_map_add_elem(map, &key, 0, 1), -EPERM);
	check_err(um_read_lock(map), -EPERM);
	check(!um_map_lookup_ref(map, &key));
	check_err(um_map_for_each_elem(map, ignore, NULL, 0), -EPERM);
	check_err(um_synchronize(map), -EPERM);
	check_err(um_map_freeze(map), -EPERM);
	check_counts(map, entries);
}

static struct um_map *filled(const struct shape *s, uint32_t entries)
{
	struct um_map *map = make_map(s);
	uint64_t value;
	uint32_t key;

	for (key = 0; key < entries; key++) {
		value = (uint64_t)key * 7;
		check_ok(um_map_update_elem(map, &key, &value, BPF_ANY));
	}
	return map;
}

static uint64_t file_digest(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY);
	uint64_t d;
	void *p;

	check(fd >= 0 && !fstat(fd, st));
	/* its data alone: reading a hole through a mapping would fill it */
	p = malloc((size_t)st->st_size);
	check(p && read(fd, p, (size_t)st->st_size) == st->st_size);
	d = digest(p, (size_t)st->st_size);
	free(p);
	close(fd);
	return d;
}

static void a_read_only_opener_reads_and_cannot_change_a_byte(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .max = 400, .map_flags = flags, .backing = IN_FILE };
		struct um_map *map = filled(&s, 100);
		struct stat before, after;
		uint64_t d;

		um_map_close(map);
		d = file_digest(test_path("map"), &before);
		map = open_map("map", BPF_F_RDONLY);
		only_reads(map, 100);
		um_map_close(map);
		check_eq(file_digest(test_path("map"), &after), d);
		check_eq(after.st_blocks, before.st_blocks); /* nor take memory */
		check_ok(um_map_unlink("map"));
	}
}

static void a_read_only_opener_follows_a_writer(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .max = 100, .map_flags = flags, .backing = IN_FILE };
		struct um_map *map = make_map(&s), *reader = open_map("map", BPF_F_RDONLY);

		check_counts(reader, 0);
		check_eq(fill_up(map, 0), 100); /* memory that came after the reader did */
		check_counts(reader, 100);
		um_map_close(reader);
		um_map_close(map);
		check_ok(um_map_unlink("map"));
	}
}

static void a_descriptor_for_reading_is_enough_to_read(void)
{
	struct shape s = { .max = 10, .backing = IN_FILE };
	struct um_map *map = filled(&s, 5), *reader = NULL;
	int fd = open(test_path("map"), O_RDONLY);
	UM_OPTS(um_open_opts, opts, .map_flags = BPF_F_RDONLY);
	int err;

	check(fd >= 0);
	err = um_map_open_fd(fd, NULL, &reader);
	/* root may write to it all the same, by way of /proc */
	check_msg(!err || err == -EACCES || err == -EPERM, "open_fd answers %s", errno_text(err));
	if (!err)
		um_map_close(reader);
	check_ok(um_map_open_fd(fd, &opts, &reader));
	close(fd);
	only_reads(reader, 5);
	um_map_close(reader);
	um_map_close(map);
}

static void as_nobody(void)
{
	check(!setgroups(0, NULL) && !setgid(NOBODY) && !setuid(NOBODY));
}

static void open_as_owner(void *arg)
{
	struct um_map *map = NULL;

	as_nobody();
	check_err(um_map_open("map", NULL, &map), -EACCES);
	map = open_map("map", BPF_F_RDONLY);
	only_reads(map, 20);
	um_map_close(map);
}

static void open_as_stranger(void *arg)
{
	UM_OPTS(um_open_opts, opts, .map_flags = BPF_F_RDONLY);
	struct um_map *map = NULL;

	as_nobody();
	check_err(um_map_open("map", NULL, &map), -EACCES);
	check_err(um_map_open("map", &opts, &map), -EACCES);
	check(um_map_unlink("map") < 0);
	check(!map);
}

/* A map of mode 0400 may be read by its owner, whoever made it and writes to it. */
static void permissions_of_the_file_decide_who_reads(void)
{
	if (geteuid())
		skip_test("only root can make files of another user");
	check(!chmod(test_dir(), 0755));
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .max = 50, .map_flags = flags, .backing = IN_FILE };
		struct um_map *map = filled(&s, 20);

		run_child(open_as_stranger, NULL);
		check(!chown(test_path("map"), NOBODY, NOBODY) && !chmod(test_path("map"), 0400));
		run_child(open_as_owner, NULL);
		check_counts(map, 20);
		um_map_close(map);
		check_ok(um_map_unlink("map"));
	}
}

static void a_write_only_handle_writes_and_cannot_look(void)
{
	struct shape s = { .max = 10, .backing = IN_FILE };
	struct um_map *map = filled(&s, 2), *writer = open_map("map", BPF_F_WRONLY);
	struct um_iter *it = NULL;
	uint32_t key = 5;
	uint64_t value = 35;

	check_ok(um_map_update_elem(writer, &key, &value, BPF_NOEXIST));
	check_err(um_map_add_elem(writer, &key, 0, 1), 0);
	check_err(um_map_lookup_elem(writer, &key, &value), -EPERM);
	check_err(um_map_lookup_and_delete_elem(writer, &key, &value), -EPERM);
	check_err(um_map_get_next_key(writer, NULL, &key), -EPERM);
	check_err(um_iter_open(writer, &it), -EPERM);
	check_err(um_map_for_each_elem(writer, ignore, NULL, 0), -EPERM);
	check(!it);
	check_ok(um_map_lookup_elem(map, &key, &value));
	check_eq(value, 36);
	check_ok(um_map_delete_elem(writer, &key));
	check_counts(map, 2);
	um_map_close(writer);
	um_map_close(map);
}

static void a_handle_of_creation_binds_itself_alone(void)
{
	struct shape s = { .max = 4, .map_flags = BPF_F_RDONLY, .backing = IN_FILE };
	struct um_map *creator = make_map(&s), *writer;
	struct um_map_info info = { .sz = sizeof(info) };
	uint32_t key = 1;
	uint64_t value = 2;

	check_err(um_map_update_elem(creator, &key, &value, BPF_ANY), -EPERM);
	writer = open_map("map", 0);
	check_ok(um_map_update_elem(writer, &key, &value, BPF_ANY));
	check_ok(um_map_get_info(writer, &info));
	check(!info.read_only && info.map_flags == 0);
	check_ok(um_map_lookup_elem(creator, &key, &value));
	um_map_close(writer);
	um_map_close(creator);
}

static const struct test tests[] = {
	{ "a_read_only_opener_reads_and_cannot_change_a_byte",
	  a_read_only_opener_reads_and_cannot_change_a_byte },
	{ "a_read_only_opener_follows_a_writer", a_read_only_opener_follows_a_writer },
	{ "a_descriptor_for_reading_is_enough_to_read",
	  a_descriptor_for_reading_is_enough_to_read },
	{ "permissions_of_the_file_decide_who_reads", permissions_of_the_file_decide_who_reads },
	{ "a_write_only_handle_writes_and_cannot_look",
	  a_write_only_handle_writes_and_cannot_look },
	{ "a_handle_of_creation_binds_itself_alone", a_handle_of_creation_binds_itself_alone },
};

TEST_MAIN(tests)
