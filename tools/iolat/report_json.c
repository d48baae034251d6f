/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * report_json.c - the report as one JSON object. Its first member, intervals,
 * is written as time goes by, the rest at the end.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "frontend.h"

static json_t *int_of(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *buckets_of(const uint64_t buckets[IOLAT_NR_BUCKETS])
{
	json_t *array = json_array();
	unsigned int i;

	for (i = 0; i < IOLAT_NR_BUCKETS - 1; i++) {
		json_t *b;

		if (!buckets[i])
			continue;
		b = json_object();
		json_object_set_new(b, "from_ns", int_of(i ? 1ull << i : 0));
		json_object_set_new(b, "to_ns", int_of((2ull << i) - 1));
		json_object_set_new(b, "count", int_of(buckets[i]));
		json_array_append_new(array, b);
	}
	return array;
}

/* By operation, those that had calls since @last. */
static json_t *operations_of(const struct counts *now, const struct counts *last)
{
	json_t *array = json_array();
	unsigned int op, i;

	for (op = 0; op < IOLAT_NR_OPS; op++) {
		uint64_t d[IOLAT_NR_BUCKETS];
		json_t *o;

		for (i = 0; i < IOLAT_NR_BUCKETS; i++)
			d[i] = now->hist[op][i] - last->hist[op][i];
		if (!sum_of(d))
			continue;
		o = json_object();
		json_object_set_new(o, "operation", json_string(op_names[op]));
		json_object_set_new(o, "calls", int_of(sum_of(d)));
		json_object_set_new(o, "buckets", buckets_of(d));
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *files_of(const struct file_sums *files, size_t nr)
{
	char name[4 * IOLAT_NAME_LEN + 1];
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < nr; i++) {
		json_t *o = json_object();

		file_name(&files[i], name, sizeof(name));
		json_object_set_new(o, "file", json_string(name));
		json_object_set_new(o, "device", int_of(files[i].key.dev));
		json_object_set_new(o, "inode", int_of(files[i].key.ino));
		json_object_set_new(o, "calls", int_of(files[i].sums.count));
		json_object_set_new(o, "bytes", int_of(files[i].sums.bytes));
		json_object_set_new(o, "total_ns", int_of(files[i].sums.total_ns));
		json_object_set_new(o, "worst_ns", int_of(files[i].sums.worst_ns));
		json_array_append_new(array, o);
	}
	return array;
}

void json_start(struct report *r)
{
	fputs("{\"intervals\":[", r->to);
	fflush(r->to);
}

void json_interval(void *report)
{
	struct report *r = report;
	uint64_t now_at = now_ns();
	struct counts now;
	json_t *o;

	if (collect_counts(r->session, &now))
		return;
	o = json_object();
	json_object_set_new(o, "at_s", json_real((double)(now_at - r->start_ns) / 1e9));
	json_object_set_new(o, "seconds", json_real((double)(now_at - r->last_ns) / 1e9));
	json_object_set_new(o, "operations", operations_of(&now, &r->last));
	if (r->any)
		fputc(',', r->to);
	json_dumpf(o, r->to, JSON_COMPACT | JSON_REAL_PRECISION(9));
	fflush(r->to);
	json_decref(o);
	r->any = true;
	r->last = now;
	r->last_ns = now_at;
}

static json_t *command_of(char **argv)
{
	json_t *array = json_array();

	for (; *argv; argv++) {
		json_t *word = json_string(*argv);

		/* an argument need not be UTF-8 */
		json_array_append_new(array, word ? word : json_string_nocheck("?"));
	}
	return array;
}

static json_t *lost_of(const struct findings *f)
{
	json_t *o = json_object();

	json_object_set_new(o, "calls", int_of(f->counts.lost[IOLAT_LOST_CALLS]));
	json_object_set_new(o, "calls_of_files", int_of(f->counts.lost[IOLAT_LOST_FILES]));
	json_object_set_new(o, "processes", int_of(f->missed));
	return o;
}

static json_t *summary_of(struct report *r, const struct outcome *out, struct findings *f)
{
	static const struct counts none;
	json_t *o = json_object(), *files = json_object();
	size_t n;

	json_object_set_new(o, "command", command_of(r->command));
	json_object_set_new(o, "pid", int_of((uint64_t)out->pid));
	if (WIFSIGNALED(out->status))
		json_object_set_new(o, "signal", int_of((uint64_t)WTERMSIG(out->status)));
	else
		json_object_set_new(o, "exit_status", int_of((uint64_t)WEXITSTATUS(out->status)));
	json_object_set_new(o, "seconds", json_real(out->seconds));
	json_object_set_new(o, "operations", operations_of(&f->counts, &none));
	n = top_slowest(f);
	json_object_set_new(files, "slowest", files_of(f->files, n));
	n = top_busiest(f);
	json_object_set_new(files, "busiest", files_of(f->files, n));
	json_object_set_new(o, "files", files);
	json_object_set_new(o, "unfinished", int_of(f->unfinished));
	json_object_set_new(o, "lost", lost_of(f));
	return o;
}

int json_end(struct report *r, const struct outcome *out)
{
	struct findings f;
	json_t *o;
	char *text = NULL;
	int err = collect_findings(r->session, &f);

	if (!err) {
		o = summary_of(r, out, &f);
		text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(9));
		json_decref(o);
		if (!text)
			err = -ENOMEM;
	}
	free_findings(&f);
	/* the object was opened before the first interval */
	fprintf(r->to, "],%s\n", text ? text + 1 : "\"error\":\"the maps cannot be read\"}");
	free(text);
	return err;
}
