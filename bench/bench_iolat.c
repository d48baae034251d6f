/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * bench_iolat.c - what tracing costs a real program: fio untraced, under
 * usermap-iolat, and while a BPF program traces the same calls.
 *
 * fio keeps every CPU busy, so what a call costs in CPU time is the CPUs over
 * the rate. What tracing adds to a call is the difference of that to the
 * untraced run of the same turn.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iolat.h"

#define JOBS 16
#define TRACER "usermap-iolat"

static int run_beside(const char *place, char *path, size_t size)
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return -1;
	self[len] = '\0';
	*strrchr(self, '/') = '\0';
	if ((size_t)snprintf(path, size, "%s/%s", self, place) >= size)
		return -1;
	return access(path, X_OK);
}

/* In a directory of $PATH. */
static int run_from_path(char *path, size_t size)
{
	const char *dir = getenv("PATH");
	size_t len;

	for (; dir && *dir; dir += len + (dir[len] == ':')) {
		len = strcspn(dir, ":");
		if ((size_t)snprintf(path, size, "%.*s/" TRACER, (int)len, dir) < size &&
		    !access(path, X_OK))
			return 0;
	}
	return -1;
}

/* Installed beside this program, where the build leaves it, or in the path. */
static int find_tracer(char *path, size_t size, struct why *why)
{
	if (!run_beside(TRACER, path, size) || !run_beside("../tools/iolat/" TRACER, path, size) ||
	    !run_from_path(path, size))
		return 0;
	why_set(why, TRACER " is neither beside usermap-bench nor in the path");
	return -1;
}

static int probe_traced(struct why *why)
{
	char path[4096];

	if (fio_probe(why))
		return -1;
	return find_tracer(path, sizeof(path), why);
}

static const struct iolat_impl iolat_untraced = {
	.base = {
		.name = "untraced",
		.about = "fio alone",
		.probe = fio_probe,
	},
};

static const struct iolat_impl iolat_traced = {
	.base = {
		.name = "traced",
		.about = "fio under " TRACER,
		.probe = probe_traced,
	},
	.tracer = find_tracer,
};

static const struct backend *const ways[] = {
	&iolat_untraced.base,
	&iolat_traced.base,
	&iolat_kernel_bpf.base,
};

static const struct iolat_impl *impl_of(const struct unit *unit)
{
	return (const struct iolat_impl *)((const char *)unit->impl -
					   offsetof(struct iolat_impl, base));
}

static int prepare(const struct bench *bench, const struct conf *conf, void **inputs,
		   struct why *why)
{
	struct fio *fio = malloc(sizeof(*fio));

	if (!fio) {
		why_set(why, "out of memory");
		return -1;
	}
	if (fio_open(fio, why)) {
		free(fio);
		return -1;
	}
	*inputs = fio;
	return 0;
}

static void discard(void *inputs)
{
	fio_close(inputs);
	free(inputs);
}

static int setup(struct unit *unit, struct why *why)
{
	if (!unit->impl->create)
		return 0;
	return unit->impl->create(unit->conf, NULL, 0, &unit->state, why);
}

static void teardown(struct unit *unit)
{
	if (unit->impl->destroy)
		unit->impl->destroy(unit->state);
}

static int measure(struct unit *unit, unsigned int nr_case, double warmup, double duration,
		   double *value, struct why *why)
{
	const struct iolat_impl *impl = impl_of(unit);
	char path[4096], *tracer = NULL;
	struct fio_result result;
	int ret;

	if (impl->tracer) {
		if (impl->tracer(path, sizeof(path), why))
			return -1;
		tracer = path;
	}
	if (impl->begin && impl->begin(unit->state, why))
		return -1;
	ret = fio_run(unit->inputs, tracer, unit->conf->threads, warmup, duration, &result, why);
	if (impl->end && impl->end(unit->state, &result.traced, why))
		return -1;
	if (ret)
		return -1;
	/* A tracer that misses calls would look cheap. */
	if ((impl->tracer || impl->end) && result.traced < result.reads) {
		why_set(why, "fio made %llu reads, but only %llu calls were traced",
			(unsigned long long)result.reads, (unsigned long long)result.traced);
		return -1;
	}
	*value = 1e9 / result.iops;
	return 0;
}

/* CPU time that a way of tracing adds to a read, for each turn. */
static bool added(const struct result *res, const struct backend *way, double *ns)
{
	const struct cell *base = NULL, *cell = NULL;
	unsigned int i, turn;
	uint32_t cpus;

	for (i = 0; i < res->nr_cells; i++) {
		const struct cell *c = &res->cells[i];

		if (c->failed || c->nr_conf)
			continue;
		if (c->unit->impl == &iolat_untraced.base)
			base = c;
		if (c->unit->impl == way)
			cell = c;
	}
	if (!base || !cell)
		return false;
	cpus = cell->unit->conf->nr_cpus;
	if (cpus > cell->unit->conf->threads)
		cpus = cell->unit->conf->threads;
	for (turn = 0; turn < res->repeat; turn++)
		ns[turn] = cpus * (cell->samples[turn] - base->samples[turn]);
	return true;
}

static void print_added(const struct result *res, const struct backend *way, const double *ns,
			FILE *out)
{
	const struct stats s = stats_of(ns, res->repeat);

	fprintf(out, "  %-10s adds %.0f ns of CPU time to a read (%.0f..%.0f)\n", way->name,
		s.median, s.min, s.max);
}

/*
 * The ratio is that of the medians: what is added is a difference, so that of a
 * single turn can be near 0 on a machine that has other work to do.
 */
static void report(const struct result *res, FILE *out)
{
	double traced[STATS_MAX], kernel[STATS_MAX];
	const bool have_traced = added(res, &iolat_traced.base, traced);
	const bool have_kernel = added(res, &iolat_kernel_bpf.base, kernel);

	if (!have_traced && !have_kernel)
		return;
	fprintf(out,
		"\nAdded to a call, -p %u: CPUs in use x (ns/op - ns/op untraced), turn by turn\n",
		res->confs->threads);
	if (have_traced)
		print_added(res, &iolat_traced.base, traced, out);
	if (have_kernel)
		print_added(res, &iolat_kernel_bpf.base, kernel, out);
	if (have_traced && have_kernel)
		fprintf(out, "  traced adds %.2f times what kernel-bpf adds, median by median\n",
			stats_of(traced, res->repeat).median /
				stats_of(kernel, res->repeat).median);
}

static const struct bench_case cases[] = {
	{ .name = NULL },
};

const struct bench bench_iolat = {
	.name = "iolat",
	.operation = "one 4 KiB read at a random place of a tmpfs file, by -p jobs of fio",
	.unit = "ns/op",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.impls = ways,
	.nr_impls = ARRAY_SIZE(ways),
	.conf = { .threads = JOBS },
	.no_map = true,
	.warmup = 0.1,
	.duration = 0.4,
	.repeat = 21,
	.prepare = prepare,
	.discard = discard,
	.setup = setup,
	.teardown = teardown,
	.measure = measure,
	.report = report,
};
