/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* keys.h - keys by number, and the order in which a thread picks them. */
#ifndef BENCH_KEYS_H
#define BENCH_KEYS_H

#include <stdint.h>

#include "options.h"

/*
 * Write key number @index. Numbers below 2^(8 * key_size) give different keys,
 * and neighbours look as unlike as any two.
 */
void key_make(uint64_t index, uint32_t key_size, void *key);

/*
 * struct picker - random numbers from first to first + nr - 1
 * @top, @span, @accept: of the zipf distribution, see keys.c
 */
struct picker {
	uint64_t state;
	uint64_t first;
	uint64_t nr;
	struct dist dist;
	double top;
	double span;
	double accept;
};

void picker_init(struct picker *picker, const struct dist *dist, uint64_t first, uint64_t nr,
		 uint64_t seed);
uint64_t picker_next(struct picker *picker);

#endif
