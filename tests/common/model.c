/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* model.c - a map too simple to be wrong, and the judgement of played operations. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "model.h"

void model_init(struct model *m, uint32_t key_size, uint32_t value_size, uint32_t max)
{
	memset(m, 0, sizeof(*m));
	m->key_size = key_size;
	m->value_size = value_size;
	m->max = max;
	m->keys = malloc((size_t)max * key_size);
	m->values = malloc((size_t)max * value_size);
	check(m->keys && m->values);
}

void model_fini(struct model *m)
{
	free(m->keys);
	free(m->values);
}

static unsigned char *key_at(const struct model *m, uint32_t i)
{
	return m->keys + (size_t)i * m->key_size;
}

static unsigned char *value_at(const struct model *m, uint32_t i)
{
	return m->values + (size_t)i * m->value_size;
}

/* Index of a key, or count. */
static uint32_t find(const struct model *m, uint32_t key)
{
	unsigned char k[KEY_ROOM];
	uint32_t i;

	key_of(key, k, m->key_size);
	for (i = 0; i < m->count; i++)
		if (!memcmp(key_at(m, i), k, m->key_size))
			break;
	return i;
}

static void insert(struct model *m, uint32_t key, const void *value)
{
	key_of(key, key_at(m, m->count), m->key_size);
	memcpy(value_at(m, m->count), value, m->value_size);
	m->count++;
}

static void erase(struct model *m, uint32_t i)
{
	m->count--;
	memmove(key_at(m, i), key_at(m, m->count), m->key_size);
	memmove(value_at(m, i), value_at(m, m->count), m->value_size);
}

/* An error that the operation meets before the map is looked at, or 0. */
static int refusal(const struct model *m, const struct op *op)
{
	bool writes = op->kind == OP_UPDATE || op->kind == OP_DELETE || op->kind == OP_TAKE ||
		      op->kind == OP_UPSERT || op->kind == OP_ADD;
	bool reads = op->kind == OP_LOOKUP || op->kind == OP_TAKE || op->kind == OP_NEXT ||
		     op->kind == OP_WALK || op->kind == OP_KEYS || op->kind == OP_EACH ||
		     op->kind == OP_UPSERT; /* its callback sees the value */

	if ((op->kind == OP_LOOKUP || op->kind == OP_TAKE) && op->flags & ~(uint64_t)BPF_F_LOCK)
		return -EINVAL;
	if (writes && (m->frozen || m->rdonly))
		return -EPERM;
	if (reads && m->wronly)
		return -EPERM;
	if (op->flags & BPF_F_LOCK || (op->kind == OP_UPDATE && op->flags > BPF_EXIST) ||
	    (op->kind == OP_EACH && op->flags))
		return -EINVAL;
	if (op->kind == OP_ADD && (op->arg % 8 || op->arg + 8 > m->value_size))
		return -EINVAL;
	return 0;
}

static int full(struct model *m)
{
	if (m->count < m->max)
		return 0;
	m->refused++;
	return -E2BIG;
}

static int update(struct model *m, const struct op *op, uint32_t at)
{
	unsigned char value[VALUE_ROOM];

	value_of(op->val, value, m->value_size);
	if (at < m->count) {
		if (op->flags == BPF_NOEXIST)
			return -EEXIST;
		memcpy(value_at(m, at), value, m->value_size);
		return 0;
	}
	if (op->flags == BPF_EXIST)
		return -ENOENT;
	if (full(m))
		return -E2BIG;
	insert(m, op->key, value);
	return 0;
}

static int upsert(struct model *m, const struct op *op, uint32_t at)
{
	unsigned char value[VALUE_ROOM];

	if (at < m->count) {
		if (op->arg & UPSERT_REFUSES)
			return -ECANCELED;
		upsert_change(value_at(m, at), m->value_size, op->val);
		return 0;
	}
	if (op->arg & UPSERT_ABSENT_FAILS)
		return -ENOENT;
	if (full(m))
		return -E2BIG;
	value_of(op->val, value, m->value_size);
	insert(m, op->key, value);
	return 1;
}

