/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * keys.c - keys and streams of keys, made before the clock starts.
 *
 * Zipf numbers come by rejection-inversion (Hormann and Derflinger, "Rejection-
 * inversion to generate variates from monotone discrete distributions", 1996),
 * which needs no table: with H the integral of x^-s, a uniform point below H
 * over [0.5, nr + 0.5] is turned back into x and rounded to a rank, and taken
 * again where the rounding gave the rank more than its weight.
 */
#include <math.h>
#include <string.h>

#include "keys.h"

/* A permutation of 64-bit numbers (the last steps of splitmix64). */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

void key_make(uint64_t index, uint32_t key_size, void *key)
{
	unsigned char *out = key;
	uint32_t done, len;
	uint64_t word;

	if (key_size < sizeof(word)) {
		/* An odd factor permutes the numbers of key_size bytes. */
		word = index * 0x9e3779b97f4a7c15ULL;
		memcpy(out, &word, key_size);
		return;
	}
	for (done = 0; done < key_size; done += len) {
		word = mix(index + 1 + done * 0x9e3779b97f4a7c15ULL);
		len = key_size - done < sizeof(word) ? key_size - done : sizeof(word);
		memcpy(out + done, &word, len);
	}
}

static uint64_t random_bits(struct picker *p)
{
	p->state += 0x9e3779b97f4a7c15ULL;
	return mix(p->state);
}

/* From 0 up to, but not, 1. */
static double random_unit(struct picker *p)
{
	return (double)(random_bits(p) >> 11) * 0x1p-53;
}

/* The integral of x^-s from 1, its inverse, and x^-s itself. */
static double integral(double s, double x)
{
	return fabs(s - 1) < 1e-9 ? log(x) : (pow(x, 1 - s) - 1) / (1 - s);
}

static double integral_inverse(double s, double y)
{
	return fabs(s - 1) < 1e-9 ? exp(y) : pow(1 + y * (1 - s), 1 / (1 - s));
}

static double weight(double s, double x)
{
	return pow(x, -s);
}

void picker_init(struct picker *picker, const struct dist *dist, uint64_t first, uint64_t nr,
		 uint64_t seed)
{
	const double s = dist->s;

	*picker = (struct picker){ .state = seed, .first = first, .nr = nr, .dist = *dist };
	if (!dist->zipf)
		return;
	picker->top = integral(s, (double)nr + 0.5);
	picker->span = integral(s, 1.5) - 1 - picker->top;
	/* Rounding by no more than this never needs the full test. */
	picker->accept = 2 - integral_inverse(s, integral(s, 2.5) - weight(s, 2));
}

static uint64_t zipf_rank(struct picker *p)
{
	const double s = p->dist.s;
	double y, x, rank;

	for (;;) {
		y = p->top + random_unit(p) * p->span;
		x = integral_inverse(s, y);
		rank = floor(x + 0.5);
		if (rank < 1)
			rank = 1;
		if (rank > (double)p->nr)
			rank = (double)p->nr;
		if (rank - x <= p->accept || y >= integral(s, rank + 0.5) - weight(s, rank))
			return (uint64_t)rank - 1;
	}
}

uint64_t picker_next(struct picker *picker)
{
	uint64_t n;

	if (picker->dist.zipf)
		/* A prime above every nr scatters the popular ones over all numbers. */
		n = zipf_rank(picker) * 2654435761ULL % picker->nr;
	else
		n = (uint64_t)(((unsigned __int128)random_bits(picker) * picker->nr) >> 64);
	return picker->first + n;
}
