/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * session.c - makes the maps of one run and tells the traced processes where
 * they are, which library to preload and how to read the clock.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "frontend.h"

#ifndef IOLAT_LIBDIR
#error "IOLAT_LIBDIR is where the library is, seen from the program's directory"
#endif

#define LIBRARY "libusermap-iolat.so"
#define MAX_CALLS 16384 /* at one time, by all threads */
#define CALIBRATE_NS 10000000

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- the clock ---- */

#ifdef __x86_64__
/* The kernel itself keeps time by the TSC only if it runs evenly on all CPUs. */
static bool tsc_is_good(void)
{
	char name[16] = "";
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	bool good;

	if (!f)
		return false;
	good = fgets(name, sizeof(name), f) && strcmp(name, "tsc\n") == 0;
	fclose(f);
	return good;
}

/* Both clocks at one moment: of some tries the one that took least. */
static void read_clocks(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;
	int i;

	for (i = 0; i < 8; i++) {
		uint64_t before = __builtin_ia32_rdtsc(), now = now_ns();
		uint64_t took = __builtin_ia32_rdtsc() - before;

		if (took < best) {
			best = took;
			*tsc = before + took / 2;
			*ns = now;
		}
	}
}

static void clock_start(struct session *s)
{
	if (tsc_is_good())
		read_clocks(&s->first_tsc, &s->first_ns);
}

/* 10 ms, of which making the maps has taken a part, tell the rate to some ppm. */
static void clock_calibrate(struct session *s)
{
	struct timespec rest = { 0, 0 };
	uint64_t passed;

	if (!s->first_ns)
		return;
	passed = now_ns() - s->first_ns;
	if (passed < CALIBRATE_NS) {
		rest.tv_nsec = (long)(CALIBRATE_NS - passed);
		nanosleep(&rest, NULL);
	}
	read_clocks(&s->clock.base_tsc, &s->clock.base_ns);
	s->clock.mult = (uint64_t)(((unsigned __int128)(s->clock.base_ns - s->first_ns) << 32) /
				   (s->clock.base_tsc - s->first_tsc));
}
#else
/* Elsewhere clock_gettime() is one cheap instruction anyway. */
static void clock_start(struct session *s)
{
}

static void clock_calibrate(struct session *s)
{
}
#endif

/* ---- the maps ---- */

static int create_map(const char *prefix, const char *suffix, uint32_t key_size,
		      uint32_t value_size, uint32_t max_entries, struct um_map_opts *opts,
		      struct um_map **map)
{
	char name[NAME_MAX];

	snprintf(name, sizeof(name), "%s%s", prefix, suffix);
	opts->path = name;
	return um_map_create(BPF_MAP_TYPE_HASH, name, key_size, value_size, max_entries, opts, map);
}

static int create_maps(struct session *s, const char *prefix, uint32_t max_files)
{
	/* references into starts are of its thread's own entry, see starts.c */
	UM_OPTS(um_map_opts, of_starts, .um_flags = UM_F_REUSE);
	UM_OPTS(um_map_opts, of_hist);
	UM_OPTS(um_map_opts, of_files, .map_flags = BPF_F_NO_PREALLOC);
	int err = create_map(prefix, IOLAT_STARTS, sizeof(struct iolat_start_key),
			     sizeof(struct iolat_start), MAX_CALLS, &of_starts, &s->starts);

	if (!err)
		err = create_map(
			prefix, IOLAT_HIST, sizeof(struct iolat_hist_key), sizeof(uint64_t),
			IOLAT_NR_OPS * IOLAT_NR_BUCKETS + IOLAT_NR_LOSSES, &of_hist, &s->hist);
	if (!err)
		err = create_map(prefix, IOLAT_FILES, sizeof(struct iolat_file_key),
				 sizeof(struct iolat_file), max_files, &of_files, &s->files);
	return err;
}

static void remove_map(const char *prefix, const char *suffix, struct um_map *map)
{
	char path[PATH_MAX + 16];

	if (!map)
		return;
	um_map_close(map);
	snprintf(path, sizeof(path), "%s%s", prefix, suffix);
	um_map_unlink(path);
}

void session_close(struct session *s, bool keep)
{
	if (s->missed[0])
		unlink(s->missed);
	if (keep) {
		um_map_close(s->starts);
		um_map_close(s->hist);
		um_map_close(s->files);
		return;
	}
	remove_map(s->prefix, IOLAT_STARTS, s->starts);
	remove_map(s->prefix, IOLAT_HIST, s->hist);
	remove_map(s->prefix, IOLAT_FILES, s->files);
}