static int add_to(struct model *m, const struct op *op, uint32_t at)
{
	unsigned char zeros[VALUE_ROOM] = { 0 };
	uint64_t word;
	bool fresh = at == m->count;

	if (fresh) {
		if (full(m))
			return -E2BIG;
		insert(m, op->key, zeros);
	}
	memcpy(&word, value_at(m, at) + op->arg, sizeof(word));
	word += op->val;
	memcpy(value_at(m, at) + op->arg, &word, sizeof(word));
	return fresh;
}

static void sums(const struct model *m, struct op *want)
{
	uint32_t i;

	want->n = m->count;
	for (i = 0; i < m->count; i++) {
		uint64_t k = digest(key_at(m, i), m->key_size);
		uint64_t v = digest(value_at(m, i), m->value_size);

		want->digest += want->kind == OP_KEYS ? k : k * 3 + v;
	}
}

static void each(const struct model *m, struct op *want)
{
	sums(m, want);
	if (want->arg) {
		want->digest = 0;
		if (want->n > want->arg)
			want->n = want->arg;
	}
	want->err = (int)want->n;
}

static void apply_keyed(struct model *m, struct op *want)
{
	uint32_t at = find(m, want->key);
	bool there = at < m->count;

	switch (want->kind) {
	case OP_UPDATE:
		want->err = update(m, want, at);
		break;
	case OP_UPSERT:
		want->err = upsert(m, want, at);
		break;
	case OP_ADD:
		want->err = add_to(m, want, at);
		break;
	default: /* look-ups and removals */
		want->err = there ? 0 : -ENOENT;
		if (there && want->kind == OP_REF && want->arg)
			value_at(m, at)[0] ^= (unsigned char)want->val;
		if (there && want->kind != OP_DELETE)
			want->digest = digest(value_at(m, at), m->value_size);
		if (there && (want->kind == OP_DELETE || want->kind == OP_TAKE))
			erase(m, at);
	}
}

static void apply(struct model *m, struct op *want)
{
	want->err = refusal(m, want);
	if (want->err)
		return;
	switch (want->kind) {
	case OP_WALK:
	case OP_KEYS:
		sums(m, want);
		want->err = -ENOENT;
		break;
	case OP_EACH:
		each(m, want);
		break;
	case OP_COUNT:
		want->n = m->count;
		want->digest = m->refused;
		break;
	case OP_ENTER:
		m->sections++;
		break;
	case OP_LEAVE:
		m->sections -= m->sections > 0;
		break;
	case OP_SYNC:
		want->err = m->sections ? -EBUSY : 0;
		break;
	case OP_FREEZE:
		want->err = m->frozen || m->rdonly ? -EPERM : 0;
		m->frozen = true;
		break;
	default:
		apply_keyed(m, want);
	}
}

/* The order of keys is the map's own; what can be said is who comes at all. */
static const char *judge_next(const struct model *m, const struct op *op)
{
	bool restart = op->arg || find(m, op->key) == m->count;

	if (m->wronly)
		return op->err == -EPERM ? NULL : "next_key of a write-only handle";
	if (op->err)
		return op->err == -ENOENT && (!m->count || !restart)
			       ? NULL
			       : "next_key has an error although a key comes first";
	if (find(m, op->next) == m->count)
		return "next_key gave a key that is not in the map";
	if (restart != (op->n == 1))
		return restart ? "next_key of an absent key does not start over"
			       : "next_key of a present key starts over";
	return NULL;
}

/* Answers that depend on more than the contents, and change nothing. */
static bool excused(const struct model *m, const struct op *op)
{
	bool may_insert = op->kind == OP_UPDATE || op->kind == OP_UPSERT || op->kind == OP_ADD;

	/* every spare element waits for this thread's own section */
	if (op->err == -EBUSY && may_insert && m->sections)
		return true;
	return op->err == -ENOMEM && may_insert && m->may_lack_memory;
}

const char *model_judge(struct model *m, const struct op *op)
{
	struct op want = *op;

	if (op->kind == OP_NEXT)
		return judge_next(m, op);
	if (excused(m, op))
		return NULL;
	want.n = want.digest = 0;
	apply(m, &want);
	if (op->err != want.err)
		return "the answer is another than the model's";
	if (op->n != want.n)
		return "the number of entries is another than the model's";
	if (op->digest != want.digest)
		return op->kind == OP_COUNT ? "the number of refused calls is wrong"
					    : "the contents are others than the model's";
	return NULL;
}
