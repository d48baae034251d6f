/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* frontend.h - the parts of the usermap-iolat command. */
#ifndef IOLAT_FRONTEND_H
#define IOLAT_FRONTEND_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "iolat.h"
#include "usermap/usermap.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct options {
	double interval; /* seconds, 0: none */
	bool json;
	bool nanoseconds;
	bool keep;
	bool quiet;
	const char *prefix; /* NULL: one of our own */
	const char *output; /* NULL: stderr */
	uint32_t max_files;
	char **command;
};

/* A sentence on stderr. */
__attribute__((format(printf, 1, 2))) void complain(const char *fmt, ...);

/* ---- program.c ---- */

/*
 * Can the preloaded library get into @name, looked up as execvp() does? 0, or
 * the status to exit with, after a sentence that says why not.
 */
int check_program(const char *name);

/* ---- session.c: the maps, and what the traced processes are told ---- */

struct session {
	char prefix[PATH_MAX]; /* absolute, of all files */
	char missed[PATH_MAX];
	struct um_map *starts;
	struct um_map *hist;
	struct um_map *files;
	struct iolat_clock clock;
	uint64_t first_tsc;
	uint64_t first_ns;
};

int session_open(struct session *s, const struct options *o);
/* Set the environment up, right before the command starts. */
int session_set_environment(struct session *s);
void session_close(struct session *s, bool keep);
uint64_t now_ns(void);

/* ---- run.c ---- */

struct outcome {
	pid_t pid;
	int status; /* as of waitpid() */
	double seconds;
};

/*
 * Run the command to its end. @tick is called every @interval seconds, if that
 * is not 0. 0, or the status to exit with if it could not be started.
 */
int run_command(char **argv, double interval, void (*tick)(void *ctx), void *ctx,
		struct outcome *outcome);

/* Exit as the command did: by its status or its signal. */
__attribute__((noreturn)) void exit_like(int status);

/* ---- collect.c: what the maps say ---- */

extern const char *const op_names[IOLAT_NR_OPS];

struct counts {
	uint64_t hist[IOLAT_NR_OPS][IOLAT_NR_BUCKETS];
	uint64_t lost[IOLAT_NR_LOSSES];
};

struct file_sums {
	struct iolat_file_key key;
	struct iolat_file sums;
};

/* @by_errno: processes that could not open the maps, by the reason */
struct findings {
	struct counts counts;
	struct file_sums *files;
	size_t nr_files;
	uint64_t unfinished;
	uint64_t missed;
	uint8_t missed_errno;
};

#define NR_TOP 10

int collect_counts(struct session *s, struct counts *c);
int collect_findings(struct session *s, struct findings *f);
void free_findings(struct findings *f);
uint64_t sum_of(const uint64_t buckets[IOLAT_NR_BUCKETS]);
/* The bucket that the call at @fraction of all falls into. */
unsigned int quantile(const uint64_t buckets[IOLAT_NR_BUCKETS], double fraction);
/* Put the NR_TOP files that took longest for one call, or had most calls, first. */
size_t top_slowest(struct findings *f);
size_t top_busiest(struct findings *f);
/* The name, or device and inode; what is no printable UTF-8 as \xNN. */
void file_name(const struct file_sums *f, char *buf, size_t size);

/* ---- report.c, report_json.c ---- */

struct report {
	FILE *to;
	bool nanoseconds;
	char **command;
	struct session *session;
	struct counts last; /* at the interval before */
	uint64_t last_ns;
	uint64_t start_ns;
	bool any;
};

void report_interval(void *report);
int report_end(struct report *r, const struct outcome *o);
void json_start(struct report *r);
void json_interval(void *report);
int json_end(struct report *r, const struct outcome *o);

#endif
