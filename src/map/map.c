/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * map.c - the public calls: check arguments in the kernel's order, note the
 * call in the thread's record, and hand over to htab.c.
 */
#include "map/map.h"

#include <stdlib.h>
#include <sys/mman.h>
#include "base/sys.h"
#include "mem/proc.h"

/* Before "full", processes are looked at this often: one may have died with
 * places in its hand. */
#define DEAD_CHECK_NS 100000000ull

/* ---- the frame of a writing call ---- */

static bool places_of_the_dead(struct um_map *map)
{
	struct um_header *hdr = map->arena.hdr;
	uint64_t now, checked;

	if (!map->arena.shared)
		return false;
	now = sys_clock_ns();
	checked = READ_ONCE(hdr->checked_ns);
	/* of several threads one looks; a clock of before the boot is no clock */
	if (now - checked < DEAD_CHECK_NS || !try_cmpxchg(&hdr->checked_ns, &checked, now))
		return false;
	return um_proc_any_dead(&map->arena);
}

bool um_map_again(struct um_map *map, const struct call *c, int *err)
{
	if (*err == -EOWNERDEAD || (*err == -E2BIG && places_of_the_dead(map))) {
		/* a repair waits for calls, and this thread is still in one */
		int repaired = c->nested ? -EBUSY : um_htab_recover(&map->htab);

		if (!repaired)
			return true;
		if (*err == -EOWNERDEAD)
			*err = repaired;
	}
	switch (*err) {
	case -EBUSY:
		um_stat_inc(&map->arena, here(&map->htab), busy);
		break;
	case -ENOMEM:
		um_stat_inc(&map->arena, here(&map->htab), nomem);
		break;
	case -ETIMEDOUT:
		um_stat_inc(&map->arena, here(&map->htab), timeouts);
		break;
	}
	return false;
}

static inline bool may_write(const struct um_map *map)
{
	return map_writable(map) && likely(!READ_ONCE(map->arena.hdr->frozen));
}

/* ---- look-up ---- */

/*
 * Writers were faster each time. Stop them for once, if this handle can; else
 * go on for a limited time.
 */
static int lookup_contended(struct um_map *map, const void *key, void *value)
{
	uint64_t deadline;
	struct call c;
	int err;

	if (map->arena.writable && !um_self.locks_held && !call_begin(map, &c)) {
		err = um_htab_lookup_locked(&map->htab, &c, key, value);
		call_end(&c);
		if (!err || err == -ENOENT)
			return err;
	}
	deadline = sys_clock_ns() + map->arena.lock_timeout_ms * 1000000ull;
	do {
		sys_yield();
		err = um_htab_lookup(&map->htab, key, value);
	} while (err == -EAGAIN && sys_clock_ns() < deadline);
	return err;
}

int um_map_lookup_elem(struct um_map *map, const void *key, void *value)
{
	int err;

	if (unlikely(!map_readable(map)))
		return -EPERM;
	if (unlikely(!key || !value))
		return -EFAULT;
	err = um_htab_lookup(&map->htab, key, value);
	return likely(err != -EAGAIN) ? err : lookup_contended(map, key, value);
}

int um_map_lookup_elem_flags(struct um_map *map, const void *key, void *value, uint64_t flags)
{
	if (flags & ~(uint64_t)BPF_F_LOCK)
		return -EINVAL;
	if (!map_readable(map))
		return -EPERM;
	return flags ? -EINVAL : um_map_lookup_elem(map, key, value);
}

void *um_map_lookup_ref(struct um_map *map, const void *key)
{
	if (unlikely(map->handle_flags || !key))
		return NULL;
	return um_htab_lookup_ref(&map->htab, key);
}

/* ---- writers ---- */

int um_map_update_elem(struct um_map *map, const void *key, const void *value, uint64_t flags)
{
	struct call c;
	int err;

	if (unlikely(!may_write(map)))
		return -EPERM;
	if (unlikely(flags & BPF_F_LOCK))
		return -EINVAL;
	if (unlikely(!key || !value))
		return -EFAULT;
	if (unlikely(flags > BPF_EXIST))
		return -EINVAL;
	WRITE_CALL(map, &c, err, err = um_htab_update(&map->htab, &c, key, value, flags));
	return err;
}

