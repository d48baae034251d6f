/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * ops.h - the operations of a map as data: arguments and result in a small struct
 * that comes from random or from fuzz bytes, can be printed and read back, played
 * on a map (play_op()) and judged by the model (model_judge()).
 */
#ifndef TEST_OPS_H
#define TEST_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "maps.h"

enum op_kind {
	OP_LOOKUP,
	OP_UPDATE,
	OP_DELETE,
	OP_TAKE,   /* lookup_and_delete */
	OP_NEXT,   /* get_next_key; arg 1: of NULL */
	OP_UPSERT, /* arg: UPSERT_* */
	OP_ADD,	   /* arg: offset */
	OP_REF,	   /* look-up by reference; arg 1: write through it */
	OP_WALK,   /* a cursor from start to end */
	OP_KEYS,   /* get_next_key from NULL to the end */
	OP_EACH,   /* for_each; arg: stop at this call, 0 never */
	OP_COUNT,  /* statistics */
	OP_ENTER,  /* um_read_lock() */
	OP_LEAVE,  /* um_read_unlock() */
	OP_SYNC,   /* um_synchronize() */
	OP_FREEZE,
	NR_OP_KINDS,
};

enum {
	UPSERT_ABSENT_FAILS = 1, /* no initial value */
	UPSERT_REFUSES = 2,	 /* the callback answers -ECANCELED */
	UPSERT_NESTS = 4,	 /* the callback looks up and updates the next key */
};

struct op {
	uint32_t kind;
	uint32_t key;
	uint32_t val;
	uint32_t arg;
	uint64_t flags;
	/* the result */
	int32_t err;	 /* what the call returned */
	uint32_t next;	 /* OP_NEXT: number of the key that came */
	uint64_t n;	 /* entries seen, or the count */
	uint64_t digest; /* of the value, or of the set of entries */
};

#define OP_BYTES 8

/* Keys are taken modulo nr_keys, so that a small map is hit often. */
void op_from_bytes(struct op *op, const uint8_t bytes[OP_BYTES], uint32_t nr_keys);
void op_print(FILE *f, const struct op *op);
bool op_read(const char *line, struct op *op);

/* What an upsert's callback does to a value; the model does the same. */
void upsert_change(void *value, uint32_t size, uint32_t val);

/* A reference held in a read section, and what it has to show from now on. */
struct held {
	const unsigned char *ref;
	unsigned char *want; /* its last value; NULL before an operation on its key */
	bool gone;	     /* its key was deleted or got another element */
	uint32_t key;
};

#define HELD_MAX 16

struct player {
	struct um_map *map;
	struct um_map_info info;
	int sections; /* how deep in read sections */
	struct held held[HELD_MAX];
	int nr_held;
};

void player_init(struct player *p, struct um_map *map);
void player_fini(struct player *p); /* leaves its sections */
/* Plays op and fills in its result; fails the test when a held reference changed. */
void play_op(struct player *p, struct op *op);

#endif
