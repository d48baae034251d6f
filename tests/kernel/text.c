/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* text.c - growing text, sets of lines and counted outcomes for the player. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "player.h"

#define SET_PRINT_MAX 16 /* longer sets are printed as a digest */

void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%d: ", script, lineno);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

void *xcalloc(size_t n)
{
	void *p = calloc(1, n ? n : 1);

	if (!p)
		die("out of memory");
	return p;
}

/* ---- names of errors ---- */

const char *error_name(long err)
{
	static char buf[32];

	if (err == BE_SKIP)
		return "SKIP";
	if (err >= 0)
		return "OK";
	switch (-err) {
#define E(x)                                                                                       \
	case x:                                                                                    \
		return #x
		E(EPERM);
		E(ENOENT);
		E(E2BIG);
		E(EBADF);
		E(EAGAIN);
		E(ENOMEM);
		E(EACCES);
		E(EFAULT);
		E(EBUSY);
		E(EEXIST);
		E(ENODEV);
		E(EINVAL);
		E(ENOSPC);
		E(ERANGE);
		E(EDEADLK);
		E(ETIMEDOUT);
		E(EOPNOTSUPP);
		E(ENOSYS);
#undef E
	case 524:
		return "ENOTSUPP";
	}
	snprintf(buf, sizeof(buf), "errno%ld", -err);
	return buf;
}

/* ---- growing text buffers and sets of lines ---- */

void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	for (;;) {
		size_t room = t->cap - t->len;

		va_start(ap, fmt);
		n = vsnprintf(t->s ? t->s + t->len : NULL, t->s ? room : 0, fmt, ap);
		va_end(ap);
		if (t->s && (size_t)n < room)
			break;
		t->cap = (t->cap + n + 64) * 2;
		t->s = realloc(t->s, t->cap);
		if (!t->s)
			die("out of memory");
	}
	t->len += n;
}

void add_line(struct set *s, char *line)
{
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 64;
		s->v = realloc(s->v, s->cap * sizeof(*s->v));
		if (!s->v)
			die("out of memory");
	}
	s->v[s->n++] = line;
}

static int cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void put_set(struct text *t, struct set *s)
{
	size_t i, dup = 0;

	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), cmp);
	for (i = 1; i < s->n; i++)
		dup += !strcmp(s->v[i], s->v[i - 1]);
	put(t, " n=%zu", s->n);
	if (dup)
		put(t, " dup=%zu", dup);
	if (s->n <= SET_PRINT_MAX) {
		put(t, " {");
		for (i = 0; i < s->n; i++)
			put(t, "%s%s", i ? " " : "", s->v[i]);
		put(t, "}");
	} else {
		uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a of the lines */

		for (i = 0; i < s->n; i++) {
			const char *c;

			for (c = s->v[i];; c++) {
				h = (h ^ (unsigned char)(*c ? *c : '\n')) * 0x100000001b3ull;
				if (!*c)
					break;
			}
		}
		put(t, " digest=%016llx", (unsigned long long)h);
	}
	for (i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	memset(s, 0, sizeof(*s));
}
void put_hex(struct text *t, const unsigned char *b, size_t n)
{
	size_t last = n, i;

	while (last > 1 && !b[last - 1])
		last--;
	for (i = 0; i < last; i++)
		put(t, "%02x", b[i]);
	if (last < n)
		put(t, "..");
}
void note_run(struct runs *r, const char *e)
{
	int i;

	for (i = 0; i < r->n; i++)
		if (!strcmp(r->name[i], e)) {
			r->cnt[i]++;
			return;
		}
	if (r->n < 24) {
		snprintf(r->name[r->n], 24, "%s", e);
		r->cnt[r->n++] = 1;
	}
}

void put_runs(struct text *t, const struct runs *r)
{
	int i;

	if (!r->n)
		put(t, " nothing");
	if (r->n == 1) {
		put(t, " all %s", r->name[0]);
		return;
	}
	for (i = 0; i < r->n; i++)
		put(t, " %s*%d", r->name[i], r->cnt[i]);
}
