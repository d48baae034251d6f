/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* fake.h - a benchmark whose measurements are recorded samples, for the runner's tests. */
#ifndef TEST_BENCH_FAKE_H
#define TEST_BENCH_FAKE_H

#include "bench.h"
#include "samples.h"

/* The cases "one" and "two", the back ends that follow. */
extern const struct bench fake_bench;

/*
 * first and again give two recordings of one back end that took turns; slower
 * gives again's, a fifth longer; broken fails in its second turn; gone cannot
 * run here; one_only can do one case only.
 */
extern const struct backend fake_first, fake_again, fake_slower, fake_broken, fake_gone,
	fake_one_only;

/* What was done, a line each: "measure first one -p 1 2/64". */
extern char fake_log[1 << 16];

/* Forget the log, and begin with the first sample. */
void fake_reset(void);

#endif
