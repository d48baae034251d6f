/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * samples.h - a recording: htab-lookup hit of one back end under two names that
 * took turns, 31 of 0.1 s each, in ns/op.
 */
#ifndef TEST_BENCH_SAMPLES_H
#define TEST_BENCH_SAMPLES_H

#define SAMPLES 31

static const double samples_first[SAMPLES] = {
	19.79, 36.85, 23.87, 39.70, 20.11, 43.30, 20.40, 38.24, 18.15, 39.54, 19.28,
	35.43, 19.15, 29.52, 22.49, 58.86, 26.76, 24.38, 19.68, 38.61, 26.53, 37.47,
	28.00, 39.05, 19.57, 40.11, 40.82, 47.35, 35.52, 18.42, 40.37,
};

static const double samples_again[SAMPLES] = {
	26.12, 39.18, 17.94, 27.68, 29.43, 22.42, 23.86, 26.34, 33.38, 96.13, 35.80,
	16.66, 40.33, 33.92, 46.27, 20.57, 39.79, 22.84, 40.26, 19.65, 51.64, 33.35,
	25.67, 23.62, 43.01, 40.33, 37.45, 52.41, 42.46, 26.18, 45.01,
};

#endif
