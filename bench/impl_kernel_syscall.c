/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * impl_kernel_syscall.c - the kernel's hash map as user space reaches it: a
 * bpf(2) call for each key. Others can share the map, as with usermap; every
 * operation enters the kernel, which usermap's do not.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "impl_usermap.h"
#include "kernel_map.h"

/* A descriptor as what a back end calls its map. */
static int map_fd(void *map)
{
	return (int)(intptr_t)map;
}

static int create(const struct conf *conf, const struct stream *streams, unsigned int nr_streams,
		  void **map, struct why *why)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "bench", conf->key_size, conf->value_size,
				conf->size, NULL);

	if (fd < 0) {
		why_set(why, "bpf(2) cannot make the map: %s", strerror(-fd));
		return -1;
	}
	*map = (void *)(intptr_t)fd;
	return 0;
}

static void destroy(void *map)
{
	close(map_fd(map));
}

static int fill(void *map, const struct slice *slice, struct why *why)
{
	return kernel_map_fill(map_fd(map), slice, why);
}

static int lookup_keys(int fd, const struct slice *slice, int want)
{
	const char *key = slice->keys;
	uint32_t i;
	int ret;

	for (i = 0; i < slice->nr; i++, key += slice->stride) {
		ret = bpf_map_lookup_elem(fd, key, slice->value);
		if (unlikely(ret != want))
			return unexpected(ret);
	}
	return 0;
}

static int update_keys(int fd, const struct slice *slice, int want)
{
	const char *key = slice->keys;
	uint32_t i;
	int ret;

	for (i = 0; i < slice->nr; i++, key += slice->stride) {
		next_value(slice->value);
		ret = bpf_map_update_elem(fd, key, slice->value, BPF_ANY);
		if (unlikely(ret != want))
			return unexpected(ret);
	}
	return 0;
}

static int batch(void *map, enum bench_op op, const struct slice *slice)
{
	switch (op) {
	case OP_HIT:
		return lookup_keys(map_fd(map), slice, 0);
	case OP_MISS:
		return lookup_keys(map_fd(map), slice, -ENOENT);
	case OP_UPDATE:
		return update_keys(map_fd(map), slice, 0);
	case OP_REFUSED:
		return update_keys(map_fd(map), slice, -E2BIG);
	}
	return -EINVAL;
}

const struct backend impl_kernel_syscall = {
	.name = "kernel-syscall",
	.about = "the kernel's map, a bpf(2) call for each operation",
	.ops = OPS_READ | OPS_WRITE,
	.probe = kernel_map_probe,
	.create = create,
	.destroy = destroy,
	.fill = fill,
	.batch = batch,
};