int um_map_delete_elem(struct um_map *map, const void *key)
{
	struct call c;
	int err;

	if (unlikely(!may_write(map)))
		return -EPERM;
	if (unlikely(!key))
		return -EFAULT;
	WRITE_CALL(map, &c, err, err = um_htab_delete(&map->htab, &c, key, NULL));
	return err;
}

int um_map_lookup_and_delete_elem(struct um_map *map, const void *key, void *value)
{
	struct call c;
	int err;

	if (unlikely(!may_write(map) || !map_readable(map)))
		return -EPERM;
	if (unlikely(!key || !value))
		return -EFAULT;
	WRITE_CALL(map, &c, err, err = um_htab_delete(&map->htab, &c, key, value));
	return err;
}

int um_map_lookup_and_delete_elem_flags(struct um_map *map, const void *key, void *value,
					uint64_t flags)
{
	if (flags & ~(uint64_t)BPF_F_LOCK)
		return -EINVAL;
	if (!may_write(map) || !map_readable(map))
		return -EPERM;
	return flags ? -EINVAL : um_map_lookup_and_delete_elem(map, key, value);
}

int um_map_add_elem(struct um_map *map, const void *key, size_t offset, uint64_t delta)
{
	struct call c;
	int err;

	if (unlikely(!may_write(map)))
		return -EPERM;
	if (unlikely(!key))
		return -EFAULT;
	if (unlikely(offset % 8 || map->htab.value_size < 8 ||
		     offset > map->htab.value_size - 8))
		return -EINVAL;
	WRITE_CALL(map, &c, err, err = um_htab_add(&map->htab, &c, key, offset, delta));
	return err;
}

/* The callback runs between the two halves, outside any call. */
static int upsert(struct um_map *map, const void *key, const void *init,
		  int (*fn)(void *value, void *ctx), void *ctx, void *copy)
{
	const void *value;
	struct seen seen;
	struct call c;
	int err;

	do {
		um_htab_look(&map->htab, key, copy, &seen);
		if (!seen.e && !init)
			return -ENOENT;
		err = seen.e ? fn(copy, ctx) : 0;
		if (err)
			return err;
		value = seen.e ? copy : init;
		WRITE_CALL(map, &c, err,
			   err = um_htab_update_if(&map->htab, &c, key, value, &seen));
	} while (err == -EAGAIN);
	return err ? err : !seen.e;
}

/* Memory that a handler may take, given back at the end of the function. */
struct pages {
	void *at;
	size_t size;
};

static int take_pages(struct pages *p, size_t size)
{
	long at = um_syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at < 0)
		return -ENOMEM;
	*p = (struct pages){ (void *)at, size };
	return 0;
}

static void give_pages(struct pages *p)
{
	if (p->at)
		um_syscall(SYS_munmap, p->at, p->size);
}

int um_map_upsert_elem(struct um_map *map, const void *key, const void *init,
		       int (*fn)(void *value, void *ctx), void *ctx)
{
	__attribute__((cleanup(give_pages))) struct pages large = { NULL, 0 };
	size_t size = map->htab.value_size;
	uint64_t small[128];

	if (!may_write(map) || !map_readable(map))
		return -EPERM;
	if (!key || !fn)
		return -EFAULT;
	if (size > sizeof(small) && take_pages(&large, size))
		return -ENOMEM;
	return upsert(map, key, init, fn, ctx, large.at ? large.at : small);
}

int um_map_freeze(struct um_map *map)
{
	uint32_t thawed = 0;

	if (!map_writable(map) || !try_cmpxchg(&map->arena.hdr->frozen, &thawed, 1u))
		return -EPERM;
	return 0;
}

/* ---- read sections ---- */

int um_read_lock(struct um_map *map)
{
	struct um_rec *rec;
	int err;

	if (unlikely(map->handle_flags))
		return -EPERM;
	err = um_thread_rec(&map->arena, &rec);
	if (unlikely(err))
		return err;
	um_rcu_enter(&map->arena, rec);
	return 0;
}

