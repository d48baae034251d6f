/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* random.c - random operations on maps of many shapes, each judged by the model. */
#include <errno.h>
#include <stdio.h>
#include "check.h"
#include "rng.h"
#include "session.h"
#include "threads.h"

static const uint32_t key_sizes[] = { 1,  2,  3,  4,  5,  6,  7,  8,   9,   12, 13,
				      16, 17, 20, 24, 31, 32, 64, 100, 255, 300 };
static const uint32_t value_sizes[] = { 1,  2,	3,  4,	5,  7,	8,   9,	   12,	 13,  15,
					16, 17, 24, 31, 40, 64, 100, 1000, 1032, 4096 };
static const uint32_t cpus[] = { 0, 1, 2, 7, 64, 65, 256 };
static const uint32_t max_entries[] = { 1, 2, 3, 6, 7, 8, 13, 16, 40, 64, 100, 150 };

#define PICK(r, list) ((list)[rng_below(r, sizeof(list) / sizeof(*(list)))])

static struct shape random_shape(struct rng *r)
{
	struct shape s = {
		.key_size = PICK(r, key_sizes),
		.value_size = PICK(r, value_sizes),
		.max = PICK(r, max_entries),
		.nr_cpus = PICK(r, cpus),
		.spares = rng_below(r, 3) ? 0 : 1 + rng_below(r, 8),
		.map_flags = rng_below(r, 2) ? BPF_F_NO_PREALLOC : 0,
		.um_flags = rng_below(r, 4) ? 0 : UM_F_REUSE,
		.backing = rng_below(r, NR_BACKINGS),
	};

	if (rng_below(r, 4) == 0)
		s.map_flags |= BPF_F_ZERO_SEED;
	return s;
}

static void play(const struct shape *s, struct rng *r, uint32_t nr_ops)
{
	struct um_map *map = make_map(s);
	uint32_t nr_keys = s->max + s->max / 3 + 2, i;
	struct session session;

	session_begin(&session, map, shape_text(s));
	for (i = 0; i < nr_ops; i++) {
		uint64_t bytes = rng_next(r);
		struct op op;

		if (i % 64 == 0) /* onto the lists of another CPU */
			pin_to((int)rng_below(r, 64));
		op_from_bytes(&op, (uint8_t *)&bytes, nr_keys);
		session_step(&session, &op);
	}
	session_end(&session);
	um_map_close(map);
	if (s->backing == IN_FILE)
		check_ok(um_map_unlink("map"));
}

static void random_operations_answer_as_the_model(void)
{
	struct rng r = rng_new(test_seed, 0);
	int round;

	for (round = 0; round < 300; round++) {
		struct shape s = random_shape(&r);

		play(&s, &r, SCALED(4000));
	}
}

static void every_key_size_works_with_every_value_size(void)
{
	struct rng r = rng_new(test_seed, 1);
	size_t k, v;

	for (k = 0; k < sizeof(key_sizes) / sizeof(*key_sizes); k++)
		for (v = 0; v < sizeof(value_sizes) / sizeof(*value_sizes); v++) {
			struct shape s = { .key_size = key_sizes[k],
					   .value_size = value_sizes[v],
					   .max = 20,
					   .map_flags = rng_below(&r, NR_MODES) };

			play(&s, &r, SCALED(1000));
		}
}

static void every_backing_mode_and_number_of_lists_works(void)
{
	struct rng r = rng_new(test_seed, 2);
	uint32_t backing, mode;
	size_t c;

	for (c = 0; c < sizeof(cpus) / sizeof(*cpus); c++)
		for (backing = 0; backing < NR_BACKINGS; backing++)
			for (mode = 0; mode < NR_MODES; mode++) {
				struct shape s = { .value_size = 24,
						   .max = 50,
						   .nr_cpus = cpus[c],
						   .map_flags = mode,
						   .backing = backing };

				play(&s, &r, SCALED(4000));
			}
}

/* Handles and maps that refuse: the kernel's errors, in the kernel's order. */
static void refuse(struct um_map *map, bool rdonly, bool wronly, bool frozen)
{
	struct rng r = rng_new(test_seed, 3);
	struct session session;
	int i;

	session_begin(&session, map, "a handle that refuses");
	session.model.rdonly = rdonly;
	session.model.wronly = wronly;
	if (frozen) {
		struct op op = { .kind = OP_FREEZE };

		for (i = 0; i < 20; i++) {
			uint64_t bytes = rng_next(&r);
			struct op fill;

			op_from_bytes(&fill, (uint8_t *)&bytes, 8);
			session_step(&session, &fill);
		}
		session_step(&session, &op);
		session_step(&session, &op);
	}
	for (i = 0; i < 5000; i++) {
		uint64_t bytes = rng_next(&r);
		struct op op;

		op_from_bytes(&op, (uint8_t *)&bytes, 8);
		/* by reference such handles have rules of their own */
		if (op.kind == OP_REF || op.kind == OP_ENTER || op.kind == OP_SYNC ||
		    op.kind == OP_EACH)
			continue;
		session_step(&session, &op);
	}
	player_fini(&session.player);
	model_fini(&session.model);
	um_map_close(map);
}

static void refusing_handles_answer_in_the_kernels_order(void)
{
	refuse(small_map(6, BPF_F_RDONLY), true, false, false);
	refuse(small_map(6, BPF_F_WRONLY), false, true, false);
	refuse(small_map(6, 0), false, false, true);
	refuse(small_map(6, BPF_F_NO_PREALLOC), false, false, true);
}

static const struct test tests[] = {
	{ "random_operations_answer_as_the_model", random_operations_answer_as_the_model },
	{ "every_key_size_works_with_every_value_size",
	  every_key_size_works_with_every_value_size },
	{ "every_backing_mode_and_number_of_lists_works",
	  every_backing_mode_and_number_of_lists_works },
	{ "refusing_handles_answer_in_the_kernels_order",
	  refusing_handles_answer_in_the_kernels_order },
};

TEST_MAIN(tests)
