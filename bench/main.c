/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* main.c - usermap-bench: the table of benchmarks, and the course of a run. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "machine.h"
#include "report.h"

enum {
	EXIT_MEASURED = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

static const struct bench *const benches[] = {
	&bench_htab_lookup,
	&bench_htab_update,
	&bench_htab_full_update,
	&bench_iolat,
};

static const struct bench *find_bench(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(benches); i++) {
		if (!strcmp(benches[i]->name, name))
			return benches[i];
	}
	return NULL;
}

/*
 * The back ends of all benchmarks, each once; answers how many. @impls has room
 * for LIST_MAX.
 */
static unsigned int all_impls(const struct backend **impls)
{
	unsigned int b, i, k, nr = 0;

	for (b = 0; b < ARRAY_SIZE(benches); b++) {
		for (i = 0; i < benches[b]->nr_impls; i++) {
			for (k = 0; k < nr && impls[k] != benches[b]->impls[i]; k++)
				;
			if (k == nr && nr < LIST_MAX)
				impls[nr++] = benches[b]->impls[i];
		}
	}
	return nr;
}

static void print_list(void)
{
	const struct backend *impls[LIST_MAX];
	const unsigned int nr = all_impls(impls);
	unsigned int i;
	struct why why;

	printf("Available benchmarks:\n");
	for (i = 0; i < ARRAY_SIZE(benches); i++)
		printf("- %s\n", benches[i]->name);
	printf("Back ends:\n");
	for (i = 0; i < nr; i++) {
		printf("  %-15s %s\n", impls[i]->name, impls[i]->about);
		if (impls[i]->absent)
			printf("  %-15s cannot run here: %s\n", "", impls[i]->absent);
		else if (impls[i]->probe && impls[i]->probe(&why))
			printf("  %-15s cannot run here: %s\n", "", why.text);
	}
}

static bool known_impl(const char *name)
{
	const struct backend *impls[LIST_MAX];
	const unsigned int nr = all_impls(impls);
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!strcmp(impls[i]->name, name))
			return true;
	}
	return false;
}

/* Whether all names are known; said, if not. */
static bool names_known(const struct options *opts)
{
	unsigned int i;

	if (!opts->benches.nr) {
		fprintf(stderr, "usermap-bench: benchmark name is not specified, see usermap-bench "
				"--list\n");
		return false;
	}
	for (i = 0; i < opts->benches.nr; i++) {
		if (!find_bench(opts->benches.v[i])) {
			fprintf(stderr,
				"usermap-bench: benchmark '%s' not found, see usermap-bench "
				"--list\n",
				opts->benches.v[i]);
			return false;
		}
	}
	for (i = 0; i < opts->impls.nr; i++) {
		if (!known_impl(opts->impls.v[i])) {
			fprintf(stderr,
				"usermap-bench: back end '%s' not found, see usermap-bench "
				"--list\n",
				opts->impls.v[i]);
			return false;
		}
	}
	return true;
}

/* Tables, then the files. Answers the exit status so far, or worse. */
static int report(const struct options *opts, const struct result *results, int status)
{
	const unsigned int nr = opts->benches.nr;
	struct machine machine;
	json_t *doc;

	machine_read(&machine);
	report_machine(&machine, stdout);
	if (opts->json) {
		doc = report_json(&machine, results, nr);
		if (report_json_file(doc, opts->json))
			status = EXIT_FAILED;
		json_decref(doc);
	}
	if (opts->plot && report_plot_file(results, nr, opts->plot))
		status = EXIT_FAILED;
	return status;
}

/* All benchmarks are planned before the first runs, so a slip costs no time. */
static int run_all(const struct options *opts, struct result *results)
{
	unsigned int i;
	int status = EXIT_MEASURED, ret;

	for (i = 0; i < opts->benches.nr; i++) {
		ret = plan_bench(find_bench(opts->benches.v[i]), opts, &results[i]);
		if (ret == EXIT_USAGE)
			return ret;
		if (ret)
			status = EXIT_FAILED;
	}
	for (i = 0; i < opts->benches.nr; i++) {
		if (run_bench(&results[i]))
			status = EXIT_FAILED;
		report_table(&results[i], stdout);
	}
	return report(opts, results, status);
}

static int run(const struct options *opts)
{
	struct result results[LIST_MAX] = { { 0 } };
	unsigned int i;
	int status;

	if (opts->help) {
		print_usage();
		return EXIT_MEASURED;
	}
	if (opts->list) {
		print_list();
		return EXIT_MEASURED;
	}
	if (!names_known(opts))
		return EXIT_USAGE;
	if (report_check(opts))
		return EXIT_FAILED;
	status = run_all(opts, results);
	for (i = 0; i < opts->benches.nr; i++)
		result_free(&results[i]);
	return status;
}

int main(int argc, char **argv)
{
	struct options opts;
	int status;

	if (parse_options(argc, argv, &opts)) {
		fprintf(stderr, "usermap-bench --help lists the options.\n");
		status = EXIT_USAGE;
	} else {
		status = run(&opts);
	}
	options_free(&opts);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "usermap-bench: cannot write the results to standard output\n");
		return status ? status : EXIT_FAILED;
	}
	return status;
}