void um_read_unlock(struct um_map *map)
{
	/* read before the section ends: another thread's close may wait for that */
	bool close = map->closer && map->closer == um_self.tid;
	struct um_rec *rec;

	if (unlikely(um_thread_rec(&map->arena, &rec)))
		return;
	/* a child forked in a section is not in it, but may come here */
	if (unlikely(!rcu_inside(READ_ONCE(rec->section))))
		return;
	close = close && (READ_ONCE(rec->section) & RCU_NESTING) == 1;
	um_rcu_exit(rec);
	if (unlikely(close))
		um_map_close(map);
}

int um_synchronize(struct um_map *map)
{
	uint64_t cookie, deadline;
	struct um_rec *rec, *reader;
	int err, slot, turns;

	if (!map->arena.writable)
		return -EPERM;
	err = um_thread_rec(&map->arena, &rec);
	if (err)
		return err;
	if (um_self.locks_held || (READ_ONCE(rec->call_seq) & 1) ||
	    rcu_inside(READ_ONCE(rec->section)))
		return -EBUSY;
	deadline = sys_clock_ns() + map->arena.lock_timeout_ms * 1000000ull;
	cookie = um_rcu_get_state(&map->arena);
	while (!um_rcu_poll_state(&map->arena, cookie)) {
		if (!um_rcu_advance(&map->arena, &reader))
			continue;
		slot = um_proc_of(&map->arena, reader);
		if (slot >= 0 && !um_proc_alive(&map->arena, (uint32_t)slot)) {
			err = um_htab_recover(&map->htab);
			if (err)
				return err;
		}
		if (sys_clock_ns() >= deadline)
			return -ETIMEDOUT;
		sys_yield();
	}
	/* what waited for those readers is free again; a grace period is two turns,
	 * and one more begins what has gathered since */
	for (turns = 0; turns < 4; turns++)
		if (um_mem_reclaim(&map->htab.mem, here(&map->htab), &reader))
			break;
	return 0;
}

/* ---- walks ---- */

struct um_iter {
	struct um_map *map;
	struct iter_pos pos; /* pos.key is our buffer below */
	bool over;
	uint64_t *scratch; /* room for another key, behind ours */
	uint64_t key[];
};

/* The next entry; if writers are always faster, with locks or for a time. */
static int next_entry(struct um_map *map, const struct iter_pos *pos, struct iter_out *out)
{
	uint64_t deadline;
	struct call c;
	int err;

	if (!map->arena.writable || call_begin(map, &c)) {
		err = um_htab_next(&map->htab, NULL, false, pos, out);
	} else {
		err = um_htab_next(&map->htab, &c, false, pos, out);
		if (err == -EAGAIN)
			err = um_htab_next(&map->htab, &c, true, pos, out);
		call_end(&c);
	}
	if (likely(!err || err == -ENOENT))
		return err;
	deadline = sys_clock_ns() + map->arena.lock_timeout_ms * 1000000ull;
	do {
		sys_yield();
		err = um_htab_next(&map->htab, NULL, false, pos, out);
	} while (err == -EAGAIN && sys_clock_ns() < deadline);
	return err;
}

/* @key is gone, or was never there: start over. */
static void position_at(struct um_map *map, const void *key, struct iter_pos *pos)
{
	struct htab *h = &map->htab;

	pos->key = key;
	pos->started = key && um_htab_lookup_ref(h, key);
	if (pos->started)
		pos->hash = hash_key(key, h->key_size, h->seed);
}

int um_map_get_next_key(struct um_map *map, const void *key, void *next_key)
{
	__attribute__((cleanup(give_pages))) struct pages large = { NULL, 0 };
	uint32_t size = map->htab.key_size;
	struct iter_out out = { .key = next_key };
	struct iter_pos pos = { .started = false };
	uint64_t small[64];

	if (!map_readable(map))
		return -EPERM;
	if (!next_key)
		return -EFAULT;
	if (key == next_key && size <= sizeof(small)) {
		key = memcpy(small, key, size);
	} else if (key == next_key) {
		if (take_pages(&large, size))
			return -ENOMEM;
		key = memcpy(large.at, key, size);
	}
	position_at(map, key, &pos);
	return next_entry(map, &pos, &out);
}

