/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * report.c - histograms in the shape of BCC's tools, files, interval lines.
 *
 * Buckets are powers of two of nanoseconds. Printed in microseconds, one of
 * them is 1024 ns, which moves a row's limits by 2.4 %.
 */
#include <string.h>
#include <time.h>
#include "frontend.h"

#define STARS 40
#define NS_BITS 10 /* of a printed microsecond */

/* Rows as printed: row 0 holds 0 and 1, row i from 2^i to 2^(i + 1) - 1. */
static unsigned int fold(const uint64_t buckets[IOLAT_NR_BUCKETS], bool nanoseconds,
			 uint64_t rows[IOLAT_NR_BUCKETS])
{
	unsigned int shift = nanoseconds ? 0 : NS_BITS, i, nr = 0;

	memset(rows, 0, IOLAT_NR_BUCKETS * sizeof(*rows));
	for (i = 0; i < IOLAT_NR_BUCKETS; i++) {
		unsigned int row = i > shift ? i - shift : 0;

		rows[row] += buckets[i];
		if (buckets[i])
			nr = row + 1;
	}
	return nr;
}

static void print_stars(FILE *to, uint64_t nr, uint64_t most)
{
	int stars = (int)((double)nr / (double)most * STARS);

	fprintf(to, "|%.*s%*s|\n", stars, "****************************************", STARS - stars,
		"");
}

static void print_hist(FILE *to, const uint64_t buckets[IOLAT_NR_BUCKETS], bool nanoseconds)
{
	uint64_t rows[IOLAT_NR_BUCKETS], most = 0;
	unsigned int nr = fold(buckets, nanoseconds, rows), i;

	for (i = 0; i < nr; i++) {
		if (rows[i] > most)
			most = rows[i];
	}
	fprintf(to, "     %-19s : count     distribution\n", nanoseconds ? "nsecs" : "usecs");
	for (i = 0; i < nr; i++) {
		unsigned long long low = i ? 1ull << i : 0, high = (2ull << i) - 1;

		fprintf(to, "%10llu -> %-10llu : %-8llu ", low, high, (unsigned long long)rows[i]);
		print_stars(to, rows[i], most);
	}
}

static void print_files(FILE *to, const char *title, const struct file_sums *files, size_t nr)
{
	char name[4 * IOLAT_NAME_LEN + 1];
	size_t i;

	fprintf(to, "\n%s\n%10s %12s %10s %14s  %s\n", title, "worst us", "total us", "calls",
		"bytes", "file");
	for (i = 0; i < nr; i++) {
		const struct iolat_file *f = &files[i].sums;

		file_name(&files[i], name, sizeof(name));
		fprintf(to, "%10.1f %12.1f %10llu %14llu  %s\n", (double)f->worst_ns / 1e3,
			(double)f->total_ns / 1e3, (unsigned long long)f->count,
			(unsigned long long)f->bytes, name);
	}
}

static void print_gap(FILE *to, uint64_t nr, const char *one, const char *many, const char *why)
{
	if (nr)
		fprintf(to, "\n%llu %s: %s\n", (unsigned long long)nr, nr == 1 ? one : many, why);
}

/* What the figures above do not hold. */
static void print_gaps(FILE *to, const struct findings *f)
{
	print_gap(to, f->unfinished, "call had not ended", "calls had not ended",
		  "the process goes on, or was killed");
	print_gap(to, f->counts.lost[IOLAT_LOST_CALLS], "call was lost", "calls were lost",
		  "a map was busy, or a process had too many threads");
	print_gap(to, f->counts.lost[IOLAT_LOST_FILES], "call counts to no file",
		  "calls count to no file", "the map of files was full, -f makes it larger");
	print_gap(to, f->missed, "process was not traced", "processes were not traced",
		  um_strerror(-f->missed_errno, UM_OPEN));
}

int report_end(struct report *r, const struct outcome *o)
{
	struct findings f;
	uint64_t all = 0;
	unsigned int op;
	size_t n;
	int err = collect_findings(r->session, &f);

	if (err) {
		free_findings(&f);
		return err;
	}
	for (op = 0; op < IOLAT_NR_OPS; op++) {
		uint64_t nr = sum_of(f.counts.hist[op]);

		if (!nr)
			continue;
		all += nr;
		fprintf(r->to, "\n%s: %llu calls\n", op_names[op], (unsigned long long)nr);
		print_hist(r->to, f.counts.hist[op], r->nanoseconds);
	}
	n = top_slowest(&f);
	if (n)
		print_files(r->to, "slowest files, by their worst call", f.files, n);
	n = top_busiest(&f);
	if (n)
		print_files(r->to, "busiest files, by calls", f.files, n);
	print_gaps(r->to, &f);
	fprintf(r->to, "\n%s: %llu calls in %.3f s\n", r->command[0], (unsigned long long)all,
		o->seconds);
	free_findings(&f);
	return 0;
}

/* ---- intervals ---- */

/* The upper end of a bucket in µs: "below this" */
static double below_us(unsigned int bucket)
{
	return (double)(2ull << bucket) / 1e3;
}

static void print_interval(FILE *to, const char *when, double seconds, const struct counts *now,
			   const struct counts *last)
{
	unsigned int op, i;

	for (op = 0; op < IOLAT_NR_OPS; op++) {
		uint64_t d[IOLAT_NR_BUCKETS], nr;

		for (i = 0; i < IOLAT_NR_BUCKETS; i++)
			d[i] = now->hist[op][i] - last->hist[op][i];
		nr = sum_of(d);
		if (nr)
			fprintf(to, "%-8s  %-15s %10llu %10.0f %10.1f %10.1f %10.1f\n", when,
				op_names[op], (unsigned long long)nr, (double)nr / seconds,
				below_us(quantile(d, 0.5)), below_us(quantile(d, 0.99)),
				below_us(quantile(d, 1)));
	}
}

void report_interval(void *report)
{
	struct report *r = report;
	time_t wall = time(NULL);
	struct counts now;
	uint64_t now_at = now_ns();
	struct tm tm;
	char when[16];

	if (collect_counts(r->session, &now))
		return;
	localtime_r(&wall, &tm);
	strftime(when, sizeof(when), "%H:%M:%S", &tm);
	if (!r->any)
		fprintf(r->to, "%-8s  %-15s %10s %10s %10s %10s %10s\n", "time", "operation",
			"calls", "calls/s", "p50 us <", "p99 us <", "max us <");
	r->any = true;
	print_interval(r->to, when, (double)(now_at - r->last_ns) / 1e9, &now, &r->last);
	fflush(r->to);
	r->last = now;
	r->last_ns = now_at;
}
