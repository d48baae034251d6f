/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* play.c - plays operations on a map through the public interface. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "ops.h"

void player_init(struct player *p, struct um_map *map)
{
	memset(p, 0, sizeof(*p));
	p->map = map;
	p->info.sz = sizeof(p->info);
	check_ok(um_map_get_info(map, &p->info));
}

/* ---- references held in a read section ---- */

static void forget_held(struct player *p)
{
	while (p->nr_held)
		free(p->held[--p->nr_held].want);
}

static void hold(struct player *p, const void *ref, uint32_t key)
{
	struct held *h = &p->held[p->nr_held];

	if (p->nr_held == HELD_MAX || p->info.um_flags & UM_F_REUSE)
		return;
	*h = (struct held){ .ref = ref, .key = key };
	p->nr_held++;
}

/* Before an operation that may take the element of a key away: what does it show? */
static void note_held(struct player *p, uint32_t key)
{
	unsigned char k[KEY_ROOM];
	const void *now;
	int i;

	if (!p->nr_held)
		return;
	key_of(key, k, p->info.key_size);
	now = um_map_lookup_ref(p->map, k);
	for (i = 0; i < p->nr_held; i++) {
		struct held *h = &p->held[i];

		if (h->gone || h->ref != now)
			continue;
		if (!h->want)
			h->want = malloc(p->info.value_size);
		check(h->want);
		memcpy(h->want, h->ref, p->info.value_size);
	}
}

/*
 * After it: an element that is still the key's may go on changing in place, any
 * other shows its last value until the section ends.
 */
static void check_held(struct player *p, uint32_t key)
{
	unsigned char k[KEY_ROOM];
	const void *now;
	int i;

	if (!p->nr_held)
		return;
	key_of(key, k, p->info.key_size);
	now = um_map_lookup_ref(p->map, k);
	for (i = 0; i < p->nr_held; i++) {
		struct held *h = &p->held[i];

		if (!h->want)
			continue;
		if (!h->gone && h->ref == now) {
			free(h->want);
			h->want = NULL;
			continue;
		}
		h->gone = true;
		check_msg(h->ref != now, "the element of key %u was reused under a reference",
			  h->key);
		check_msg(!memcmp(h->ref, h->want, p->info.value_size),
			  "the value of key %u changed under a reference", h->key);
	}
}

void player_fini(struct player *p)
{
	for (; p->sections; p->sections--)
		um_read_unlock(p->map);
	forget_held(p);
}

/* ---- operations ---- */

struct upsert_ctx {
	struct player *p;
	const struct op *op;
};

static int on_upsert(void *value, void *ctx)
{
	struct upsert_ctx *c = ctx;
	struct player *p = c->p;
	unsigned char key[KEY_ROOM], other[VALUE_ROOM];

	check_eq((uintptr_t)value % 8, 0);
	if (c->op->arg & UPSERT_NESTS) {
		key_of(c->op->key, key, p->info.key_size);
		check_ok(um_map_lookup_elem(p->map, key, other));
		check(!memcmp(other, value, p->info.value_size));
	}
	upsert_change(value, p->info.value_size, c->op->val);
	return c->op->arg & UPSERT_REFUSES ? -ECANCELED : 0;
}

static void play_upsert(struct player *p, struct op *op, const void *key, const void *value)
{
	struct upsert_ctx ctx = { p, op };

	op->err = um_map_upsert_elem(p->map, key, op->arg & UPSERT_ABSENT_FAILS ? NULL : value,
				     on_upsert, &ctx);
}

static void play_ref(struct player *p, struct op *op, const void *key)
{
	unsigned char *ref;

	op->err = um_read_lock(p->map);
	if (op->err)
		return;
	ref = um_map_lookup_ref(p->map, key);
	if (ref) {
		check_eq((uintptr_t)ref % (p->info.value_size > 4 || p->info.key_size > 4 ? 8 : 4),
			 0);
		if (op->arg)
			ref[0] ^= (unsigned char)op->val;
		op->digest = digest(ref, p->info.value_size);
		if (p->sections)
			hold(p, ref, op->key);
	} else {
		op->err = -ENOENT;
	}
	um_read_unlock(p->map);
}

static uint64_t entry_digest(const struct player *p, const void *key, const void *value)
{
	return digest(key, p->info.key_size) * 3 + digest(value, p->info.value_size);
}

