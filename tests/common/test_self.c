/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_self.c - the operations, the model and the checks find what they are for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "rng.h"
#include "session.h"

static void random_op(struct rng *r, struct op *op, uint32_t nr_keys)
{
	uint64_t bytes = rng_next(r);

	op_from_bytes(op, (uint8_t *)&bytes, nr_keys);
}

static void operations_read_back_as_printed(void)
{
	struct rng r = rng_new(test_seed, 1);
	char line[256];
	int i;

	for (i = 0; i < 10000; i++) {
		struct op op, back;
		FILE *f = fmemopen(line, sizeof(line), "w");

		random_op(&r, &op, 1000);
		op_print(f, &op);
		fclose(f);
		check_msg(op_read(line, &back), "not read back: %s", line);
		check_msg(!memcmp(&op, &back, sizeof(op)), "read back differently: %s", line);
	}
	check(!op_read("nonsense key=1 val=1 arg=0 flags=0", &(struct op){ 0 }));
	check(!op_read("lookup key=1", &(struct op){ 0 }));
}

static void every_operation_comes_from_bytes(void)
{
	struct rng r = rng_new(test_seed, 2);
	uint32_t seen[NR_OP_KINDS] = { 0 }, kind;
	struct op op;
	int i;

	for (i = 0; i < 10000; i++) {
		random_op(&r, &op, 10);
		check(op.kind < NR_OP_KINDS && op.key < 10);
		seen[op.kind]++;
	}
	for (kind = 0; kind < NR_OP_KINDS; kind++)
		check_eq(!!seen[kind], kind != OP_FREEZE);
}

static void keys_and_values_are_recognised(void)
{
	unsigned char bytes[VALUE_ROOM];
	uint32_t size, n;
	uint64_t v;

	for (size = 1; size <= KEY_ROOM; size++) {
		key_of(77, bytes, size);
		check(key_number(bytes, size, &n) && n == 77);
		bytes[size - 1] ^= 1;
		check(!key_number(bytes, size, &n) || n != 77);
	}
	for (size = 1; size <= 100; size++) {
		value_of(99, bytes, size);
		check(value_number(bytes, size, &v) && v == 99);
		bytes[size - 1] ^= 1;
		check(!value_number(bytes, size, &v) || v != 99);
	}
}

static void the_model_has_the_kernels_order_of_errors(void)
{
	struct model m;
	struct op op = {
		.kind = OP_UPDATE, .key = 1, .val = 2, .flags = BPF_EXIST, .err = -ENOENT
	};

	model_init(&m, 4, 8, 1);
	check(!model_judge(&m, &op));
	op.flags = BPF_NOEXIST, op.err = 0;
	check(!model_judge(&m, &op));
	op.err = -EEXIST; /* before -E2BIG */
	check(!model_judge(&m, &op));
	op.key = 2, op.err = -E2BIG;
	check(!model_judge(&m, &op));
	op.flags = BPF_EXIST, op.err = -ENOENT;
	check(!model_judge(&m, &op));
	op.flags = BPF_F_LOCK, op.err = -EINVAL;
	check(!model_judge(&m, &op));
	m.frozen = true;
	op.err = -EPERM; /* before -EINVAL */
	check(!model_judge(&m, &op));
	op.kind = OP_LOOKUP, op.flags = BPF_NOEXIST, op.err = -EINVAL;
	check(!model_judge(&m, &op));
	check_eq(m.refused, 1);
	model_fini(&m);
}

/* Each result with one thing wrong in it has to be noticed. */
static void the_model_notices_wrong_results(void)
{
	struct rng r = rng_new(test_seed, 3);
	struct um_map *map = small_map(20, 0);
	struct player p;
	struct model m;
	uint32_t judged = 0;
	int i;

	player_init(&p, map);
	model_init(&m, 4, 8, 20);
	for (i = 0; i < 5000; i++) {
		struct op op, bad;
		struct model copy = m;

		random_op(&r, &op, 30);
		play_op(&p, &op);
		bad = op;
		if (i % 3 == 0)
			bad.err = bad.err ? 0 : -ENOENT;
		else if (i % 3 == 1)
			bad.n++;
		else
			bad.digest ^= 1;
		copy.keys = malloc(20 * 4);
		copy.values = malloc(20 * 8);
		check(copy.keys && copy.values);
		memcpy(copy.keys, m.keys, 20 * 4);
		memcpy(copy.values, m.values, 20 * 8);
		if (op.kind != OP_NEXT && op.err != -EBUSY) {
			check(model_judge(&copy, &bad));
			judged++;
		}
		check(!model_judge(&m, &op));
		model_fini(&copy);
	}
	check(judged > 1000);
	player_fini(&p);
	model_fini(&m);
	um_map_close(map);
}

static const struct test tests[] = {
	{ "operations_read_back_as_printed", operations_read_back_as_printed },
	{ "every_operation_comes_from_bytes", every_operation_comes_from_bytes },
	{ "keys_and_values_are_recognised", keys_and_values_are_recognised },
	{ "the_model_has_the_kernels_order_of_errors", the_model_has_the_kernels_order_of_errors },
	{ "the_model_notices_wrong_results", the_model_notices_wrong_results },
};

TEST_MAIN(tests)