/* The directory of maps; absolute, as a traced program may change its own. */
static int set_prefix(struct session *s, const char *prefix)
{
	char dir[PATH_MAX], absolute[PATH_MAX];
	int len = um_map_dir(dir, sizeof(dir));

	if (len < 0 || !realpath(dir, absolute)) {
		complain("the directory of maps cannot be found: %s",
			 strerror(len < 0 ? -len : errno));
		return -1;
	}
	len = snprintf(s->prefix, sizeof(s->prefix), "%s/%s", absolute, prefix);
	if (len + 16 >= (int)sizeof(s->prefix)) {
		complain("the path of the directory of maps is too long: %s", absolute);
		return -1;
	}
	return 0;
}

static int create_missed(struct session *s)
{
	int fd;

	if (!iolat_missed_path(s->missed, sizeof(s->missed), s->prefix)) {
		complain("the path of the directory of maps is too long: %s", s->prefix);
		s->missed[0] = 0;
		return -1;
	}
	fd = open(s->missed, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) {
		complain("%s cannot be made: %s", s->missed, strerror(errno));
		s->missed[0] = 0;
		return -1;
	}
	close(fd);
	return 0;
}

static void complain_create(const char *prefix, int err)
{
	char dir[PATH_MAX];

	if (um_map_dir(dir, sizeof(dir)) < 0)
		snprintf(dir, sizeof(dir), "the directory of maps");
	complain("the maps %s.* cannot be made in %s: %s%s", prefix, dir,
		 um_strerror(err, UM_CREATE),
		 err == -EACCES ? "; set USERMAP_DIR to a directory of your own" : "");
}

/* "io" and our pid; short, as ".starts" must fit into a map's name with it. */
static void own_prefix(char buf[16])
{
	int pid = (int)getpid();

	snprintf(buf, 16, "%s%d", pid < 1000000 ? "io" : "i", pid);
}

int session_open(struct session *s, const struct options *o)
{
	char own[16];
	const char *prefix = o->prefix;
	int err;

	memset(s, 0, sizeof(*s));
	clock_start(s);
	if (!prefix) {
		own_prefix(own);
		prefix = own;
	}
	err = create_maps(s, prefix, o->max_files);
	if (err) {
		complain_create(prefix, err);
		if (s->starts && !set_prefix(s, prefix))
			session_close(s, false);
		return -1;
	}
	if (set_prefix(s, prefix))
		return -1;
	if (create_missed(s)) {
		session_close(s, false);
		return -1;
	}
	return 0;
}

/* ---- the environment ---- */

static bool is_readable(const char *path)
{
	return access(path, R_OK) == 0;
}

/* Beside the program, as in a build directory; where it is installed; or where
 * the user says. */
static int find_library(char path[PATH_MAX])
{
	const char *env = getenv("USERMAP_IOLAT_LIB");
	char dir[PATH_MAX];
	ssize_t len;

	if (env && *env) {
		if (realpath(env, path))
			return 0;
		complain("$USERMAP_IOLAT_LIB names %s, which cannot be used: %s", env,
			 strerror(errno));
		return -1;
	}
	len = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	if (len > 0) {
		dir[len] = 0;
		*strrchr(dir, '/') = 0;
		if (snprintf(path, PATH_MAX, "%s/" LIBRARY, dir) < PATH_MAX && is_readable(path))
			return 0;
		if (snprintf(path, PATH_MAX, "%s/" IOLAT_LIBDIR "/" LIBRARY, dir) < PATH_MAX &&
		    is_readable(path))
			return 0;
	}
	complain("there is no " LIBRARY " near the program: install it, or set USERMAP_IOLAT_LIB "
		 "to its path");
	return -1;
}

static int set_preload(const char *library)
{
	const char *before = getenv("LD_PRELOAD");
	char *value;
	int err;

	if (strpbrk(library, " :")) {
		complain("the loader takes no path with a blank or colon in it: %s; set "
			 "USERMAP_IOLAT_LIB to another",
			 library);
		return -1;
	}
	if (asprintf(&value, "%s%s%s", library, before ? ":" : "", before ? before : "") < 0)
		return -1;
	err = setenv("LD_PRELOAD", value, 1);
	free(value);
	return err;
}

int session_set_environment(struct session *s)
{
	char library[PATH_MAX], *value;
	int err;

	if (find_library(library) || set_preload(library))
		return -1;
	clock_calibrate(s);
	if (asprintf(&value, "%s %llu %llu %llu", s->prefix, (unsigned long long)s->clock.mult,
		     (unsigned long long)s->clock.base_tsc,
		     (unsigned long long)s->clock.base_ns) < 0)
		return -1;
	err = setenv(IOLAT_ENV, value, 1);
	free(value);
	return err;
}
