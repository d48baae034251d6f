/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* batch.c - the player's lines that make batch calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "player.h"

#define POS_ROOM 1024 /* more than any back end's position */

static int is_lookup(enum be_batch_op op)
{
	return op == BE_LOOKUP_BATCH || op == BE_LOOKUP_AND_DELETE_BATCH;
}

/* The operands of an update (KEY:VALUE) or a delete (KEY); returns how many. */
static uint32_t operands(const struct map *m, enum be_batch_op op, unsigned char *keys,
			 unsigned char *vals)
{
	uint32_t n = 0;
	int j;

	for (j = 2; j < nwords; j++) {
		char *c = strchr(words[j], ':');

		if (op == BE_UPDATE_BATCH ? !c : !!strchr(words[j], '='))
			continue;
		if (keys && c)
			*c = 0;
		if (keys)
			bytes(words[j], keys + (size_t)n * m->ks, m->ks);
		if (keys && c) {
			into_value(m, c + 1, vals + (size_t)n * m->buf);
			*c = ':';
		}
		n++;
	}
	return n;
}

static void add_pairs(struct set *s, const struct map *m, const unsigned char *keys,
		      const unsigned char *vals, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		add_line(s, pair(m, keys + (size_t)i * m->ks, vals + (size_t)i * m->buf));
}

static void *fault_or(const char *option, void *p)
{
	return strcmp(opt(option, ""), "fault") ? p : FAULT_PTR;
}

void op_batch(struct text *t, int op)
{
	struct map *m = get_map(arg(1));
	unsigned char in[POS_ROOM] = { 0 }, out[POS_ROOM], *keys, *vals;
	const char *inw = opt("in", "null");
	uint32_t n, count;
	struct set s = { 0 };
	int err;

	n = is_lookup(op) ? 0 : operands(m, op, NULL, NULL);
	count = opt("count", NULL) ? num(opt("count", "0")) : n;
	if (is_lookup(op))
		n = count;
	keys = xcalloc((size_t)(n + 1) * m->ks);
	vals = xcalloc((size_t)(n + 1) * m->buf);
	if (!is_lookup(op))
		operands(m, op, keys, vals);
	if (strcmp(inw, "null") && strcmp(inw, "fault"))
		bytes(inw, in, 4);
	memset(out, 0xee, sizeof(out));
	err = be_batch(m->h, op, strcmp(inw, "null") ? fault_or("in", in) : NULL,
		       fault_or("out", out), fault_or("keys", keys), fault_or("values", vals),
		       &count, flagnum(opt("eflags", "0")), flagnum(opt("bflags", "0")));
	put(t, "%s", error_name(err));
	if (err != BE_SKIP)
		put(t, " count=%u", count);
	if (is_lookup(op) && (!err || err == -ENOENT)) {
		add_pairs(&s, m, keys, vals, count < n ? count : n);
		put_set(t, &s);
	}
	free(keys);
	free(vals);
}

struct walk {
	unsigned char in[POS_ROOM], out[POS_ROOM];
	int first;  /* no position yet */
	int nospc;  /* ENOSPC was seen */
	int broken; /* a promise of the call was not kept */
	struct set s;
};

/* One call of the usual loop; 0 to go on, else the error that ends it. */
static int walk_step(struct walk *w, const struct map *m, enum be_batch_op op, uint32_t *room,
		     unsigned char *keys, unsigned char *vals)
{
	uint32_t count = *room;
	int err = be_batch(m->h, op, w->first ? NULL : w->in, w->out, keys, vals, &count,
			   flagnum(opt("eflags", "0")), 0);

	if (err == -ENOSPC) {
		/* must come with count 0 and an unmoved position */
		if (count || (!w->first && memcmp(w->in, w->out, 4)))
			w->broken = 1;
		w->nospc = 1;
		*room *= 2;
	} else if (err && err != -ENOENT) {
		return err;
	} else {
		if (count > *room || (!err && !count)) /* OK must bring something */
			w->broken = 1;
		add_pairs(&w->s, m, keys, vals, count < *room ? count : *room);
		if (err)
			return err;
	}
	memcpy(w->in, w->out, sizeof(w->in));
	w->first = 0;
	return 0;
}

/*
 * A back end without the draining batch: empty the map key by key, so that the
 * lines after this one find the map that they would find after the batch.
 */
static void drain_by_key(const struct map *m)
{
	unsigned char *k = xcalloc(m->ks);

	while (!be_next(m->h, NULL, k) && !be_delete(m->h, k))
		;
	free(k);
}

/* the usual user loop over a batch op: start with `count`, double on ENOSPC */
void op_walk_batch(struct text *t, int op)
{
	struct map *m = get_map(arg(1));
	const uint32_t start = num(opt("count", "16"));
	struct walk w = { .first = 1 };
	unsigned char *keys = NULL, *vals = NULL;
	uint32_t room = start;
	int err, calls = 0;

	do {
		keys = realloc(keys, (size_t)room * m->ks + 1);
		vals = realloc(vals, (size_t)room * m->buf + 1);
		if (!keys || !vals)
			die("out of memory");
		err = walk_step(&w, m, op, &room, keys, vals);
		if (++calls > 10000000)
			die("endless walk");
	} while (!err);
	put(t, "%s", error_name(err));
	if (err != BE_SKIP) {
		/* two elements in one bucket are certain only when there are many */
		if (start == 1 && w.s.n >= 200)
			put(t, w.nospc ? " enospc=yes" : " enospc=no");
		put(t, "%s", w.broken ? " BROKEN" : "");
		put_set(t, &w.s);
	} else if (op == BE_LOOKUP_AND_DELETE_BATCH) {
		drain_by_key(m);
	}
	free(keys);
	free(vals);
}
