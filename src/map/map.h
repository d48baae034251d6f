/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* map.h - a handle of a map, and the frame of a writing call. */
#ifndef UM_MAP_H
#define UM_MAP_H

#include <errno.h>
#include "map/htab.h"

struct um_map {
	struct htab htab;
	uint32_t handle_flags; /* BPF_F_RDONLY or BPF_F_WRONLY */
	int32_t closer; /* tid of a thread that closed it in a section of its own */
	struct um_arena arena;
};

/*
 * From here to call_end() this thread may store into the map. -EBUSY: the
 * thread was interrupted where it must not be entered again. -EOWNERDEAD:
 * somebody died in a call, um_htab_recover() first.
 */
static __always_inline int call_begin(struct um_map *map, struct call *c)
{
	struct um_arena *a = &map->arena;
	int err = um_thread_rec(a, &c->rec);
	uint32_t seq;

	if (unlikely(err))
		return err;
	seq = READ_ONCE(c->rec->call_seq);
	c->nested = seq & 1;
	if (unlikely(c->nested))
		return 0;
	WRITE_ONCE(c->rec->call_seq, seq + 1);
	um_light_barrier(a); /* order: recovering [light barrier], see htab_recover.c */
	if (likely(!READ_ONCE(a->hdr->recovering)))
		return 0;
	WRITE_ONCE(c->rec->call_seq, seq + 2);
	return -EOWNERDEAD;
}

static __always_inline void call_end(struct call *c)
{
	if (likely(!c->nested))
		smp_store_release(&c->rec->call_seq, READ_ONCE(c->rec->call_seq) + 1);
}

/* What a failed call came to: counts it; repairs and says "again". */
bool um_map_again(struct um_map *map, const struct call *c, int *err);

/* Still in the call, so that a handler is nested and counts elsewhere. */
static __always_inline void count_refused(struct um_map *map, const struct call *c, int err)
{
	if (err != -E2BIG)
		return;
	if (likely(!c->nested))
		WRITE_ONCE(c->rec->refused, READ_ONCE(c->rec->refused) + 1);
	else
		um_stat_inc(&map->arena, 0, refused);
}

/*
 * Frame of every writer: WRITE_CALL(map, c, err, err = um_htab_...(...));
 * the statement runs again after a repair.
 */
#define WRITE_CALL(map, c, err, statement)            \
	do {                                          \
		(c)->nested = false;                  \
		(err) = call_begin(map, c);           \
		if (likely(!(err))) {                 \
			statement;                    \
			count_refused(map, c, err);   \
			call_end(c);                  \
		}                                     \
	} while (unlikely((err) < 0) && um_map_again(map, c, &(err)))

/* map_open.c */
void um_map_init(struct um_map *map, uint32_t handle_flags, uint32_t lock_timeout_ms);
uint32_t um_map_id(const struct um_arena *a);

static inline bool map_writable(const struct um_map *map)
{
	return !(map->handle_flags & BPF_F_RDONLY);
}

static inline bool map_readable(const struct um_map *map)
{
	return !(map->handle_flags & BPF_F_WRONLY);
}

#endif
