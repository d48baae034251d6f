/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * plan.c - from the options to the rows of a run: which combinations, which
 * back ends, what is left out and why; then the maps they are measured on.
 */
#include <stdlib.h>
#include <string.h>

#include <usermap/usermap.h>

#include "plan.h"

static void *zalloc(size_t nr, size_t size)
{
	void *p = calloc(nr ? nr : 1, size);

	if (!p) {
		fprintf(stderr, "usermap-bench: out of memory\n");
		exit(1);
	}
	return p;
}

/* The list as given, or the one default. */
static struct num_list numbers(const struct num_list *given, uint32_t otherwise)
{
	struct num_list list = { .nr = 1, .v = { otherwise } };

	return given->nr ? *given : list;
}

static uint32_t either(uint32_t given, uint32_t otherwise)
{
	return given ? given : otherwise;
}

/* Every combination of -p, --cpus and --entries, the last changing fastest. */
static void make_confs(struct result *res)
{
	const struct options *opts = res->opts;
	const struct conf *own = &res->bench->conf;
	const struct num_list one = { .nr = 1 };
	struct num_list threads = numbers(&opts->threads, either(own->threads, 1));
	struct num_list cpus = numbers(&opts->cpus, (uint32_t)um_possible_cpus());
	struct num_list entries = numbers(&opts->entries, own->entries);
	unsigned int t, c, e;

	if (res->bench->no_map) {
		cpus = one;
		cpus.v[0] = usable_cpus();
		entries = one;
	}
	res->confs = zalloc(threads.nr * cpus.nr * entries.nr, sizeof(*res->confs));
	for (t = 0; t < threads.nr; t++) {
		for (c = 0; c < cpus.nr; c++) {
			for (e = 0; e < entries.nr; e++) {
				struct conf *conf = &res->confs[res->nr_confs++];

				*conf = *own;
				conf->threads = threads.v[t];
				conf->nr_cpus = cpus.v[c];
				conf->entries = entries.v[e];
				conf->size = entries.v[e];
				if (res->bench->no_map)
					continue;
				conf->key_size = either(opts->key_size, own->key_size);
				conf->value_size = either(opts->value_size, own->value_size);
				conf->dist = opts->dist;
			}
		}
	}
	res->inputs = zalloc(res->nr_confs, sizeof(*res->inputs));
}

static bool can_case(const struct bench *bench, const struct backend *impl,
		     const struct bench_case *bcase)
{
	return bench->no_map || impl->ops & OP_BIT(bcase->op);
}

static bool can_any_case(const struct bench *bench, const struct backend *impl)
{
	unsigned int i;

	for (i = 0; i < bench->nr_cases; i++) {
		if (can_case(bench, impl, &bench->cases[i]))
			return true;
	}
	return false;
}

/* Whether it can run here; if not, say so once in the whole run. */
static bool runs_here(const struct backend *impl)
{
	static const struct backend *said[LIST_MAX];
	struct why why;
	unsigned int i;

	if (impl->absent)
		why_set(&why, "%s", impl->absent);
	else if (!impl->probe || !impl->probe(&why))
		return true;
	for (i = 0; i < LIST_MAX && said[i]; i++) {
		if (said[i] == impl)
			return false;
	}
	if (i < LIST_MAX)
		said[i] = impl;
	fprintf(stderr, "usermap-bench: %s cannot run here: %s\n", impl->name, why.text);
	return false;
}

static const struct backend *find_impl(const struct bench *bench, const char *name)
{
	unsigned int i;

	for (i = 0; i < bench->nr_impls; i++) {
		if (!strcmp(bench->impls[i]->name, name))
			return bench->impls[i];
	}
	return NULL;
}

/* Back ends by name, in the order given. Answers 1 if one cannot run here. */
static int named_impls(struct result *res)
{
	const struct bench *bench = res->bench;
	unsigned int i;
	int status = 0;

	for (i = 0; i < res->opts->impls.nr; i++) {
		const char *name = res->opts->impls.v[i];
		const struct backend *impl = find_impl(bench, name);

		if (!impl || !can_any_case(bench, impl)) {
			fprintf(stderr, "usermap-bench: %s is left out of %s, which it cannot do\n",
				name, bench->name);
		} else if (!runs_here(impl)) {
			status = 1;
		} else {
			res->impls[res->nr_impls++] = impl;
		}
	}
	return status;
}

/* All that can do any of it here. */
static void own_impls(struct result *res)
{
	const struct bench *bench = res->bench;
	unsigned int i;

	for (i = 0; i < bench->nr_impls; i++) {
		if (can_any_case(bench, bench->impls[i]) && runs_here(bench->impls[i]))
			res->impls[res->nr_impls++] = bench->impls[i];
	}
}

/* Whether a back end can be measured at a combination; if not, it is said once. */
static bool fits(const struct result *res, const struct backend *impl, const struct conf *conf)
{
	const uint32_t possible = (uint32_t)um_possible_cpus();
	const struct conf *c;

	if (res->bench->no_map || impl->any_cpus || conf->nr_cpus == possible)
		return true;
	for (c = res->confs; c < conf; c++) {
		if (c->nr_cpus == conf->nr_cpus)
			return false;
	}
	fprintf(stderr,
		"usermap-bench: %s is left out of %s at --cpus %u, as it can have only "
		"this machine's %u\n",
		impl->name, res->bench->name, conf->nr_cpus, possible);
	return false;
}

