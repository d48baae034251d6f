/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* plan.h - what the rows of a run are measured on. */
#ifndef BENCH_PLAN_H
#define BENCH_PLAN_H

#include "bench.h"

/* Set up what the rows are measured on. Answers 0, or 1 if some of it failed. */
int plan_setup(struct result *res);
void plan_teardown(struct result *res);

#endif
