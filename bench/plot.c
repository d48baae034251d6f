/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * plot.c - the rows as a picture, drawn by gnuplot: a panel for each benchmark,
 * a group of bars for each case and combination, a bar for each back end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define PANEL_HEIGHT 420
#define WIDTH 960

/* A wider range than this is drawn on a logarithmic scale. */
#define LINEAR_RANGE 20

/* More labels than this are set aslant, or they would run into each other. */
#define LEVEL_LABELS 3

/* Text in single quotes, as gnuplot reads it. */
static void quoted(FILE *f, const char *text)
{
	fputc('\'', f);
	for (; *text; text++)
		fprintf(f, *text == '\'' ? "''" : "%c", *text);
	fputc('\'', f);
}

static const struct cell *find_cell(const struct result *res, unsigned int nr_case,
				    unsigned int nr_conf, unsigned int nr_impl)
{
	unsigned int i;

	for (i = 0; i < res->nr_cells; i++) {
		const struct cell *c = &res->cells[i];

		if (!c->failed && c->nr_case == nr_case && c->nr_conf == nr_conf &&
		    c->nr_impl == nr_impl)
			return c;
	}
	return NULL;
}

/* What tells a group from its neighbours; entries and CPUs only where they vary. */
static void put_label(FILE *f, const struct result *res, unsigned int nr_case, unsigned int nr_conf)
{
	const char *name = res->bench->cases[nr_case].name;
	const struct conf *conf = &res->confs[nr_conf];

	fprintf(f, "\"%s", name ? name : res->bench->name);
	if (res->opts->threads.nr > 1)
		fprintf(f, " -p %u", conf->threads);
	if (res->opts->cpus.nr > 1)
		fprintf(f, " %u CPUs", conf->nr_cpus);
	if (res->opts->entries.nr > 1)
		fprintf(f, " %u", conf->entries);
	fputc('"', f);
}

/* A line for each group: label, then median, least and most of each back end. */
static void put_data(FILE *f, const struct result *res, unsigned int panel)
{
	unsigned int k, c, i;

	fprintf(f, "$panel%u << END\n", panel);
	for (k = 0; k < res->bench->nr_cases; k++) {
		for (c = 0; c < res->nr_confs; c++) {
			put_label(f, res, k, c);
			for (i = 0; i < res->nr_impls; i++) {
				const struct cell *cell = find_cell(res, k, c, i);
				struct stats s;

				if (!cell) {
					fprintf(f, " NaN NaN NaN");
					continue;
				}
				s = stats_of(cell->samples, res->repeat);
				fprintf(f, " %g %g %g", s.median, s.min, s.max);
			}
			fputc('\n', f);
		}
	}
	fprintf(f, "END\n");
}

static void put_scale(FILE *f, const struct result *res)
{
	double least = 0, most = 0, median;
	unsigned int i;

	for (i = 0; i < res->nr_cells; i++) {
		if (res->cells[i].failed)
			continue;
		median = stats_of(res->cells[i].samples, res->repeat).median;
		if (!least || median < least)
			least = median;
		if (median > most)
			most = median;
	}
	if (most > least * LINEAR_RANGE)
		fprintf(f, "set logscale y\nset yrange [%g:%g]\n", least / 2, most * 2);
	else
		fprintf(f, "unset logscale y\nset yrange [0:*]\n");
}

static void put_panel(FILE *f, const struct result *res, unsigned int panel)
{
	unsigned int i;

	put_scale(f, res);
	fprintf(f, "set title ");
	quoted(f, res->bench->name);
	fprintf(f, "\nset ylabel '%s, less is better'\nset xtics %s\nplot ", res->bench->unit,
		res->bench->nr_cases * res->nr_confs > LEVEL_LABELS ? "rotate by -25 left"
								    : "norotate center");
	for (i = 0; i < res->nr_impls; i++) {
		fprintf(f, "%s$panel%u using %u:%u:%u%s title ", i ? ", " : "", panel, 3 * i + 2,
			3 * i + 3, 3 * i + 4, i ? "" : ":xtic(1)");
		quoted(f, res->impls[i]->name);
	}
	fputc('\n', f);
}

static bool drawable(const struct result *res)
{
	unsigned int i;

	for (i = 0; i < res->nr_cells; i++) {
		if (!res->cells[i].failed)
			return true;
	}
	return false;
}

static void put_script(FILE *f, const struct result *results, unsigned int nr, const char *path)
{
	unsigned int r, panels = 0;

	for (r = 0; r < nr; r++)
		panels += drawable(&results[r]);
	fprintf(f, "set terminal svg size %d,%u dynamic background rgb 'white'\nset output ", WIDTH,
		PANEL_HEIGHT * (panels ? panels : 1));
	quoted(f, path);
	fprintf(f, "\nset style data histograms\nset style histogram errorbars gap 2 lw 1\n"
		   "set style fill solid 0.8 border -1\nset grid ytics\nset key outside right\n"
		   "set xtics noenhanced\nset key noenhanced\n");
	for (r = 0; r < nr; r++) {
		if (drawable(&results[r]))
			put_data(f, &results[r], r);
	}
	fprintf(f, "set multiplot layout %u,1\n", panels);
	for (r = 0; r < nr; r++) {
		if (drawable(&results[r]))
			put_panel(f, &results[r], r);
	}
	fprintf(f, "unset multiplot\n");
}

int report_plot_file(const struct result *results, unsigned int nr, const char *path)
{
	FILE *f = popen("gnuplot", "we");

	if (!f) {
		fprintf(stderr, "usermap-bench: cannot start gnuplot: %s\n", strerror(errno));
		return -1;
	}
	put_script(f, results, nr, path);
	if (pclose(f)) {
		fprintf(stderr, "usermap-bench: gnuplot could not draw %s\n", path);
		return -1;
	}
	return 0;
}
