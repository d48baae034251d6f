/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* schema.h - what the JSON of usermap-bench must look like. */
#ifndef TEST_BENCH_SCHEMA_H
#define TEST_BENCH_SCHEMA_H

#include <jansson.h>
#include <stddef.h>

/* The number of rows, or -1 with the first fault as a sentence. */
int schema_check(const json_t *doc, char *fault, size_t size);

#endif
