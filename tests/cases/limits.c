/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* limits.c - full file systems, resource limits, places where no map can be made. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"
#include "maps.h"
#include "threads.h"

static int entries_in(const char *path)
{
	DIR *d = opendir(path);
	int n = -2; /* . and .. */

	check(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int open_descriptors(void)
{
	return entries_in("/proc/self/fd");
}

/* ---- a full file system ---- */

/* A tmpfs of that size which goes with this process; returns its path. */
static const char *small_tmpfs(const char *size)
{
	const char *path = test_path("small");
	char options[64];

	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip_test("a small file system can be mounted by root alone");
	check(!mkdir(path, 0700));
	snprintf(options, sizeof(options), "size=%s", size);
	if (mount("none", path, "tmpfs", 0, options))
		skip_test("no tmpfs can be mounted: %s", strerror(errno));
	return path;
}

static void a_preallocated_map_that_does_not_fit_is_not_made(void)
{
	const char *dir = small_tmpfs("512k");
	char path[300];
	struct shape s = { .value_size = 1024, .max = 10000, .backing = IN_FILE, .path = path };
	struct um_map *map = NULL;
	int before = open_descriptors();

	snprintf(path, sizeof(path), "%s/map", dir);
	check_err(try_make_map(&s, &map), -ENOSPC);
	check(!map);
	check_eq(entries_in(dir), 0);
	check_eq(open_descriptors(), before);
	s.max = 10; /* and a smaller one fits */
	map = make_map(&s);
	check_eq(fill_up(map, 0), 10);
	um_map_close(map);
}

static void fill_file(const char *path)
{
	static char block[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	check(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	close(fd);
}

/* No SIGBUS, whatever has no memory: elements, overflow buckets, thread records. */
static void an_insert_on_a_full_file_system_is_an_error(void)
{
	const char *dir = small_tmpfs("4m");
	char path[300], filler[300];
	struct shape s = { .value_size = 1024,
			   .max = 20000,
			   .map_flags = ON_DEMAND,
			   .backing = IN_FILE,
			   .path = path };
	unsigned char value[1024] = { 0 };
	struct um_map *map, *reader;
	uint32_t key, stored, i;
	int err = 0;

	snprintf(path, sizeof(path), "%s/map", dir);
	snprintf(filler, sizeof(filler), "%s/filler", dir);
	map = make_map(&s);
	for (key = 0; !err; key++)
		err = um_map_update_elem(map, &key, value, BPF_NOEXIST);
	check_msg(err == -ENOMEM || err == -ENOSPC, "an insert answers %s", errno_text(err));
	stored = key - 1;
	check(stored > 0 && stored < 20000);
	check_counts(map, stored);
	reader = open_map(path, BPF_F_RDONLY);
	check_counts(reader, stored);
	um_map_close(reader);
	for (i = 0; i < stored; i += 2)
		check_ok(um_map_delete_elem(map, &i));
	check_eq(map_count(map), stored - (stored + 1) / 2);
	for (i = 0; i < stored; i += 2) /* in the memory that is there */
		check_ok(um_map_update_elem(map, &i, value, BPF_NOEXIST));
	check_counts(map, stored);
	fill_file(filler);
	for (i = 0; i < stored; i++) /* replacing needs no more either, at worst it says so */
		check_msg(!(err = um_map_update_elem(map, &i, value, BPF_EXIST)) ||
				  err == -ENOMEM || err == -ENOSPC,
			  "a replacement answers %s", errno_text(err));
	check(!unlink(filler));
	check_counts(map, stored);
	um_map_close(map);
}

static void read_and_write(int index, void *arg)
{
	struct um_map *map = arg;
	uint32_t key = (uint32_t)index;
	uint64_t value = 1;
	int err = um_read_lock(map);

	check_msg(!err || err == -ENOMEM || err == -ENOSPC, "um_read_lock answers %s",
		  errno_text(err));
	if (!err) {
		um_map_lookup_ref(map, &key);
		um_read_unlock(map);
	}
	err = um_map_update_elem(map, &key, &value, BPF_ANY);
	check_msg(!err || err == -ENOMEM || err == -ENOSPC, "an update answers %s",
		  errno_text(err));
	err = um_map_lookup_elem(map, &key, &value);
	check_msg(!err || err == -ENOENT, "a look-up answers %s", errno_text(err));
}

static void threads_come_to_a_full_file_system_without_harm(void)
{
	const char *dir = small_tmpfs("1m");
	char path[300], filler[300];
	struct shape s = { .max = 100, .map_flags = ON_DEMAND, .backing = IN_FILE, .path = path };
	struct um_map *map;
	uint64_t n;

	snprintf(path, sizeof(path), "%s/map", dir);
	snprintf(filler, sizeof(filler), "%s/filler", dir);
	map = make_map(&s);
	fill_file(filler);
	run_team(40, read_and_write, map);
	n = map_count(map);
	check_counts(map, n);
	check(!unlink(filler));
	run_team(40, read_and_write, map);
	check_counts(map, 40);
	um_map_close(map);
}

/* ---- resource limits ---- */

static void limit(int what, rlim_t n)
{
	struct rlimit l;

	check(!getrlimit(what, &l));
	l.rlim_cur = n < l.rlim_max ? n : l.rlim_max;
	check(!setrlimit(what, &l));
}

static void a_map_above_the_file_size_limit_is_refused_without_a_signal(void)
{
	for (uint32_t i = 0; i < 2 * NR_MODES; i++) {
		struct shape s = { .max = 100000,
				   .map_flags = i % NR_MODES,
				   .backing = i / NR_MODES ? MEMFD : IN_FILE };
		struct um_map *map = NULL;
		int before = open_descriptors();

		limit(RLIMIT_FSIZE, 100000);
		check_err(try_make_map(&s, &map), -EFBIG);
		check(!map);
		check_eq(entries_in(test_dir()), 0);
		check_eq(open_descriptors(), before);
	}
	um_map_close(small_map(100000, 0)); /* memory of one's own is no file */
}

static void without_descriptors_only_private_maps_are_made(void)
{
	struct shape s = { .max = 10, .backing = IN_FILE };
	struct um_map *map = NULL;

	um_map_close(make_map(&s));
	s.path = "other";
	um_map_close(small_map(10, 0));
	limit(RLIMIT_NOFILE, 3);
	check_err(try_make_map(&s, &map), -EMFILE);
	s.backing = MEMFD;
	check_err(try_make_map(&s, &map), -EMFILE);
	check_err(um_map_open("map", NULL, &map), -EMFILE);
	check(!map);
	map = small_map(10, 0);
	check_eq(fill_up(map, 0), 10);
	um_map_close(map);
	limit(RLIMIT_NOFILE, 64);
}

static void without_address_space_no_map_is_made(void)
{
	struct shape s = { .max = 50000000 };
	struct um_map *map = NULL;
	uint32_t i;
	int before = open_descriptors();

	if (SANITIZED)
		skip_test("a sanitizer needs the address space itself");
	limit(RLIMIT_AS, 512 << 20);
	for (i = 0; i < NR_MODES * NR_BACKINGS; i++) {
		s.map_flags = i % NR_MODES;
		s.backing = i / NR_MODES;
		check_err(try_make_map(&s, &map), -ENOMEM);
		check(!map);
	}
	check_eq(open_descriptors(), before);
	check_eq(entries_in(test_dir()), 0);
	um_map_close(small_map(1000, 0));
}

/* ---- places ---- */

static void a_missing_default_directory_is_made_for_its_owner_alone(void)
{
	struct shape s = { .max = 10, .backing = IN_FILE };
	struct stat st;

	check(!setenv("USERMAP_DIR", test_path("maps"), 1));
	umask(0);
	um_map_close(make_map(&s));
	check(!stat(test_path("maps"), &st));
	check_eq(st.st_mode & 07777, 0700);
	check(!stat(test_path("maps/map"), &st));
	check_eq(st.st_mode & 07777, 0600);
	check(S_ISREG(st.st_mode) && st.st_nlink == 1);
}

static void places_that_take_no_map_give_the_systems_error(void)
{
	static char long_path[5000];
	struct shape s = { .max = 10, .backing = IN_FILE, .path = long_path };
	struct um_map *map = NULL;

	memset(long_path, 'a', sizeof(long_path) - 1);
	check_err(try_make_map(&s, &map), -ENAMETOOLONG);
	check_err(um_map_open(long_path, NULL, &map), -ENAMETOOLONG);
	check_err(um_map_unlink(long_path), -ENAMETOOLONG);
	long_path[300] = 0; /* too long for a file name, not for a path */
	check_err(try_make_map(&s, &map), -ENAMETOOLONG);
	s.path = test_path("no/such/directory");
	check_err(try_make_map(&s, &map), -ENOENT);
	s.path = "/proc/map";
	check(try_make_map(&s, &map) < 0);
	check(!mkdir(test_path("map"), 0700));
	s.path = "map";
	check_err(try_make_map(&s, &map), -EEXIST);
	check(!map);
	check_eq(entries_in(test_dir()), 1);
}

static void make_in_a_foreign_directory(void *arg)
{
	struct shape s = { .max = 10, .backing = IN_FILE, .path = test_path("map") };
	struct um_map *map = NULL;

	check(!setuid(65534));
	check_err(try_make_map(&s, &map), -EACCES);
	check(!map);
}

static void a_directory_without_permission_takes_no_map(void)
{
	if (geteuid())
		skip_test("only root has a directory that another user may not write to");
	check(!chmod(test_dir(), 0755));
	run_child(make_in_a_foreign_directory, NULL);
	check_eq(entries_in(test_dir()), 0);
}

static const struct test tests[] = {
	{ "a_preallocated_map_that_does_not_fit_is_not_made",
	  a_preallocated_map_that_does_not_fit_is_not_made },
	{ "an_insert_on_a_full_file_system_is_an_error",
	  an_insert_on_a_full_file_system_is_an_error },
	{ "threads_come_to_a_full_file_system_without_harm",
	  threads_come_to_a_full_file_system_without_harm },
	{ "a_map_above_the_file_size_limit_is_refused_without_a_signal",
	  a_map_above_the_file_size_limit_is_refused_without_a_signal },
	{ "without_descriptors_only_private_maps_are_made",
	  without_descriptors_only_private_maps_are_made },
	{ "without_address_space_no_map_is_made", without_address_space_no_map_is_made },
	{ "a_missing_default_directory_is_made_for_its_owner_alone",
	  a_missing_default_directory_is_made_for_its_owner_alone },
	{ "places_that_take_no_map_give_the_systems_error",
	  places_that_take_no_map_give_the_systems_error },
	{ "a_directory_without_permission_takes_no_map",
	  a_directory_without_permission_takes_no_map },
};

TEST_MAIN(tests)
