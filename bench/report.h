/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* report.h - results as a table, as JSON, as a picture. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "bench.h"
#include "machine.h"

void report_table(const struct result *res, FILE *out);
void report_machine(const struct machine *machine, FILE *out);

/* The document of -j; NULL without memory. The caller drops it. */
json_t *report_json(const struct machine *machine, const struct result *results, unsigned int nr);

/* Write the document, or draw the picture. 0, or -1 after a sentence on stderr. */
int report_json_file(json_t *doc, const char *path);
int report_plot_file(const struct result *results, unsigned int nr, const char *path);

/* Whether that will be possible, asked before hours are spent. 0, or -1 likewise. */
int report_check(const struct options *opts);

#endif
