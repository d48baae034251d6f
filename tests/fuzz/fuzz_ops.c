/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * fuzz_ops.c - bytes become a map and operations, judged by the model. The first
 * eight bytes choose the shape, each further eight are an operation.
 */
#include "check.h"
#include "fuzz.h"
#include "session.h"

static struct shape shape_from(const uint8_t b[8])
{
	static const uint32_t key_sizes[] = { 1, 2, 4, 7, 8, 12, 16, 33 };
	static const uint32_t value_sizes[] = { 1, 4, 8, 9, 16, 24, 100, 1032 };
	static const uint32_t cpus[] = { 1, 2, 65, 256 };
	struct shape s = {
		.key_size = key_sizes[b[0] % 8],
		.value_size = value_sizes[b[1] % 8],
		.max = 1 + b[2] % 60,
		.nr_cpus = cpus[b[3] % 4],
		.spares = b[4] % 4 ? 0 : 1 + b[4] / 4 % 8,
		.map_flags = (b[5] & BPF_F_NO_PREALLOC) | (b[5] & BPF_F_ZERO_SEED),
		.um_flags = b[6] % 4 ? 0 : UM_F_REUSE,
		.backing = b[7] % 4 ? PRIVATE : MEMFD,
	};

	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session session;
	struct um_map *map;
	struct shape s;

	if (size < 16)
		return 0;
	s = shape_from(data);
	map = make_map(&s);
	session_begin(&session, map, shape_text(&s));
	for (data += 8, size -= 8; size >= OP_BYTES; data += OP_BYTES, size -= OP_BYTES) {
		struct op op;

		op_from_bytes(&op, data, s.max + s.max / 3 + 2);
		session_step(&session, &op);
	}
	session_end(&session);
	um_map_close(map);
	return 0;
}
