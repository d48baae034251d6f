/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * backend_usermap.c - back end of the player over usermap's public interface.
 * The program side makes the same calls, with look-ups by reference, since a
 * program and a caller of usermap stand on the same side of the map.
 *
 * An address that cannot be touched is NULL here: usermap answers -EFAULT to
 * that, and takes all others for good.
 */
#include <errno.h>
#include <string.h>
#include <usermap/usermap.h>
#include "backend.h"

#define MAX_HANDLES 256
#define PAGE_ZERO 4096

static struct um_map *handles[MAX_HANDLES];

static void *address(const void *p)
{
	return (uintptr_t)p < PAGE_ZERO ? NULL : (void *)p;
}

int be_init(void)
{
	return 0;
}

int be_ncpus(void)
{
	return um_possible_cpus();
}

int be_create(const struct be_create_args *a)
{
	UM_OPTS(um_map_opts, opts, .map_flags = a->flags, .map_extra = a->map_extra,
		.numa_node = a->numa_node);
	int h, err;

	for (h = 0; h < MAX_HANDLES && handles[h]; h++)
		;
	if (h == MAX_HANDLES)
		return -ENFILE;
	if (a->has_lock)
		return BE_SKIP;
	err = um_map_create(a->type, *a->name ? a->name : NULL, a->key_size, a->value_size,
			    a->max_entries, &opts, &handles[h]);
	if (err == -UM_ENOTSUPP)
		return BE_SKIP;
	return err ? err : h;
}

int be_close(int h)
{
	um_map_close(handles[h]);
	handles[h] = NULL;
	return 0;
}

int be_info(int h, struct be_info *out)
{
	struct um_map_info i = { .sz = sizeof(i) };
	int err = um_map_get_info(handles[h], &i);

	if (err)
		return err;
	out->type = i.type;
	out->key_size = i.key_size;
	out->value_size = i.value_size;
	out->max_entries = i.max_entries;
	out->flags = i.map_flags;
	return 0;
}

int be_freeze(int h)
{
	return um_map_freeze(handles[h]);
}

int be_lookup(int h, const void *key, void *value, uint64_t flags)
{
	return um_map_lookup_elem_flags(handles[h], address(key), address(value), flags);
}

int be_update(int h, const void *key, const void *value, uint64_t flags)
{
	return um_map_update_elem(handles[h], address(key), address(value), flags);
}

int be_delete(int h, const void *key)
{
	return um_map_delete_elem(handles[h], address(key));
}

int be_next(int h, const void *key, void *next)
{
	/* NULL is a key with a meaning here, so it cannot stand for a bad one. */
	if (key && !address(key))
		return BE_SKIP;
	return um_map_get_next_key(handles[h], key, address(next));
}

int be_lookup_delete(int h, const void *key, void *value, uint64_t flags)
{
	return um_map_lookup_and_delete_elem_flags(handles[h], address(key), address(value), flags);
}

int be_batch(int h, enum be_batch_op op, void *in, void *out, void *keys, void *values,
	     uint32_t *count, uint64_t elem_flags, uint64_t flags)
{
	return BE_SKIP;
}

int be_ref(int h, uint32_t *value)
{
	*value = h;
	return 0;
}

int be_id(int h, uint32_t *id)
{
	*id = h;
	return 0;
}

int be_prog_lookup(int h, const void *key, void *value, int cpu)
{
	struct be_info i;
	void *ref;
	int err = be_info(h, &i);

	if (err)
		return err;
	if (cpu >= 0)
		return BE_SKIP;
	err = um_read_lock(handles[h]);
	if (err)
		return err;
	ref = um_map_lookup_ref(handles[h], key);
	if (ref)
		memcpy(value, ref, i.value_size);
	um_read_unlock(handles[h]);
	return ref ? 0 : -ENOENT;
}

int be_prog_update(int h, const void *key, const void *value, uint64_t flags)
{
	return be_update(h, key, value, flags);
}

int be_prog_delete(int h, const void *key)
{
	return be_delete(h, key);
}

struct count {
	uint32_t visited, stop_after;
};

static int count_one(const void *key, void *value, void *ctx)
{
	struct count *c = ctx;

	c->visited++;
	return c->stop_after && c->visited >= c->stop_after;
}

long be_prog_for_each(int h, uint32_t stop_after, uint64_t flags, uint32_t *visited)
{
	struct count c = { .stop_after = stop_after };
	int ret = um_map_for_each_elem(handles[h], count_one, &c, flags);

	*visited = c.visited;
	return ret;
}