static void make_units(struct result *res)
{
	unsigned int c, i;

	res->units = zalloc(res->nr_confs * res->nr_impls, sizeof(*res->units));
	for (c = 0; c < res->nr_confs; c++) {
		for (i = 0; i < res->nr_impls; i++) {
			struct unit *unit = &res->units[c * res->nr_impls + i];

			if (!fits(res, res->impls[i], &res->confs[c]))
				continue;
			unit->bench = res->bench;
			unit->impl = res->impls[i];
			unit->conf = &res->confs[c];
			unit->opts = res->opts;
		}
	}
}

static void add_cell(struct result *res, unsigned int nr_case, unsigned int nr_conf,
		     unsigned int nr_impl)
{
	struct unit *unit = &res->units[nr_conf * res->nr_impls + nr_impl];
	const struct bench_case *bcase = &res->bench->cases[nr_case];
	struct cell *cell = &res->cells[res->nr_cells];

	if (!unit->impl)
		return;
	if (!can_case(res->bench, unit->impl, bcase)) {
		if (!nr_conf)
			fprintf(stderr,
				"usermap-bench: %s is left out of %s %s, which it cannot "
				"do\n",
				unit->impl->name, res->bench->name, bcase->name);
		return;
	}
	cell->unit = unit;
	cell->bcase = bcase;
	cell->nr_case = nr_case;
	cell->nr_conf = nr_conf;
	cell->nr_impl = nr_impl;
	cell->samples = &res->samples[res->nr_cells * res->repeat];
	res->nr_cells++;
}

static void make_cells(struct result *res)
{
	const unsigned int most = res->bench->nr_cases * res->nr_confs * res->nr_impls;
	unsigned int k, c, i;

	res->cells = zalloc(most, sizeof(*res->cells));
	res->samples = zalloc((size_t)most * res->repeat, sizeof(*res->samples));
	for (k = 0; k < res->bench->nr_cases; k++)
		for (c = 0; c < res->nr_confs; c++)
			for (i = 0; i < res->nr_impls; i++)
				add_cell(res, k, c, i);
}

/* Whether the options make sense for this benchmark; said, if not. */
static bool options_fit(const struct result *res)
{
	struct why why;
	unsigned int i;

	if (res->opts->consumers) {
		fprintf(stderr, "usermap-bench: %s has no consuming threads, leave -c out\n",
			res->bench->name);
		return false;
	}
	for (i = 0; i < res->nr_confs; i++) {
		if (res->bench->validate && res->bench->validate(&res->confs[i], &why)) {
			fprintf(stderr, "usermap-bench: %s: %s\n", res->bench->name, why.text);
			return false;
		}
	}
	return true;
}

int plan_bench(const struct bench *bench, const struct options *opts, struct result *res)
{
	int status = 0;

	*res = (struct result){
		.bench = bench,
		.opts = opts,
		.repeat = either(opts->repeat, bench->repeat),
		.warmup = opts->warmup < 0 ? bench->warmup : opts->warmup,
		.duration = opts->duration < 0 ? bench->duration : opts->duration,
	};
	make_confs(res);
	if (!options_fit(res))
		return 2;
	if (opts->impls.nr)
		status = named_impls(res);
	else
		own_impls(res);
	make_units(res);
	make_cells(res);
	return status;
}

void result_free(struct result *res)
{
	free(res->confs);
	free(res->inputs);
	free(res->units);
	free(res->cells);
	free(res->samples);
}

static void setup_failed(const struct result *res, const struct unit *unit, const struct why *why)
{
	unsigned int i;

	fprintf(stderr, "usermap-bench: %s: %s: set-up failed: %s\n", res->bench->name,
		unit->impl->name, why->text);
	for (i = 0; i < res->nr_cells; i++) {
		if (res->cells[i].unit == unit)
			res->cells[i].failed = true;
	}
}

static int setup_unit(struct result *res, struct unit *unit)
{
	const struct bench *bench = res->bench;
	void **inputs = &res->inputs[unit->conf - res->confs];
	struct why why;

	if (!*inputs && bench->prepare && bench->prepare(bench, unit->conf, inputs, &why)) {
		setup_failed(res, unit, &why);
		return 1;
	}
	unit->inputs = *inputs;
	if (bench->setup && bench->setup(unit, &why)) {
		setup_failed(res, unit, &why);
		return 1;
	}
	unit->ready = true;
	return 0;
}

int plan_setup(struct result *res)
{
	unsigned int i;
	int status = 0;

	for (i = 0; i < res->nr_confs * res->nr_impls; i++) {
		if (res->units[i].impl)
			status |= setup_unit(res, &res->units[i]);
	}
	return status;
}

void plan_teardown(struct result *res)
{
	unsigned int i;

	for (i = 0; i < res->nr_confs * res->nr_impls; i++) {
		if (res->units[i].ready && res->bench->teardown)
			res->bench->teardown(&res->units[i]);
	}
	for (i = 0; i < res->nr_confs; i++) {
		if (res->inputs[i] && res->bench->discard)
			res->bench->discard(res->inputs[i]);
	}
}
