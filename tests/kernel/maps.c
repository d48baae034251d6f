/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* maps.c - the maps a script has made, and how their keys and values are written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "player.h"

#define MAX_MAPS 64

static struct map maps[MAX_MAPS];
static int nmaps;
/* maps that the back end cannot make: every line on one answers SKIP */
static char skipped[MAX_MAPS][32];
static int nskipped;

struct map *find_map(const char *name)
{
	int i;

	for (i = 0; i < nmaps; i++)
		if (!strcmp(maps[i].name, name))
			return &maps[i];
	return NULL;
}

struct map *get_map(const char *name)
{
	struct map *m = find_map(name);

	if (!m)
		die("no map '%s'", name);
	return m;
}

void *key_of(const struct map *m, const char *w)
{
	unsigned char *k;

	if (!strcmp(w, "fault"))
		return FAULT_PTR;
	if (!strcmp(w, "null"))
		return NULL;
	k = xcalloc(m->ks);
	bytes(w, k, m->ks);
	return k;
}

void into_value(const struct map *m, const char *w, unsigned char *v)
{
	int i, step = 0;

	if (*w == '@') {
		struct map *r = find_map(w + 1);
		uint32_t x = r ? 0 : 9999;

		if (r)
			be_ref(r->h, &x);
		memcpy(v, &x, 4);
		return;
	}
	if (!strncmp(w, "cpu+", 4)) {
		step = 1;
		w += 4;
	} else if (!strncmp(w, "all:", 4)) {
		w += 4;
	}
	bytes(w, v, m->vs);
	if (!m->percpu)
		return;
	for (i = 1; i < ncpu; i++) {
		memcpy(v + (size_t)i * m->stride, v, m->vs);
		v[(size_t)i * m->stride] += step * i;
	}
}

void *value_of(const struct map *m, const char *w)
{
	unsigned char *v;

	if (!strcmp(w, "fault"))
		return FAULT_PTR;
	v = xcalloc(m->buf);
	into_value(m, w, v);
	return v;
}

void put_value(struct text *t, const struct map *m, const unsigned char *v)
{
	int i, all = 1, plus = 1, rest = 1;

	if (m->type == BE_HASH_OF_MAPS) {
		uint32_t id, x;

		memcpy(&x, v, 4);
		for (i = 0; i < nmaps; i++)
			if (!be_id(maps[i].h, &id) && id == x) {
				put(t, "@%s", maps[i].name);
				return;
			}
		put(t, "@?");
		return;
	}
	if (!m->percpu) {
		put_hex(t, v, m->vs);
		return;
	}
	for (i = 1; i < ncpu; i++) {
		const unsigned char *s = v + (size_t)i * m->stride;

		if (memcmp(s, v, m->vs))
			all = 0;
		if (s[0] != (unsigned char)(v[0] + i) || memcmp(s + 1, v + 1, m->vs - 1))
			plus = 0;
		if (memcmp(s, v + m->stride, m->vs))
			rest = 0;
	}
	if (all) {
		put(t, "all:");
		put_hex(t, v, m->vs);
	} else if (plus) {
		put(t, "cpu+");
		put_hex(t, v, m->vs);
	} else if (rest) {
		put(t, "cpu0:");
		put_hex(t, v, m->vs);
		put(t, ",rest:");
		put_hex(t, v + m->stride, m->vs);
	} else {
		for (i = 0; i < ncpu; i++) {
			put(t, "%s", i ? "," : "list:");
			put_hex(t, v + (size_t)i * m->stride, m->vs);
		}
	}
}

char *pair(const struct map *m, const unsigned char *k, const unsigned char *v)
{
	struct text t = { 0 };

	put_hex(&t, k, m->ks);
	if (v) {
		put(&t, "=");
		put_value(&t, m, v);
	}
	return t.s;
}

void drop(void *p)
{
	if (p != FAULT_PTR)
		free(p);
}
void key_num(const struct map *m, uint64_t n, unsigned char *k)
{
	uint32_t i;

	memset(k, 0, m->ks);
	for (i = 0; i < m->ks && i < 8; i++)
		k[i] = n >> (8 * i);
}

struct map *new_map(const char *name, int h, const struct be_create_args *a)
{
	struct map *m;

	if (find_map(name))
		die("map '%s' exists", name);
	if (nmaps == MAX_MAPS)
		die("too many maps");
	m = &maps[nmaps++];
	memset(m, 0, sizeof(*m));
	snprintf(m->name, sizeof(m->name), "%s", name);
	m->h = h;
	m->type = a->type;
	m->ks = a->key_size;
	m->vs = a->value_size;
	m->percpu = a->type == BE_PERCPU_HASH || a->type == BE_PERCPU_ARRAY ||
		    a->type == BE_LRU_PERCPU_HASH;
	m->stride = m->percpu ? (m->vs + 7) / 8 * 8 : m->vs;
	m->buf = m->percpu ? m->stride * ncpu : m->stride;
	return m;
}

void forget_map(struct map *m)
{
	*m = maps[--nmaps];
}

void skip_map(const char *name)
{
	if (nskipped == MAX_MAPS)
		die("too many maps");
	snprintf(skipped[nskipped++], sizeof(skipped[0]), "%s", name);
}

int is_skipped(const char *name, int forget)
{
	int i;

	for (i = 0; i < nskipped; i++)
		if (!strcmp(skipped[i], name)) {
			if (forget)
				memmove(skipped[i], skipped[--nskipped], sizeof(skipped[0]));
			return 1;
		}
	return 0;
}