static void play_walk(struct player *p, struct op *op)
{
	unsigned char key[KEY_ROOM], value[VALUE_ROOM];
	struct um_iter *it;

	op->err = um_iter_open(p->map, &it);
	if (op->err)
		return;
	while (!(op->err = um_iter_next(it, key, value))) {
		op->n++;
		op->digest += entry_digest(p, key, value);
	}
	um_iter_close(it);
}

static void play_keys(struct player *p, struct op *op)
{
	unsigned char key[KEY_ROOM];

	op->err = um_map_get_next_key(p->map, NULL, key);
	while (!op->err) {
		check_msg(++op->n <= p->info.max_entries, "a walk by next_key does not end");
		op->digest += digest(key, p->info.key_size);
		op->err = um_map_get_next_key(p->map, key, key);
	}
}

struct each_ctx {
	struct player *p;
	struct op *op;
};

static int on_each(const void *key, void *value, void *ctx)
{
	struct each_ctx *c = ctx;

	c->op->n++;
	if (!c->op->arg)
		c->op->digest += entry_digest(c->p, key, value);
	return c->op->arg && c->op->n == c->op->arg;
}

static void play_each(struct player *p, struct op *op)
{
	struct each_ctx ctx = { p, op };

	op->err = um_map_for_each_elem(p->map, on_each, &ctx, op->flags);
}

static void play_next(struct player *p, struct op *op, const void *key)
{
	unsigned char next[KEY_ROOM], first[KEY_ROOM];

	op->err = um_map_get_next_key(p->map, op->arg ? NULL : key, next);
	if (op->err)
		return;
	check_msg(key_number(next, p->info.key_size, &op->next), "next_key made a key up");
	check_ok(um_map_get_next_key(p->map, NULL, first));
	op->n = !memcmp(first, next, p->info.key_size);
}

static void play_section(struct player *p, struct op *op)
{
	if (op->kind == OP_ENTER) {
		op->err = um_read_lock(p->map);
		p->sections += !op->err;
	} else if (p->sections) {
		um_read_unlock(p->map);
		if (!--p->sections)
			forget_held(p);
	}
}

static void play_count(struct player *p, struct op *op)
{
	struct um_map_stats st = { .sz = sizeof(st) };

	op->err = um_map_get_stats(p->map, &st);
	op->n = st.count;
	op->digest = st.refused;
}

static void play_keyed(struct player *p, struct op *op)
{
	unsigned char key[KEY_ROOM], value[VALUE_ROOM];

	key_of(op->key, key, p->info.key_size);
	value_of(op->val, value, p->info.value_size);
	switch (op->kind) {
	case OP_LOOKUP:
		op->err = op->flags ? um_map_lookup_elem_flags(p->map, key, value, op->flags)
				    : um_map_lookup_elem(p->map, key, value);
		break;
	case OP_UPDATE:
		op->err = um_map_update_elem(p->map, key, value, op->flags);
		break;
	case OP_DELETE:
		op->err = um_map_delete_elem(p->map, key);
		break;
	case OP_TAKE:
		op->err = op->flags ? um_map_lookup_and_delete_elem_flags(p->map, key, value,
									  op->flags)
				    : um_map_lookup_and_delete_elem(p->map, key, value);
		break;
	case OP_NEXT:
		play_next(p, op, key);
		break;
	case OP_UPSERT:
		play_upsert(p, op, key, value);
		break;
	case OP_ADD:
		op->err = um_map_add_elem(p->map, key, op->arg, op->val);
		break;
	case OP_REF:
		play_ref(p, op, key);
		break;
	}
	if (!op->err && (op->kind == OP_LOOKUP || op->kind == OP_TAKE))
		op->digest = digest(value, p->info.value_size);
}

void play_op(struct player *p, struct op *op)
{
	op->err = 0;
	op->next = 0;
	op->n = op->digest = 0;
	note_held(p, op->key);
	switch (op->kind) {
	case OP_WALK:
		play_walk(p, op);
		break;
	case OP_KEYS:
		play_keys(p, op);
		break;
	case OP_EACH:
		play_each(p, op);
		break;
	case OP_COUNT:
		play_count(p, op);
		break;
	case OP_ENTER:
	case OP_LEAVE:
		play_section(p, op);
		break;
	case OP_SYNC:
		op->err = um_synchronize(p->map);
		break;
	case OP_FREEZE:
		op->err = um_map_freeze(p->map);
		break;
	default:
		play_keyed(p, op);
	}
	check_held(p, op->key);
}
