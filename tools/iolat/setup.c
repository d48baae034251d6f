/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * setup.c - the preloaded library's start and end in a traced process.
 *
 * Where anything is missing the process runs on untraced and says nothing but
 * a byte in the file of those missed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "base/sys.h"
#include "real.h"
#include "trace.h"

#define LOW_FDS 100
/* A lock that is held this long is held by a stopped process, also on a machine
 * that has much to do. */
#define LOCK_TIMEOUT_MS 250
#define OPEN_TRIES 8

/* "PREFIX MULT TSC NS"; the prefix may have blanks in it. */
static int parse(const char *env, char prefix[PATH_MAX])
{
	uint64_t *numbers[] = { &um_iolat_tracer.clock.base_ns, &um_iolat_tracer.clock.base_tsc,
				&um_iolat_tracer.clock.mult };
	size_t len = strlen(env), i;
	char *end;

	if (len >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(prefix, env, len + 1);
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		char *blank = strrchr(prefix, ' ');

		if (!blank)
			return -EINVAL;
		*numbers[i] = strtoull(blank + 1, &end, 10);
		if (end == blank + 1 || *end)
			return -EINVAL;
		*blank = 0;
	}
	return 0;
}

static int open_map(const char *prefix, const char *suffix, struct um_map **map)
{
	UM_OPTS(um_open_opts, opts, .lock_timeout_ms = LOCK_TIMEOUT_MS);
	char path[PATH_MAX];
	int err, tries = 0;

	if (snprintf(path, sizeof(path), "%s%s", prefix, suffix) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	do
		err = um_map_open(path, &opts, map);
	while (err == -ETIMEDOUT && ++tries < OPEN_TRIES);
	return err;
}

static int open_maps(const char *prefix)
{
	int err = open_map(prefix, IOLAT_STARTS, &um_iolat_tracer.starts);

	if (err)
		return err;
	err = open_map(prefix, IOLAT_HIST, &um_iolat_tracer.hist);
	if (err)
		goto close_starts;
	err = open_map(prefix, IOLAT_FILES, &um_iolat_tracer.files);
	if (err)
		goto close_hist;
	return 0;
close_hist:
	um_map_close(um_iolat_tracer.hist);
close_starts:
	um_map_close(um_iolat_tracer.starts);
	return err;
}

/*
 * Programs and scripts name low descriptors, and expect open() to give the
 * lowest. So these are taken while the maps' own are opened.
 */
static int fill_low_fds(int filled[LOW_FDS])
{
	struct rlimit limit;
	long fd, top = LOW_FDS;
	int nr = 0;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < LOW_FDS)
		top = (long)limit.rlim_cur / 2;
	fd = um_syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd < top) {
		filled[nr++] = (int)fd;
		fd = um_syscall(SYS_fcntl, filled[0], F_DUPFD_CLOEXEC, 0);
	}
	if (fd >= 0)
		um_syscall(SYS_close, fd);
	return nr;
}

static int open_maps_high(const char *prefix)
{
	int filled[LOW_FDS], nr = fill_low_fds(filled), err = open_maps(prefix);

	while (nr)
		um_syscall(SYS_close, filled[--nr]);
	if (err)
		return err;
	um_iolat_tracer.fds[0] = um_map_fd(um_iolat_tracer.starts);
	um_iolat_tracer.fds[1] = um_map_fd(um_iolat_tracer.hist);
	um_iolat_tracer.fds[2] = um_map_fd(um_iolat_tracer.files);
	return 0;
}

static void note_missed(const char *prefix, int err)
{
	char path[PATH_MAX];
	uint8_t byte = (uint8_t)-err;
	long fd;

	if (!iolat_missed_path(path, sizeof(path), prefix))
		return;
	fd = um_syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return;
	um_syscall(SYS_write, fd, &byte, 1);
	um_syscall(SYS_close, fd);
}

__attribute__((constructor)) static void start(void)
{
	const char *env = getenv(IOLAT_ENV);
	char prefix[PATH_MAX];
	int saved = errno, err;

	um_iolat_real_need();
	if (!env || parse(env, prefix))
		goto restore;
	um_iolat_tracer.flush_ns = IOLAT_FLUSH_NS;
	err = um_iolat_thread_init();
	if (!err)
		err = open_maps_high(prefix);
	if (!err && at_quick_exit(um_iolat_flush_all))
		err = -ENOMEM;
	if (err)
		note_missed(prefix, err);
	else
		smp_store_release(&um_iolat_tracer.on, 1);
restore:
	errno = saved;
}

/* Destructors of other libraries may come later and still call. */
__attribute__((destructor)) static void end(void)
{
	WRITE_ONCE(um_iolat_tracer.flush_ns, 0);
	um_iolat_flush_all();
}
