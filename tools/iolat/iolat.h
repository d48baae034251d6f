/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * iolat.h - what usermap-iolat and the library it preloads agree on: the
 * operations, the three maps and the environment variable that names them.
 *
 * Programs that look at the maps from outside may rely on all of it; it is
 * described in docs/iolat.md.
 */
#ifndef IOLAT_H
#define IOLAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Numbers stay as they are; a new operation goes to the end. */
enum iolat_op {
	IOLAT_OPEN,
	IOLAT_OPENAT,
	IOLAT_CREAT,
	IOLAT_CLOSE,
	IOLAT_READ,
	IOLAT_WRITE,
	IOLAT_PREAD,
	IOLAT_PWRITE,
	IOLAT_READV,
	IOLAT_WRITEV,
	IOLAT_PREADV,
	IOLAT_PWRITEV,
	IOLAT_FSYNC,
	IOLAT_FDATASYNC,
	IOLAT_SENDFILE,
	IOLAT_COPY_FILE_RANGE,
	IOLAT_FOPEN,
	IOLAT_FCLOSE,
	IOLAT_FREAD,
	IOLAT_FWRITE,
	IOLAT_FGETS,
	IOLAT_GETLINE,
	IOLAT_FPUTS,
	IOLAT_FFLUSH,
	IOLAT_NR_OPS,
	/* not an operation: its keys count what was lost, by enum iolat_loss */
	IOLAT_LOST = 0xff,
};

enum iolat_loss {
	IOLAT_LOST_CALLS, /* made, and in no histogram */
	IOLAT_LOST_FILES, /* in a histogram, and in no file's sums */
	IOLAT_NR_LOSSES,
};

/* Call times: 2^bucket up to 2^(bucket + 1) - 1 ns; bucket 0 has 0 ns as well. */
#define IOLAT_NR_BUCKETS 64

/* PREFIX.starts: who is in a call now, and since when. */
struct iolat_start_key {
	uint32_t pid;
	uint32_t tid;
};

struct iolat_start {
	uint64_t start_ns; /* CLOCK_MONOTONIC; 0: between two calls */
	uint32_t op;
	int32_t fd; /* -1: the call has none yet */
};

/* PREFIX.hist: calls by operation and bucket; the value is a uint64_t. */
struct iolat_hist_key {
	uint32_t op;
	uint32_t bucket;
};

/* PREFIX.files: what was done to a file, by which calls of all operations. */
struct iolat_file_key {
	uint64_t dev;
	uint64_t ino;
};

#define IOLAT_NAME_LEN 208

struct iolat_file {
	uint64_t count;
	uint64_t bytes;
	uint64_t total_ns;
	uint64_t worst_ns;
	char name[IOLAT_NAME_LEN]; /* as it was when first seen; a long one's end */
};

#define IOLAT_STARTS ".starts"
#define IOLAT_HIST ".hist"
#define IOLAT_FILES ".files"
/*
 * A plain file: a byte, an errno, for each process that could not open the maps.
 * It is .NAME.missed beside the maps NAME.*; who lists maps passes dot files by.
 */
#define IOLAT_MISSED ".missed"

/* Its path, from that of the maps; false if it is too long. */
static inline bool iolat_missed_path(char *buf, size_t size, const char *prefix)
{
	const char *name = strrchr(prefix, '/');
	size_t dir_len;

	name = name ? name + 1 : prefix;
	dir_len = (size_t)(name - prefix);
	return dir_len < size &&
	       snprintf(buf, size, "%.*s.%s" IOLAT_MISSED, (int)dir_len, prefix, name) < (int)size;
}

/*
 * "PREFIX" or "PREFIX MULT TSC NS" in decimal, PREFIX an absolute path. The
 * numbers are those of struct iolat_clock.
 */
#define IOLAT_ENV "USERMAP_IOLAT"

/*
 * ns = base_ns + (time stamp counter - base_tsc) * mult / 2^32; mult 0: ask
 * clock_gettime() instead, which costs twice as much.
 */
struct iolat_clock {
	uint64_t mult;
	uint64_t base_tsc;
	uint64_t base_ns;
};

#endif
