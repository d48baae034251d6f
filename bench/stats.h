/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* stats.h - what is said about the turns of a measurement. */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

/* The most turns that --repeat may ask for. */
#define STATS_MAX 1000

struct stats {
	double median;
	double min;
	double max;
};

/* Median, least and most of @nr samples, 1 to STATS_MAX. */
struct stats stats_of(const double *samples, unsigned int nr);

/*
 * The same of samples[i] / base[i]. Turn i of both ran close together, so
 * what slows the machine for a while falls out of each pair.
 */
struct stats stats_ratio(const double *samples, const double *base, unsigned int nr);

#endif
