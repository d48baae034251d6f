/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* unit.c - the frame of the unit tests. */
#include "unit.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
#include "mem/proc.h"

#define WATCHDOG_S 240 /* far above any program, also under a sanitizer */

static char dir[64];
static pid_t owner;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void remove_dir(void)
{
	if (getpid() == owner)
		nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int unit_start(int argc, char **argv)
{
	int c;

	if (getrandom(&test_seed, sizeof(test_seed), 0) != sizeof(test_seed))
		test_seed = (uint64_t)getpid();
	test_seed &= 0xffffffff; /* short enough to type */
	while ((c = getopt(argc, argv, "s:")) != -1) {
		if (c != 's') {
			fprintf(stderr, "usage: %s [-s SEED] [PATTERN]\n", argv[0]);
			return -1;
		}
		test_seed = strtoull(optarg, NULL, 0);
	}
	if (argv[optind])
		cmocka_set_test_filter(argv[optind]);
	printf("seed %llu\n", (unsigned long long)test_seed);
	fflush(stdout);
	strcpy(dir, "/dev/shm/usermap-unit-XXXXXX");
	if (!mkdtemp(dir)) {
		perror(dir);
		return -1;
	}
	owner = getpid();
	atexit(remove_dir);
	setenv("USERMAP_DIR", dir, 1);
	alarm(WATCHDOG_S);
	return 0;
}

int unit_finish(int failed)
{
	return failed ? 1 : 0;
}

const char *unit_path(const char *name)
{
	static char buf[4][256];
	static int next;
	char *b = buf[next++ % 4];

	snprintf(b, sizeof(buf[0]), "%s/%s", dir, name);
	return b;
}

struct um_map *unit_map(uint32_t key_size, uint32_t value_size, uint32_t max_entries,
			const struct um_map_opts *opts)
{
	struct um_map *map = NULL;

	check_ok(um_map_create(BPF_MAP_TYPE_HASH, "unit", key_size, value_size, max_entries, opts,
			       &map));
	return map;
}

struct um_map *unit_open(const char *path)
{
	struct um_map *map = NULL;

	check_ok(um_map_open(path, NULL, &map));
	return map;
}

struct um_map_stats unit_stats(const struct um_map *map)
{
	struct um_map_stats s = { .sz = sizeof(s) };

	check_ok(um_map_get_stats(map, &s));
	return s;
}

struct um_map_info unit_info(const struct um_map *map)
{
	struct um_map_info i = { .sz = sizeof(i) };

	check_ok(um_map_get_info(map, &i));
	return i;
}

struct um_params unit_params(uint32_t key_size, uint32_t value_size, uint32_t max_entries)
{
	return (struct um_params){
		.type = BPF_MAP_TYPE_HASH,
		.key_size = key_size,
		.value_size = value_size,
		.max_entries = max_entries,
		.nr_cpus = 2,
		.spares = 16,
		.hash_id = UM_HASH_ID,
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE),
	};
}

struct um_arena *unit_arena(const struct um_params *p, const char *path)
{
	struct um_arena *a = calloc(1, sizeof(*a));

	check(a);
	check_ok(um_thread_init());
	check_ok(um_thread_start());
	check_ok(um_arena_create(a, p, "unit", path, -1));
	a->lock_timeout_ms = 1000;
	check_ok(um_proc_join(a));
	um_thread_attach(a);
	if (path)
		check_ok(um_arena_publish(a, path));
	return a;
}
