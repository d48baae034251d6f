/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* report_json.c - the rows for scripts and for the documents. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report.h"

static json_t *stats_json(const struct stats *s)
{
	return json_pack("{s:f, s:f, s:f}", "median", s->median, "min", s->min, "max", s->max);
}

static json_t *row_json(const struct result *res, const struct cell *cell)
{
	const struct cell *first = cell_first_impl(res, cell);
	const struct stats value = stats_of(cell->samples, res->repeat);
	const struct stats ratio = stats_ratio(cell->samples, first->samples, res->repeat);
	const struct conf *conf = cell->unit->conf;
	json_t *to, *row;

	row = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "bench",
			res->bench->name, "case", cell_case(cell), "impl", cell->unit->impl->name,
			"metric", "rate", "threads", (json_int_t)conf->threads, "entries",
			(json_int_t)conf->entries, "size", (json_int_t)conf->size, "key_size",
			(json_int_t)conf->key_size, "value_size", (json_int_t)conf->value_size,
			"nr_cpus", (json_int_t)conf->nr_cpus, "unit", res->bench->unit);
	to = json_pack("{s:s}", "to", first->unit->impl->name);
	if (json_object_update_new(row, stats_json(&value)) ||
	    json_object_set_new(row, "repeat", json_integer(res->repeat)) ||
	    json_object_update_new(to, stats_json(&ratio))) {
		json_decref(to);
		json_decref(row);
		return NULL;
	}
	json_object_set_new(row, "ratio", to);
	return row;
}

json_t *report_json(const struct machine *machine, const struct result *results, unsigned int nr)
{
	json_t *rows = json_array();
	unsigned int r, i;

	for (r = 0; r < nr; r++) {
		for (i = 0; i < results[r].nr_cells; i++) {
			if (!results[r].cells[i].failed)
				json_array_append_new(rows,
						      row_json(&results[r], &results[r].cells[i]));
		}
	}
	return json_pack("{s:{s:s, s:I, s:s, s:s, s:s, s:s}, s:o}", "machine", "cpu", machine->cpu,
			 "cpus", (json_int_t)machine->cpus, "kernel", machine->kernel, "compiler",
			 machine->compiler, "flags", machine->flags, "commit", machine->commit,
			 "rows", rows);
}

int report_json_file(json_t *doc, const char *path)
{
	FILE *f = fopen(path, "we");
	int err = 0;

	if (!f) {
		fprintf(stderr, "usermap-bench: cannot write %s: %s\n", path, strerror(errno));
		return -1;
	}
	errno = 0;
	err |= json_dumpf(doc, f, JSON_INDENT(4) | JSON_REAL_PRECISION(6));
	err |= fputc('\n', f) == EOF;
	err |= fclose(f);
	if (!err)
		return 0;
	fprintf(stderr, "usermap-bench: cannot write %s: %s\n", path,
		errno ? strerror(errno) : "it cannot be put as JSON");
	return -1;
}

/* Whether a file can be written, without touching one that is there. */
static int check_writable(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd >= 0) {
		close(fd);
		unlink(path);
		return 0;
	}
	if (errno == EEXIST && !access(path, W_OK))
		return 0;
	fprintf(stderr, "usermap-bench: cannot write %s: %s\n", path, strerror(errno));
	return -1;
}

int report_check(const struct options *opts)
{
	if (opts->json && check_writable(opts->json))
		return -1;
	if (!opts->plot)
		return 0;
	if (system("gnuplot --version >/dev/null 2>&1")) {
		fprintf(stderr, "usermap-bench: --plot needs gnuplot, install it or leave --plot "
				"out\n");
		return -1;
	}
	return check_writable(opts->plot);
}
