/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * model.h - a map too simple to be wrong: an array of entries, searched from its
 * start. Errors win in the kernel's order.
 */
#ifndef TEST_MODEL_H
#define TEST_MODEL_H

#include "ops.h"

struct model {
	uint32_t key_size, value_size, max;
	uint32_t count;
	unsigned char *keys, *values; /* count packed entries */
	int sections;		      /* how deep in read sections */
	bool frozen, rdonly, wronly;
	bool may_lack_memory; /* -ENOMEM of an insert is no fault */
	/* calls answered -E2BIG, as um_map_get_stats() has it */
	uint64_t refused;
};

void model_init(struct model *m, uint32_t key_size, uint32_t value_size, uint32_t max);
void model_fini(struct model *m);

/*
 * Applies an operation that has been played. Returns NULL if its result is the
 * right one, else a sentence, and the model is as if the result were right.
 */
const char *model_judge(struct model *m, const struct op *op);

#endif