int um_iter_open(struct um_map *map, struct um_iter **it)
{
	KEEP_ERRNO;
	struct um_iter *new;

	if (!map_readable(map))
		return -EPERM;
	if (!it)
		return -EFAULT;
	new = calloc(1, sizeof(*new) + 2 * (size_t)round_up(map->htab.key_size, 8u));
	if (!new)
		return -ENOMEM;
	new->map = map;
	new->scratch = new->key + round_up(map->htab.key_size, 8u) / 8;
	new->pos.key = new->key;
	*it = new;
	return 0;
}

static int iter_step(struct um_iter *it, struct iter_out *out)
{
	int err = it->over ? -ENOENT : next_entry(it->map, &it->pos, out);

	if (err) {
		it->over = err == -ENOENT;
		return err;
	}
	memcpy(it->key, out->key, it->map->htab.key_size);
	it->pos.hash = out->hash;
	it->pos.started = true;
	return 0;
}

int um_iter_next(struct um_iter *it, void *key, void *value)
{
	struct iter_out out = { .key = key, .value = value };

	return key ? iter_step(it, &out) : -EFAULT;
}

void um_iter_close(struct um_iter *it)
{
	free(it);
}

int um_map_for_each_elem(struct um_map *map, int (*fn)(const void *key, void *value, void *ctx),
			 void *ctx, uint64_t flags)
{
	struct iter_out out = { .key = NULL };
	struct um_iter *it;
	int err, calls = 0;

	if (flags)
		return -EINVAL;
	if (!fn)
		return -EFAULT;
	err = um_iter_open(map, &it);
	if (err)
		return err;
	out.key = it->scratch;
	err = um_read_lock(map);
	if (err)
		goto close;
	while (!(err = iter_step(it, &out))) {
		calls++;
		if (fn(out.key, out.ref, ctx))
			break;
	}
	um_read_unlock(map);
close:
	um_iter_close(it);
	return err && err != -ENOENT ? err : calls;
}

/* ---- what it is, and what happened ---- */

int um_map_get_info(const struct um_map *map, struct um_map_info *info)
{
	const struct um_header *hdr = map->arena.hdr;
	const struct um_params *p = &map->arena.params;
	struct um_map_info i = {
		.type = p->type,
		.id = um_map_id(&map->arena),
		.key_size = p->key_size,
		.value_size = p->value_size,
		.max_entries = p->max_entries,
		.map_flags = p->map_flags,
		.um_flags = p->um_flags,
		.nr_cpus = p->nr_cpus,
		.frozen = READ_ONCE(hdr->frozen) != 0,
		.read_only = !map_writable(map),
		.creator_pid = hdr->creator_pid,
		.memory_used = READ_ONCE(hdr->committed),
		.memory_max = map->arena.size,
	};

	if (!info)
		return -EFAULT;
	if (info->sz < sizeof(info->sz))
		return -EINVAL;
	i.sz = info->sz;
	memcpy(i.name, hdr->name, sizeof(i.name));
	i.name[sizeof(i.name) - 1] = 0;
	memcpy(info, &i, min(info->sz, sizeof(i)));
	return 0;
}

int um_map_get_stats(const struct um_map *map, struct um_map_stats *stats)
{
	const struct um_arena *a = &map->arena;
	uint64_t free = min(um_tokens_sum(&map->htab.tokens), (uint64_t)a->params.max_entries);
	struct um_map_stats s = {
		.count = a->params.max_entries - free,
		.waiting = um_mem_waiting(&map->htab.mem),
		.recoveries = READ_ONCE(a->hdr->recoveries),
	};
	const struct um_rec *rec;
	uint32_t cpu, b;

	if (!stats)
		return -EFAULT;
	if (stats->sz < sizeof(stats->sz))
		return -EINVAL;
	for (cpu = 0; cpu < a->params.nr_cpus; cpu++) {
		const struct um_percpu *p = &a->percpu[cpu];

		s.refused += READ_ONCE(p->refused);
		s.busy += READ_ONCE(p->busy);
		s.nomem += READ_ONCE(p->nomem);
		s.lock_waits += READ_ONCE(p->lock_waits);
		s.timeouts += READ_ONCE(p->timeouts);
	}
	for (b = 0; b < um_nr_blocks(a); b++)
		for_each_rec_of(a, b, rec)
			s.refused += READ_ONCE(rec->refused);
	s.sz = stats->sz;
	memcpy(stats, &s, min(stats->sz, sizeof(s)));
	return 0;
}
