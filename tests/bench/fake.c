/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* fake.c - a benchmark whose measurements are recorded samples, for the runner's tests. */
#include <stdlib.h>
#include <string.h>

#include "fake.h"

char fake_log[1 << 16];

static int gone(struct why *why)
{
	why_set(why, "it went away");
	return -1;
}

#define FAKE(n, o, ...)                                                                            \
	const struct backend fake_##n = {                                                          \
		.name = #n, .about = "a recording", .ops = o, ##__VA_ARGS__                        \
	}

FAKE(first, OPS_READ, .any_cpus = true);
FAKE(again, OPS_READ, .any_cpus = true);
FAKE(slower, OPS_READ, .any_cpus = true);
FAKE(broken, OPS_READ, .any_cpus = true);
FAKE(gone, OPS_READ, .any_cpus = true, .probe = gone);
FAKE(one_only, OP_BIT(OP_HIT));

static const struct backend *const impls[] = {
	&fake_first, &fake_again, &fake_slower, &fake_broken, &fake_gone, &fake_one_only,
};

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
	size_t len = strlen(fake_log);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fake_log + len, sizeof(fake_log) - len, fmt, ap);
	va_end(ap);
}

void fake_reset(void)
{
	fake_log[0] = '\0';
}

/* How often each row of a unit was measured: two cases. */
struct turns {
	unsigned int nr[2];
};

static int setup(struct unit *unit, struct why *why)
{
	unit->state = calloc(1, sizeof(struct turns));
	note("setup %s\n", unit->impl->name);
	return unit->state ? 0 : -1;
}

static void teardown(struct unit *unit)
{
	note("teardown %s\n", unit->impl->name);
	free(unit->state);
}

static int measure(struct unit *unit, unsigned int nr_case, double warmup, double duration,
		   double *value, struct why *why)
{
	unsigned int turn = ((struct turns *)unit->state)->nr[nr_case]++;
	const double *samples = unit->impl == &fake_first ? samples_first : samples_again;

	note("measure %s %s -p %u %u/%u\n", unit->impl->name, unit->bench->cases[nr_case].name,
	     unit->conf->threads, unit->conf->nr_cpus, unit->conf->entries);
	if (unit->impl == &fake_broken && turn == 1) {
		why_set(why, "it broke");
		return -1;
	}
	*value = samples[turn % SAMPLES] / unit->conf->threads;
	if (unit->impl == &fake_slower)
		*value *= 1.2;
	return 0;
}

static int validate(const struct conf *conf, struct why *why)
{
	if (conf->entries >= 10)
		return 0;
	why_set(why, "fewer than 10 entries");
	return -1;
}

static const struct bench_case cases[] = {
	{ .name = "one", .op = OP_HIT },
	{ .name = "two", .op = OP_MISS },
};

const struct bench fake_bench = {
	.name = "fake",
	.operation = "made up",
	.unit = "ns/op",
	.cases = cases,
	.nr_cases = ARRAY_SIZE(cases),
	.impls = impls,
	.nr_impls = ARRAY_SIZE(impls),
	.repeat = 5,
	.conf = { .entries = 64, .key_size = 8, .value_size = 8 },
	.validate = validate,
	.setup = setup,
	.teardown = teardown,
	.measure = measure,
};
