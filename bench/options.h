/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* options.h - what the command line of usermap-bench says. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define LIST_MAX 32

/* Numbers given as "1,2,8"; nr 0: not given. */
struct num_list {
	unsigned int nr;
	uint32_t v[LIST_MAX];
};

/* Names given as "usermap,kernel"; nr 0: not given. */
struct name_list {
	unsigned int nr;
	char *v[LIST_MAX];
};

/* How keys are picked: all alike, or rank k with a weight of k to the -s. */
struct dist {
	bool zipf;
	double s;
};

/*
 * struct options - negative seconds and zero numbers: the benchmark's default
 * @text: memory behind the names
 */
struct options {
	double warmup;
	double duration;
	struct num_list threads;
	struct num_list cpus;
	struct num_list entries;
	uint32_t consumers;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t repeat;
	struct dist dist;
	bool pin;
	bool quiet;
	bool list;
	bool help;
	const char *json;
	const char *plot;
	struct name_list impls;
	struct name_list benches;
	char *text;
};

/*
 * Read a list of different whole numbers, each from @least to @most. @what
 * names the option in the sentence on stderr. 0, or -1.
 */
int parse_num_list(const char *text, uint32_t least, uint32_t most, const char *what,
		   struct num_list *list);

/* "uniform" or "zipf:S", S above 0 and at most 10. 0, or -1 after a sentence on stderr. */
int parse_dist(const char *text, struct dist *dist);

/* Read the command line. 0, or -1 after a sentence on stderr. */
int parse_options(int argc, char **argv, struct options *opts);
void options_free(struct options *opts);

void print_usage(void);

#endif
