/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * samples.h - a recording: htab-lookup hit of one back end under two names that
 * took turns, 31 of 0.03 s each, in ns/op, on a machine with other work to do.
 */
#ifndef TEST_BENCH_SAMPLES_H
#define TEST_BENCH_SAMPLES_H

#define SAMPLES 31

static const double samples_first[SAMPLES] = {
	41.93, 44.28, 44.58,  42.83, 41.72, 42.76, 42.17, 42.29, 42.18, 42.27, 42.54,
	42.59, 44.31, 108.78, 62.73, 72.89, 75.18, 73.36, 76.34, 59.30, 75.82, 65.69,
	74.82, 73.10, 26.83,  29.57, 29.13, 31.24, 30.74, 29.67, 29.36,
};

static const double samples_again[SAMPLES] = {
	43.36, 44.15, 44.43, 42.78, 42.11, 41.86, 42.98, 41.90, 41.50, 32.82, 43.02,
	41.43, 43.24, 61.95, 63.98, 74.24, 66.18, 80.51, 68.22, 70.32, 81.59, 67.96,
	80.80, 67.46, 28.33, 28.87, 30.40, 30.98, 29.62, 30.02, 31.58,
};

#endif
