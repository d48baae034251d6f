/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * impl_usermap.c - usermap's hash map in memory of this process, through the
 * public calls with sizes known at run time only.
 */
#include <errno.h>

#include <usermap/usermap.h>

#include "impl_usermap.h"

int usermap_create(const struct conf *conf, const struct stream *streams, unsigned int nr_streams,
		   void **map, struct why *why)
{
	UM_OPTS(um_map_opts, opts, .nr_cpus = conf->nr_cpus);
	struct um_map *um;
	int err = um_map_create(BPF_MAP_TYPE_HASH, "bench", conf->key_size, conf->value_size,
				conf->size, &opts, &um);

	if (err) {
		why_set(why, "%s", um_strerror(err, UM_CREATE));
		return -1;
	}
	*map = um;
	return 0;
}

void usermap_destroy(void *map)
{
	um_map_close(map);
}

int usermap_fill(void *map, const struct slice *slice, struct why *why)
{
	const char *key = slice->keys;
	uint32_t i;
	int err;

	for (i = 0; i < slice->nr; i++, key += slice->stride) {
		err = um_map_update_elem(map, key, slice->value, BPF_NOEXIST);
		if (err) {
			why_set(why, "%s", um_strerror(err, UM_UPDATE));
			return -1;
		}
	}
	return 0;
}

static int lookup_keys(struct um_map *map, const struct slice *slice, int want)
{
	const char *key = slice->keys;
	uint32_t i;
	int ret;

	for (i = 0; i < slice->nr; i++, key += slice->stride) {
		ret = um_map_lookup_elem(map, key, slice->value);
		if (unlikely(ret != want))
			return unexpected(ret);
	}
	return 0;
}

static int update_keys(struct um_map *map, const struct slice *slice, int want)
{
	const char *key = slice->keys;
	uint32_t i;
	int ret;

	for (i = 0; i < slice->nr; i++, key += slice->stride) {
		next_value(slice->value);
		ret = um_map_update_elem(map, key, slice->value, BPF_ANY);
		if (unlikely(ret != want))
			return unexpected(ret);
	}
	return 0;
}

static int batch(void *map, enum bench_op op, const struct slice *slice)
{
	switch (op) {
	case OP_HIT:
		return lookup_keys(map, slice, 0);
	case OP_MISS:
		return lookup_keys(map, slice, -ENOENT);
	case OP_UPDATE:
		return update_keys(map, slice, 0);
	case OP_REFUSED:
		return update_keys(map, slice, -E2BIG);
	}
	return -EINVAL;
}

const struct backend impl_usermap = {
	.name = "usermap",
	.about = "this library's map, in memory of the process",
	.ops = OPS_READ | OPS_WRITE,
	.any_cpus = true,
	.create = usermap_create,
	.destroy = usermap_destroy,
	.fill = usermap_fill,
	.batch = batch,
};
