/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* options.c - reads the command line of usermap-bench; says what is wrong with it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "stats.h"

#define SECONDS_MAX 86400
#define THREADS_MAX 1024
#define CPUS_MAX 1024
#define ENTRIES_MAX (1U << 27)
#define KEY_MAX 512
#define VALUE_MAX 4096
#define ZIPF_MAX 10

enum {
	OPT_IMPL = 256,
	OPT_CPUS,
	OPT_ENTRIES,
	OPT_KEY,
	OPT_VALUE,
	OPT_DIST,
	OPT_REPEAT,
	OPT_PLOT,
};

static const struct option long_options[] = {
	{ "warmup", required_argument, NULL, 'w' },
	{ "duration", required_argument, NULL, 'd' },
	{ "producers", required_argument, NULL, 'p' },
	{ "consumers", required_argument, NULL, 'c' },
	{ "affinity", no_argument, NULL, 'a' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "list", no_argument, NULL, 'l' },
	{ "help", no_argument, NULL, 'h' },
	{ "json", required_argument, NULL, 'j' },
	{ "impl", required_argument, NULL, OPT_IMPL },
	{ "cpus", required_argument, NULL, OPT_CPUS },
	{ "entries", required_argument, NULL, OPT_ENTRIES },
	{ "key", required_argument, NULL, OPT_KEY },
	{ "value", required_argument, NULL, OPT_VALUE },
	{ "dist", required_argument, NULL, OPT_DIST },
	{ "repeat", required_argument, NULL, OPT_REPEAT },
	{ "plot", required_argument, NULL, OPT_PLOT },
	{ NULL, 0, NULL, 0 },
};

void print_usage(void)
{
	puts("Usage: usermap-bench [OPTIONS] BENCH...\n"
	     "Measures usermap, the kernel's own map and others, taking turns in one run.\n\n"
	     "  -l, --list           list benchmarks and back ends\n"
	     "      --impl A,B,C     back ends, the first is what the others are compared with\n"
	     "  -p, --producers N    threads that do the work (1)\n"
	     "  -c, --consumers N    threads that take results (0)\n"
	     "  -a, --affinity       pin threads to CPUs one by one\n"
	     "  -w, --warmup SEC     run this long before each measurement, 0 is allowed\n"
	     "  -d, --duration SEC   length of one measurement\n"
	     "      --repeat N       turns, each measures every row once\n"
	     "      --cpus N         nr_cpus of the map, also more than the machine has\n"
	     "      --entries N      max_entries of the map, which is filled\n"
	     "      --key N          bytes of a key (8)\n"
	     "      --value N        bytes of a value (8)\n"
	     "      --dist D         uniform, or zipf:S with S above 0\n"
	     "  -j, --json FILE      write the rows as JSON\n"
	     "      --plot FILE.svg  draw the rows (needs gnuplot)\n"
	     "  -q, --quiet          the tables only\n"
	     "  -h, --help           this text\n\n"
	     "-p, --cpus and --entries take lists as 1,2,8: every combination is a row.\n"
	     "SEC may be a fraction as 0.5.");
}

/* A whole number, decimal, or -1. */
static int64_t parse_whole(const char *text, size_t len)
{
	int64_t n = 0;
	size_t i;

	if (!len || len > 10)
		return -1;
	for (i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		n = n * 10 + (text[i] - '0');
	}
	return n;
}

/* One number of an option that takes numbers from @least to @most. 0, or -1. */
static int parse_num(const char *text, size_t len, uint32_t least, uint32_t most, const char *what,
		     uint32_t *num)
{
	int64_t n = parse_whole(text, len);

	if (n < least || n > most) {
		fprintf(stderr, "usermap-bench: %s takes whole numbers from %u to %u, not '%.*s'\n",
			what, least, most, (int)len, text);
		return -1;
	}
	*num = (uint32_t)n;
	return 0;
}

int parse_num_list(const char *text, uint32_t least, uint32_t most, const char *what,
		   struct num_list *list)
{
	unsigned int i;
	size_t len;

	list->nr = 0;
	for (;; text += len + 1) {
		len = strcspn(text, ",");
		if (list->nr == LIST_MAX) {
			fprintf(stderr, "usermap-bench: %s takes at most %d numbers\n", what,
				LIST_MAX);
			return -1;
		}
		if (parse_num(text, len, least, most, what, &list->v[list->nr]))
			return -1;
		for (i = 0; i < list->nr; i++) {
			if (list->v[i] == list->v[list->nr]) {
				fprintf(stderr, "usermap-bench: %s has %u twice, give it once\n",
					what, list->v[i]);
				return -1;
			}
		}
		list->nr++;
		if (!text[len])
			return 0;
	}
}

