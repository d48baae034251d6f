/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* impl_usermap.h - the usermap map, for the back ends that vary its use. */
#ifndef BENCH_IMPL_USERMAP_H
#define BENCH_IMPL_USERMAP_H

#include "bench.h"

int usermap_create(const struct conf *conf, const struct stream *streams, unsigned int nr_streams,
		   void **map, struct why *why);
void usermap_destroy(void *map);
int usermap_fill(void *map, const struct slice *slice, struct why *why);

/* A value that differs from the last, so that an update has something to write. */
static __always_inline void next_value(void *value)
{
	++*(uint64_t *)value;
}

/* What batch() answers where a call answered @ret and was meant not to. */
static inline int unexpected(int ret)
{
	return ret ? ret : 1;
}

#endif
