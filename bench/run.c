/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * run.c - takes the measurements: A B C, A B C, ... until every row has as many
 * as --repeat asks for.
 *
 * What slows the machine for a while slows neighbours in a turn alike, so
 * ratios are taken turn by turn and only then put together (stats.c).
 */
#include <unistd.h>

#include "bench.h"
#include "plan.h"

void why_set(struct why *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
}

const char *cell_case(const struct cell *cell)
{
	return cell->bcase->name ? cell->bcase->name : cell->unit->impl->name;
}

const struct cell *cell_first_impl(const struct result *res, const struct cell *cell)
{
	const struct cell *c;

	for (c = res->cells; c != cell; c++) {
		if (!c->failed && c->nr_case == cell->nr_case && c->nr_conf == cell->nr_conf)
			break;
	}
	return c;
}

const struct cell *cell_first_conf(const struct result *res, const struct cell *cell)
{
	const struct cell *c;

	for (c = res->cells; c != cell; c++) {
		if (!c->failed && c->nr_case == cell->nr_case && c->nr_impl == cell->nr_impl)
			break;
	}
	return c;
}

/* A line that the next one overwrites; for people only. */
static void progress(const struct result *res, const struct cell *cell, unsigned int done)
{
	const struct conf *conf = cell->unit->conf;

	if (res->opts->quiet || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r\033[K[%u/%u] %s %s %s -p %u", done + 1, res->nr_cells * res->repeat,
		res->bench->name, cell_case(cell), cell->unit->impl->name, conf->threads);
	if (!res->bench->no_map)
		fprintf(stderr, " --cpus %u --entries %u", conf->nr_cpus, conf->entries);
	fflush(stderr);
}

static void progress_end(const struct result *res)
{
	if (!res->opts->quiet && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
}

static void say_failed(const struct result *res, const struct cell *cell, const struct why *why)
{
	progress_end(res);
	fprintf(stderr, "usermap-bench: %s %s: %s: measurement failed: %s\n", res->bench->name,
		cell_case(cell), cell->unit->impl->name, why->text);
}

/* All turns. Answers 1 if a measurement failed. */
static int take_turns(struct result *res)
{
	unsigned int turn, i, done = 0;
	struct why why;
	int failed = 0;

	for (turn = 0; turn < res->repeat; turn++) {
		for (i = 0; i < res->nr_cells; i++, done++) {
			struct cell *cell = &res->cells[i];

			if (cell->failed)
				continue;
			progress(res, cell, done);
			if (res->bench->measure(cell->unit, cell->nr_case, res->warmup,
						res->duration, &cell->samples[turn], &why)) {
				say_failed(res, cell, &why);
				cell->failed = true;
				failed = 1;
			}
		}
	}
	progress_end(res);
	return failed;
}

/* The lines that the kernel's bench prints. */
static void say(const struct result *res, const char *before, const char *after)
{
	if (res->opts->quiet)
		return;
	printf("%s '%s'%s\n", before, res->bench->name, after);
	fflush(stdout);
}

int run_bench(struct result *res)
{
	int status;

	if (!res->nr_cells)
		return 0;
	say(res, "Setting up benchmark", "...");
	status = plan_setup(res);
	say(res, "Benchmark", " started.");
	status |= take_turns(res);
	plan_teardown(res);
	return status;
}
