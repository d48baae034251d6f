/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* report.c - the table that a person reads. */
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define COLUMNS 12
#define CELL_MAX 64

/* Text in columns as wide as they need to be. */
struct table {
	char (*rows)[COLUMNS][CELL_MAX];
	unsigned int nr_rows;
	unsigned int nr_columns;
	unsigned int at;
	unsigned int nr_left;
};

__attribute__((format(printf, 2, 3))) static void put(struct table *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->rows[t->nr_rows][t->at++], CELL_MAX, fmt, ap);
	va_end(ap);
}

static void end_row(struct table *t)
{
	if (t->at > t->nr_columns)
		t->nr_columns = t->at;
	t->at = 0;
	t->nr_rows++;
}

static void print_columns(const struct table *t, FILE *out)
{
	int width[COLUMNS] = { 0 };
	unsigned int r, c;

	for (r = 0; r < t->nr_rows; r++) {
		for (c = 0; c < t->nr_columns; c++) {
			if ((int)strlen(t->rows[r][c]) > width[c])
				width[c] = (int)strlen(t->rows[r][c]);
		}
	}
	for (r = 0; r < t->nr_rows; r++) {
		for (c = 0; c < t->nr_columns; c++) {
			fprintf(out, "%s%*s", c ? "  " : "", c < t->nr_left ? -width[c] : width[c],
				t->rows[r][c]);
		}
		fputc('\n', out);
	}
}

static void put_spread(struct table *t, const struct stats *s)
{
	put(t, "%.2f", s->median);
	put(t, "%.2f..%.2f", s->min, s->max);
}

static void put_head(struct table *t, const struct result *res)
{
	put(t, "case");
	put(t, "back end");
	put(t, "-p");
	if (!res->bench->no_map) {
		put(t, "nr_cpus");
		put(t, "entries");
	}
	put(t, "%s", res->bench->unit);
	put(t, "min..max");
	put(t, "Mops/s");
	put(t, "time/%s", res->impls[0]->name);
	put(t, "min..max");
	if (res->nr_confs > 1) {
		put(t, "rate/first");
		put(t, "min..max");
	}
	end_row(t);
}

static void put_cell(struct table *t, const struct result *res, const struct cell *cell)
{
	const struct cell *impl = cell_first_impl(res, cell), *conf = cell_first_conf(res, cell);
	const struct stats value = stats_of(cell->samples, res->repeat);
	const struct stats time = stats_ratio(cell->samples, impl->samples, res->repeat);
	/* The other way round: times in ns turn into rates. */
	const struct stats rate = stats_ratio(conf->samples, cell->samples, res->repeat);

	put(t, "%s", cell_case(cell));
	put(t, "%s", cell->unit->impl->name);
	put(t, "%u", cell->unit->conf->threads);
	if (!res->bench->no_map) {
		put(t, "%u", cell->unit->conf->nr_cpus);
		put(t, "%u", cell->unit->conf->entries);
	}
	put_spread(t, &value);
	put(t, "%.3f", 1000 / value.median);
	put_spread(t, &time);
	if (res->nr_confs > 1)
		put_spread(t, &rate);
	end_row(t);
}

static void print_rows(const struct result *res, FILE *out)
{
	struct table t = { .nr_left = 2 };
	unsigned int i;

	t.rows = calloc(res->nr_cells + 1, sizeof(*t.rows));
	if (!t.rows)
		return;
	put_head(&t, res);
	for (i = 0; i < res->nr_cells; i++) {
		if (!res->cells[i].failed)
			put_cell(&t, res, &res->cells[i]);
	}
	print_columns(&t, out);
	free(t.rows);
}

static void print_reading(const struct result *res, FILE *out)
{
	const char *first = res->impls[0]->name;

	fprintf(out,
		"  %s, min..max: one operation, all threads together (1 / their rate); median "
		"and range of %u turns of %g s\n",
		res->bench->unit, res->repeat, res->duration);
	fprintf(out, "  time/%s: how many times as long as %s, turn by turn\n", first, first);
	if (res->nr_confs > 1)
		fprintf(out,
			"  rate/first: how many times the rate of the same back end's first row "
			"of the case, turn by turn\n");
}

void report_table(const struct result *res, FILE *out)
{
	const struct conf *conf = res->confs;
	unsigned int i;

	if (!res->nr_cells)
		return;
	fprintf(out, "\n%s: an operation is %s\n", res->bench->name, res->bench->operation);
	fprintf(out, "a row is one case by one back end");
	if (!res->bench->no_map) {
		fprintf(out, "; keys of %u bytes, values of %u, picked ", conf->key_size,
			conf->value_size);
		if (conf->dist.zipf)
			fprintf(out, "zipf %g", conf->dist.s);
		else
			fprintf(out, "uniformly");
	}
	fprintf(out, "\n\n");
	print_rows(res, out);
	fputc('\n', out);
	print_reading(res, out);
	for (i = 0; i < res->nr_impls; i++)
		fprintf(out, "  %s: %s\n", res->impls[i]->name, res->impls[i]->about);
	if (res->bench->report)
		res->bench->report(res, out);
	fflush(out);
}

void report_machine(const struct machine *machine, FILE *out)
{
	fprintf(out, "\n%s, %u CPUs, Linux %s, %s %s, commit %s\n", machine->cpu, machine->cpus,
		machine->kernel, machine->compiler, machine->flags, machine->commit);
#ifndef NDEBUG
	fprintf(out, "Built with asserts: a release build is faster.\n");
#endif
}