static int add_name(struct name_list *list, char *name, const char *what)
{
	unsigned int i;

	if (!*name) {
		fprintf(stderr, "usermap-bench: %s has an empty name\n", what);
		return -1;
	}
	if (list->nr == LIST_MAX) {
		fprintf(stderr, "usermap-bench: %s takes at most %d names\n", what, LIST_MAX);
		return -1;
	}
	for (i = 0; i < list->nr; i++) {
		if (!strcmp(list->v[i], name)) {
			fprintf(stderr, "usermap-bench: %s has '%s' twice, give it once\n", what,
				name);
			return -1;
		}
	}
	list->v[list->nr++] = name;
	return 0;
}

static int parse_impls(const char *text, struct options *opts)
{
	char *next;

	free(opts->text);
	opts->impls.nr = 0;
	opts->text = strdup(text);
	if (!opts->text) {
		fprintf(stderr, "usermap-bench: out of memory\n");
		return -1;
	}
	for (char *name = opts->text; name; name = next) {
		next = strchr(name, ',');
		if (next)
			*next++ = '\0';
		if (add_name(&opts->impls, name, "--impl"))
			return -1;
	}
	return 0;
}

/* A number with a fraction and nothing else: no sign, exponent, or "inf". */
static int parse_fraction(const char *text, double *num)
{
	if (!*text || text[strspn(text, "0123456789.")] || !text[strspn(text, ".")])
		return -1;
	if (strchr(text, '.') != strrchr(text, '.'))
		return -1;
	*num = strtod(text, NULL);
	return 0;
}

static int parse_seconds(const char *text, bool zero, const char *what, double *sec)
{
	if (parse_fraction(text, sec) || *sec > SECONDS_MAX || (*sec == 0 && !zero)) {
		fprintf(stderr, "usermap-bench: %s takes seconds %s %d, as 0.5, not '%s'\n", what,
			zero ? "from 0 to" : "above 0, at most", SECONDS_MAX, text);
		return -1;
	}
	return 0;
}

int parse_dist(const char *text, struct dist *dist)
{
	if (!strcmp(text, "uniform")) {
		dist->zipf = false;
		return 0;
	}
	if (!strncmp(text, "zipf:", 5) && !parse_fraction(text + 5, &dist->s) && dist->s > 0 &&
	    dist->s <= ZIPF_MAX) {
		dist->zipf = true;
		return 0;
	}
	fprintf(stderr,
		"usermap-bench: --dist takes uniform or zipf:S, S above 0 and at most %d, as "
		"zipf:0.99, not '%s'\n",
		ZIPF_MAX, text);
	return -1;
}

static int parse_plot(const char *path, struct options *opts)
{
	const size_t len = strlen(path);

	if (len < 5 || strcmp(path + len - 4, ".svg")) {
		fprintf(stderr,
			"usermap-bench: --plot draws SVG, give a name that ends in .svg, not "
			"'%s'\n",
			path);
		return -1;
	}
	opts->plot = path;
	return 0;
}

static int parse_one(int opt, struct options *opts)
{
	switch (opt) {
	case 'w':
		return parse_seconds(optarg, true, "-w", &opts->warmup);
	case 'd':
		return parse_seconds(optarg, false, "-d", &opts->duration);
	case 'p':
		return parse_num_list(optarg, 1, THREADS_MAX, "-p", &opts->threads);
	case 'c':
		return parse_num(optarg, strlen(optarg), 0, THREADS_MAX, "-c", &opts->consumers);
	case 'a':
		opts->pin = true;
		return 0;
	case 'q':
		opts->quiet = true;
		return 0;
	case 'l':
		opts->list = true;
		return 0;
	case 'h':
		opts->help = true;
		return 0;
	case 'j':
		opts->json = optarg;
		return 0;
	case OPT_PLOT:
		return parse_plot(optarg, opts);
	case OPT_IMPL:
		return parse_impls(optarg, opts);
	case OPT_CPUS:
		return parse_num_list(optarg, 1, CPUS_MAX, "--cpus", &opts->cpus);
	case OPT_ENTRIES:
		return parse_num_list(optarg, 1, ENTRIES_MAX, "--entries", &opts->entries);
	case OPT_KEY:
		return parse_num(optarg, strlen(optarg), 1, KEY_MAX, "--key", &opts->key_size);
	case OPT_VALUE:
		return parse_num(optarg, strlen(optarg), 1, VALUE_MAX, "--value",
				 &opts->value_size);
	case OPT_DIST:
		return parse_dist(optarg, &opts->dist);
	case OPT_REPEAT:
		return parse_num(optarg, strlen(optarg), 1, STATS_MAX, "--repeat", &opts->repeat);
	}
	return -1; /* getopt_long() has said what is wrong */
}

int parse_options(int argc, char **argv, struct options *opts)
{
	int opt;

	*opts = (struct options){ .warmup = -1, .duration = -1 };
	optind = 0;
	while ((opt = getopt_long(argc, argv, "w:d:p:c:aqlhj:", long_options, NULL)) != -1) {
		if (parse_one(opt, opts))
			return -1;
	}
	while (optind < argc) {
		if (add_name(&opts->benches, argv[optind++], "the list of benchmarks"))
			return -1;
	}
	return 0;
}

void options_free(struct options *opts)
{
	free(opts->text);
}
