/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* words.c - the words of a script line: operands, options, numbers, flags, bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "player.h"

#define MAX_WORDS 600

const char *script;
int lineno, ncpu, nwords;
char *words[MAX_WORDS];

/* Split @line at blanks; @echo gets the words as the answer repeats them. */
void split_words(char *line, struct text *echo)
{
	char *p = strchr(line, ';'), *save = NULL;

	if (p)
		*p = 0;
	nwords = 0;
	for (p = strtok_r(line, " \t\r\n", &save); p; p = strtok_r(NULL, " \t\r\n", &save)) {
		if (nwords == MAX_WORDS)
			die("too many words");
		put(echo, "%s%s", nwords ? " " : "", p);
		words[nwords++] = p;
	}
}

const char *opt(const char *name, const char *dflt)
{
	size_t n = strlen(name);
	int i;

	for (i = 1; i < nwords; i++)
		if (!strncmp(words[i], name, n) && words[i][n] == '=')
			return words[i] + n + 1;
	return dflt;
}

const char *arg(int i)
{
	if (i >= nwords)
		die("operand %d missing", i);
	return words[i];
}

/* a sum of products of decimal/hex numbers and "ncpu", e.g. 4*ncpu+1 */
uint64_t num(const char *w)
{
	uint64_t sum = 0, prod = 1;
	const char *c = w;

	for (;;) {
		uint64_t v;
		char *end;

		if (!strncmp(c, "ncpu", 4)) {
			v = ncpu;
			end = (char *)c + 4;
		} else {
			v = strtoull(c, &end, 0);
			if (end == c)
				die("bad number '%s'", w);
		}
		prod *= v;
		if (*end == '*') {
			c = end + 1;
			continue;
		}
		sum += prod;
		prod = 1;
		if (*end == '+') {
			c = end + 1;
			continue;
		}
		if (*end)
			die("bad number '%s'", w);
		return sum;
	}
}

uint64_t flagnum(const char *w)
{
	if (!strcmp(w, "any"))
		return 0;
	if (!strcmp(w, "noexist"))
		return 1;
	if (!strcmp(w, "exist"))
		return 2;
	if (!strcmp(w, "lock"))
		return 4;
	if (!strcmp(w, "noexist+lock"))
		return 5;
	if (!strcmp(w, "exist+lock"))
		return 6;
	return num(w);
}

uint32_t createflags(const char *w)
{
	static const struct {
		const char *n;
		uint32_t v;
	} t[] = {
		{ "no_prealloc", 1 },	{ "no_common_lru", 2 }, { "numa", 4 },
		{ "rdonly", 8 },	{ "wronly", 16 },	{ "zero_seed", 64 },
		{ "rdonly_prog", 128 }, { "wronly_prog", 256 }, { "mmapable", 1024 },
		{ "inner_map", 4096 },
	};
	char b[256], *p, *save = NULL;
	uint32_t f = 0;

	snprintf(b, sizeof(b), "%s", w);
	for (p = strtok_r(b, "+", &save); p; p = strtok_r(NULL, "+", &save)) {
		size_t i;

		for (i = 0; i < sizeof(t) / sizeof(*t); i++)
			if (!strcmp(p, t[i].n)) {
				f |= t[i].v;
				break;
			}
		if (i == sizeof(t) / sizeof(*t))
			f |= num(p);
	}
	return f;
}

/* hex bytes, or #N: N little-endian; short input is filled up with zeros */
void bytes(const char *w, unsigned char *out, size_t n)
{
	size_t i;

	memset(out, 0, n);
	if (*w == '#') {
		uint64_t v = num(w + 1);

		for (i = 0; i < n && i < 8; i++)
			out[i] = v >> (8 * i);
		return;
	}
	for (i = 0; w[0] && w[1]; i++, w += 2) {
		char h[3] = { w[0], w[1], 0 }, *end;

		if (i >= n)
			die("too many bytes (room for %zu)", n);
		out[i] = strtoul(h, &end, 16);
		if (*end)
			die("bad hex '%s'", w);
	}
	if (*w)
		die("odd hex digit '%s'", w);
}

void range(const char *w, uint64_t *a, uint64_t *b)
{
	char x[128], *d;

	snprintf(x, sizeof(x), "%s", w);
	d = strstr(x, "..");
	if (!d)
		die("bad range '%s'", w);
	*d = 0;
	*a = num(x);
	*b = num(d + 2);
}
