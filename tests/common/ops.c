/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* ops.c - operations from bytes, printed and read back. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "check.h"
#include "ops.h"

static const char *const names[NR_OP_KINDS] = {
	"lookup", "update", "delete", "take",  "next",	"upsert", "add",  "ref",
	"walk",	  "keys",   "each",   "count", "enter", "leave",  "sync", "freeze",
};

/* How often each comes, of 64; a freeze is for the tests that ask for it. */
static const uint8_t weights[NR_OP_KINDS] = {
	[OP_LOOKUP] = 7, [OP_UPDATE] = 17, [OP_DELETE] = 8, [OP_TAKE] = 4,  [OP_NEXT] = 4,
	[OP_UPSERT] = 6, [OP_ADD] = 4,	   [OP_REF] = 4,    [OP_WALK] = 1,  [OP_KEYS] = 1,
	[OP_EACH] = 2,	 [OP_COUNT] = 2,   [OP_ENTER] = 2,  [OP_LEAVE] = 1, [OP_SYNC] = 1,
};

static uint32_t kind_of(uint8_t byte)
{
	uint32_t kind, at = byte % 64;

	for (kind = 0; at >= weights[kind]; kind++)
		at -= weights[kind];
	return kind;
}

static uint64_t flags_of(uint32_t kind, uint8_t byte)
{
	static const uint64_t update[] = {
		BPF_NOEXIST, BPF_NOEXIST, BPF_NOEXIST, BPF_EXIST,
		BPF_EXIST,   3,		  BPF_F_LOCK,  BPF_F_LOCK | BPF_EXIST,
		8,	     1ull << 32,  ~0ull,
	};
	static const uint64_t other[] = { 1, 2, BPF_F_LOCK, 8, 1ull << 63 };

	if (kind == OP_UPDATE && byte % 32 < sizeof(update) / sizeof(*update))
		return update[byte % 32];
	if ((kind == OP_LOOKUP || kind == OP_TAKE || kind == OP_EACH) &&
	    byte % 64 < sizeof(other) / sizeof(*other))
		return other[byte % 64];
	return 0;
}

static uint32_t arg_of(uint32_t kind, uint8_t byte)
{
	switch (kind) {
	case OP_NEXT:
		return byte % 4 == 0;
	case OP_REF:
		return byte % 2;
	case OP_UPSERT:
		return byte % 8;
	case OP_EACH:
		return byte % 4 ? 0 : byte / 4;
	case OP_ADD:
		/* mostly the first words of the value, now and then what is no place */
		return byte % 8 == 7 ? byte / 8 : byte / 8 * 8;
	}
	return 0;
}

void op_from_bytes(struct op *op, const uint8_t bytes[OP_BYTES], uint32_t nr_keys)
{
	memset(op, 0, sizeof(*op));
	op->kind = kind_of(bytes[0]);
	op->key = (bytes[1] | (uint32_t)bytes[2] << 8) % nr_keys;
	op->val = bytes[3] | (uint32_t)bytes[4] << 8 | (uint32_t)bytes[5] << 16;
	op->flags = flags_of(op->kind, bytes[6]);
	op->arg = arg_of(op->kind, bytes[7]);
}

void op_print(FILE *f, const struct op *op)
{
	fprintf(f,
		"%s key=%" PRIu32 " val=%" PRIu32 " arg=%" PRIu32 " flags=%" PRIx64
		" -> %s next=%" PRIu32 " n=%" PRIu64 " digest=%" PRIx64 "\n",
		names[op->kind], op->key, op->val, op->arg, op->flags, errno_text(op->err),
		op->next, op->n, op->digest);
}

bool op_read(const char *line, struct op *op)
{
	char name[16];
	uint32_t kind;

	memset(op, 0, sizeof(*op));
	if (sscanf(line, "%15s key=%" SCNu32 " val=%" SCNu32 " arg=%" SCNu32 " flags=%" SCNx64,
		   name, &op->key, &op->val, &op->arg, &op->flags) != 5)
		return false;
	for (kind = 0; kind < NR_OP_KINDS; kind++)
		if (!strcmp(name, names[kind])) {
			op->kind = kind;
			return true;
		}
	return false;
}

void upsert_change(void *value, uint32_t size, uint32_t val)
{
	unsigned char *v = value;
	uint32_t i;

	for (i = 0; i < size; i++)
		v[i] = (unsigned char)(v[i] * 5 + val + i);
}
