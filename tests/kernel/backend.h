/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * backend.h - the small interface between the script player and what implements
 * the maps: the running kernel (backend_kernel.c) or usermap (backend_usermap.c).
 *
 * Every function returns 0 (or a handle >= 0) on success and -errno on failure.
 * BE_SKIP means "this back end cannot do that": the player then prints SKIP as
 * the answer of the line.
 */
#ifndef ORACLE_BACKEND_H
#define ORACLE_BACKEND_H

#include <stdint.h>

#define BE_SKIP (-100000)

/* same numbers as enum bpf_map_type */
enum be_type {
	BE_HASH = 1,
	BE_ARRAY = 2,
	BE_PERCPU_HASH = 5,
	BE_PERCPU_ARRAY = 6,
	BE_LRU_HASH = 9,
	BE_LRU_PERCPU_HASH = 10,
	BE_HASH_OF_MAPS = 13,
};

struct be_create_args {
	uint32_t type;
	const char *name;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t max_entries;
	uint32_t flags;
	int numa_node; /* only looked at with flag BPF_F_NUMA_NODE (4) */
	int inner;     /* handle of the template map, or a bad fd */
	uint64_t map_extra;
	int has_lock; /* value starts with a 4-byte struct bpf_spin_lock */
};

struct be_info {
	uint32_t type, key_size, value_size, max_entries, flags;
};

enum be_batch_op {
	BE_LOOKUP_BATCH,
	BE_LOOKUP_AND_DELETE_BATCH,
	BE_UPDATE_BATCH,
	BE_DELETE_BATCH,
};

int be_init(void);
int be_ncpus(void); /* possible CPUs: slots in a per-CPU value */

int be_create(const struct be_create_args *a);
int be_close(int h);
int be_info(int h, struct be_info *info);
int be_freeze(int h);

int be_lookup(int h, const void *key, void *value, uint64_t flags);
int be_update(int h, const void *key, const void *value, uint64_t flags);
int be_delete(int h, const void *key);
int be_next(int h, const void *key, void *next); /* key may be NULL */
int be_lookup_delete(int h, const void *key, void *value, uint64_t flags);
int be_batch(int h, enum be_batch_op op, void *in_batch, void *out_batch, void *keys, void *values,
	     uint32_t *count, uint64_t elem_flags, uint64_t flags);

/* map-in-map: what to store to refer to map h, and what a lookup returns */
int be_ref(int h, uint32_t *value);
int be_id(int h, uint32_t *id);

/*
 * Program side: the same operations as a BPF program would do them on the
 * CPU the player is pinned to.  cpu < 0 means the current CPU
 * (bpf_map_lookup_elem), otherwise bpf_map_lookup_percpu_elem.
 * be_prog_lookup copies value_size bytes of the one slot; a NULL return of
 * the helper is reported as -ENOENT.
 */
int be_prog_lookup(int h, const void *key, void *value, int cpu);
int be_prog_update(int h, const void *key, const void *value, uint64_t flags);
int be_prog_delete(int h, const void *key);
/* calls back for every element, stops after `stop_after` calls (0: never);
 * *visited = number of callback runs; returns the helper's return value */
long be_prog_for_each(int h, uint32_t stop_after, uint64_t flags, uint32_t *visited);

#endif
