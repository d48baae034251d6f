/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* stats.c - median and spread of samples, and of ratios taken pair by pair. */
#include <stdlib.h>
#include <string.h>

#include "stats.h"

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct stats stats_sorted(double *v, unsigned int nr)
{
	struct stats s;

	qsort(v, nr, sizeof(*v), by_value);
	s.min = v[0];
	s.max = v[nr - 1];
	s.median = nr % 2 ? v[nr / 2] : (v[nr / 2 - 1] + v[nr / 2]) / 2;
	return s;
}

struct stats stats_of(const double *samples, unsigned int nr)
{
	double v[STATS_MAX];

	memcpy(v, samples, nr * sizeof(*v));
	return stats_sorted(v, nr);
}

struct stats stats_ratio(const double *samples, const double *base, unsigned int nr)
{
	double v[STATS_MAX];
	unsigned int i;

	for (i = 0; i < nr; i++)
		v[i] = samples[i] / base[i];
	return stats_sorted(v, nr);
}
