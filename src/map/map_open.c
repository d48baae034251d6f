/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* map_open.c - create, open, close, and what a map costs. */
#include "map/map.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cpu.h"
#include "base/sys.h"
#include "mem/proc.h"

#define DEFAULT_DIR "/dev/shm/usermap"
#define DEFAULT_TIMEOUT_MS 1000
#define BPF_NUMA_NO_NODE (-1)
/* The last type of Linux 6.18; what lies above is unknown, not just missing. */
#define LAST_KNOWN_TYPE 34
/* Key and value: what the kernel's allocator leaves of 4 MiB. */
#define MAX_ELEM_SIZE ((4u << 20) - 48)

#define HASH_FLAGS                                                                             \
	(BPF_F_NO_PREALLOC | BPF_F_NUMA_NODE | BPF_F_RDONLY | BPF_F_WRONLY | BPF_F_ZERO_SEED | \
	 BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG)

/* ---- options ---- */

/* Copy a sized struct: what the caller lacks is zero, what we lack must be. */
static int copy_opts(void *to, size_t size, const void *from, size_t from_size)
{
	const char *c = from;
	size_t i;

	memset(to, 0, size);
	for (i = size; i < from_size; i++)
		if (c[i])
			return -E2BIG;
	memcpy(to, from, min(size, from_size));
	return 0;
}

static bool node_online(int node)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", node);
	return node == BPF_NUMA_NO_NODE || (node >= 0 && access(path, F_OK) == 0) ||
	       (node == 0 && access("/sys/devices/system/node", F_OK) != 0);
}

static bool name_valid(const char *name)
{
	size_t i;

	for (i = 0; name && name[i]; i++)
		if (i + 1 == UM_NAME_LEN ||
		    !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.",
			    name[i]))
			return false;
	return true;
}

/* In the kernel's order: the first check that fails gives the answer. */
static int check_create(enum bpf_map_type type, const char *name, uint32_t key_size,
			uint32_t value_size, uint32_t max_entries, const struct um_map_opts *o)
{
	uint32_t flags = o->map_flags;

	if (o->map_extra || (flags & (BPF_F_RDONLY | BPF_F_WRONLY)) == (BPF_F_RDONLY | BPF_F_WRONLY))
		return -EINVAL;
	if ((flags & BPF_F_NUMA_NODE) && !node_online(o->numa_node))
		return -EINVAL;
	if ((int)type <= 0 || type > LAST_KNOWN_TYPE)
		return -EINVAL;
	if (type != BPF_MAP_TYPE_HASH)
		return -UM_ENOTSUPP;
	if ((flags & ~HASH_FLAGS) ||
	    (flags & (BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG)) ==
		    (BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG))
		return -EINVAL;
	if (!max_entries || !key_size || !value_size)
		return -EINVAL;
	if ((uint64_t)key_size + value_size >= MAX_ELEM_SIZE || max_entries > UM_MAX_ENTRIES)
		return -E2BIG;
	if (!name_valid(name))
		return -EINVAL;
	/* usermap's own */
	if (o->um_flags & ~(UM_F_MEMFD | UM_F_REUSE) || o->nr_cpus > UM_MAX_CPUS ||
	    ((o->um_flags & UM_F_MEMFD) && o->path))
		return -EINVAL;
	return (uint64_t)o->spares + max_entries > UM_MAX_ELEMS ? -E2BIG : 0;
}

static uint32_t default_spares(uint32_t max_entries, uint32_t nr_cpus)
{
	return min(max(1024u, max_entries / 8), max_entries + 8 * nr_cpus);
}

/* Everything that geometry depends on, seeds left out. */
static int make_params(enum bpf_map_type type, const char *name, uint32_t key_size,
		       uint32_t value_size, uint32_t max_entries, const struct um_map_opts *opts,
		       struct um_map_opts *o, struct um_params *p)
{
	int err;

	memset(o, 0, sizeof(*o));
	if (opts && opts->sz < sizeof(opts->sz))
		return -EINVAL;
	err = opts ? copy_opts(o, sizeof(*o), opts, opts->sz) : 0;
	if (!err)
		err = check_create(type, name, key_size, value_size, max_entries, o);
	if (err)
		return err;
	*p = (struct um_params){
		.type = type,
		.key_size = key_size,
		.value_size = value_size,
		.max_entries = max_entries,
		.map_flags = o->map_flags & ~(BPF_F_RDONLY | BPF_F_WRONLY),
		.um_flags = o->um_flags,
		.nr_cpus = o->nr_cpus ? o->nr_cpus :
					(uint32_t)min(um_possible_cpus(), UM_MAX_CPUS),
		.hash_id = UM_HASH_ID,
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE),
	};
	p->spares = o->spares ? o->spares : default_spares(max_entries, p->nr_cpus);
	return 0;
}

static int make_seed(struct um_params *p)
{
	if (p->map_flags & BPF_F_ZERO_SEED)
		return 0;
	return um_syscall(SYS_getrandom, p->seed, sizeof(p->seed), 0) == sizeof(p->seed) ? 0 : -EIO;
}

int um_map_price(enum bpf_map_type type, const char *name, uint32_t key_size, uint32_t value_size,
		 uint32_t max_entries, const struct um_map_opts *opts, uint64_t *empty,
		 uint64_t *full)
{
	KEEP_ERRNO;
	struct um_geometry g;
	struct um_map_opts o;
	struct um_params p;
	int err = make_params(type, name, key_size, value_size, max_entries, opts, &o, &p);

	if (err)
		return err;
	um_geometry_compute(&p, &g);
	if (empty)
		*empty = um_geometry_empty(&p, &g);
	if (full)
		*full = g.size;
	return 0;
}

/* ---- paths ---- */

int um_map_dir(char *buf, size_t size)
{
	const char *dir = getenv("USERMAP_DIR");
	size_t len;

	if (!dir || !*dir)
		dir = DEFAULT_DIR;
	len = strlen(dir);
	if (len > INT_MAX || (buf && len >= size))
		return -ENAMETOOLONG;
	if (buf)
		memcpy(buf, dir, len + 1);
	return (int)len;
}

/* A name without '/' stands in the directory, which is made if @make. */
static int resolve(const char *path, bool make, char buf[PATH_MAX])
{
	int len;

	if (!*path)
		return -ENOENT;
	if (strchr(path, '/')) {
		if (strlen(path) >= PATH_MAX)
			return -ENAMETOOLONG;
		strcpy(buf, path);
		return 0;
	}
	len = um_map_dir(buf, PATH_MAX);
	if (len < 0)
		return len;
	if (make && um_syscall(SYS_mkdirat, AT_FDCWD, buf, 0700) == -EACCES)
		return -EACCES;
	if ((size_t)len + 1 + strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	buf[len] = '/';
	strcpy(buf + len + 1, path);
	return 0;
}

/* ---- handles ---- */

/* A wait for a stopped process may take this long, whatever the handle says. */
#define JOIN_TIMEOUT_NS 2000000000ull

/*
 * Become one of the processes of a map, repairing what dead ones left. Nobody
 * may join during a repair, so it is done under the recovery lock.
 */
static int join(struct um_map *map)
{
	struct um_arena *a = &map->arena;
	int err, token, tries;

	a->lock_page = NULL;
	a->slot = a->shared ? UM_NO_SLOT : 0;
	for (tries = 0; tries < 8; tries++) {
		if (READ_ONCE(a->hdr->recovering) || (a->shared && um_proc_any_dead(a))) {
			err = um_htab_recover(&map->htab);
			if (err)
				return err;
		}
		token = um_recovery_lock(a, JOIN_TIMEOUT_NS);
		if (token < 0)
			return token;
		err = um_proc_join(a);
		um_recovery_unlock(a, token);
		if (err != -EAGAIN)
			return err;
	}
	return -ETIMEDOUT;
}

/*
 * The first call of a forked child on a map of its parent's. A shared one is
 * joined; a private one is a copy, made while the parent's other threads may
 * have been in the middle of a call.
 */
static int reattach(struct um_arena *a)
{
	KEEP_ERRNO;
	struct um_map *map = (struct um_map *)((char *)a - offsetof(struct um_map, arena));
	static uint32_t attaching; /* generation of the process that does it */
	uint32_t gen = READ_ONCE(um_fork_page->gen), holder = 0;
	int err = 0;

	while (!try_cmpxchg(&attaching, &holder, gen)) {
		if (holder && holder != gen && try_cmpxchg(&attaching, &holder, gen))
			break; /* it was held in the parent, at the fork */
		holder = 0;
		sys_yield();
	}
	if (READ_ONCE(a->gen) != gen) {
		err = a->shared ? join(map) : um_htab_recover_forked(&map->htab);
		if (!err)
			um_thread_attach(a);
		else if (err != -EBUSY && err != -ENOMEM && err != -ETIMEDOUT && err != -EUSERS)
			err = -ENOTRECOVERABLE;
	}
	smp_store_release(&attaching, 0);
	return err;
}

void um_map_init(struct um_map *map, uint32_t handle_flags, uint32_t lock_timeout_ms)
{
	struct um_arena *a = &map->arena;
	const struct um_geometry *g = &a->geo;
	struct htab *h = &map->htab;

	a->lock_timeout_ms = lock_timeout_ms ? lock_timeout_ms : DEFAULT_TIMEOUT_MS;
	map->handle_flags = handle_flags & (BPF_F_RDONLY | BPF_F_WRONLY);
	*h = (struct htab){
		.a = a,
		.buckets = (struct bucket *)(a->base + g->buckets),
		.overflow = (struct bucket *)(a->base + g->overflow) - 1,
		.elems = a->base + g->elems - g->stride,
		.stride = g->stride,
		.value_off = g->value_off,
		.key_size = a->params.key_size,
		.value_size = a->params.value_size,
		.nr_buckets = g->nr_buckets,
		.nr_elems = g->nr_elems,
		.nr_overflow = g->nr_overflow,
		.one_word = a->params.value_size <= 8,
		.reuse = a->params.um_flags & UM_F_REUSE,
		.seed = { a->params.seed[0], a->params.seed[1] },
		.occupancy = (uint64_t *)(a->base + g->occupancy),
		.tokens = { .percpu = a->percpu,
			    .top = (uint64_t *)(a->base + g->token_map),
			    .groups = (uint64_t *)(a->base + g->token_map + 64),
			    .nr_cpus = a->params.nr_cpus },
	};
	h->overflow_links = (struct um_links){ (char *)h->overflow +
						       offsetof(struct bucket, free_link),
					       sizeof(struct bucket), g->nr_overflow };
	um_mem_init(&h->mem, a);
	um_arena_reattach = reattach;
}

static struct um_map *new_handle(int *err)
{
	struct um_map *map;

	*err = um_thread_init();
	if (*err)
		return NULL;
	map = aligned_alloc(64, round_up(sizeof(*map), (size_t)64));
	if (!map) {
		*err = -ENOMEM;
		return NULL;
	}
	memset(map, 0, sizeof(*map));
	map->arena.fd = -1;
	return map;
}

static int attach(struct um_map *map)
{
	int err = um_thread_start();

	if (err)
		return err;
	err = join(map);
	if (!err)
		um_thread_attach(&map->arena);
	return err;
}

int um_map_create(enum bpf_map_type type, const char *name, uint32_t key_size, uint32_t value_size,
		  uint32_t max_entries, const struct um_map_opts *opts, struct um_map **map)
{
	KEEP_ERRNO;
	char path[PATH_MAX], *file = NULL;
	struct um_params p;
	struct um_map_opts o;
	struct um_map *new;
	int err = make_params(type, name, key_size, value_size, max_entries, opts, &o, &p);

	if (!err && !map)
		err = -EFAULT;
	if (!err && o.path) {
		file = path;
		err = resolve(o.path, true, path);
		if (!err && access(path, F_OK) == 0)
			err = -EEXIST;
	}
	if (!err)
		err = make_seed(&p);
	if (err)
		return err;
	new = new_handle(&err);
	if (!new)
		return err;
	err = um_arena_create(&new->arena, &p, name, file,
			      o.map_flags & BPF_F_NUMA_NODE ? o.numa_node : BPF_NUMA_NO_NODE);
	if (err)
		goto free;
	um_map_init(new, o.map_flags, o.lock_timeout_ms);
	um_tokens_reset(&new->htab.tokens, max_entries);
	err = attach(new);
	if (err)
		goto unmap;
	if (file) {
		err = um_arena_publish(&new->arena, file);
		if (err)
			goto leave;
	}
	*map = new;
	return 0;
leave:
	um_proc_leave(&new->arena);
unmap:
	um_arena_abandon(&new->arena, file);
	um_arena_unmap(&new->arena);
free:
	free(new);
	return err;
}

/* @fd becomes the map's, or is closed. */
static int open_fd(int fd, const struct um_open_opts *o, struct um_map **map)
{
	struct um_map *new;
	int err;

	new = new_handle(&err);
	if (!new)
		goto close;
	err = um_arena_open(&new->arena, fd, !(o->map_flags & BPF_F_RDONLY));
	if (err)
		goto free;
	um_map_init(new, o->map_flags, o->lock_timeout_ms);
	if (new->arena.writable)
		err = attach(new);
	if (!err) {
		*map = new;
		return 0;
	}
	um_arena_unmap(&new->arena);
	fd = -1;
free:
	free(new);
close:
	if (fd >= 0)
		um_syscall(SYS_close, fd);
	return err;
}

static int open_opts(const struct um_open_opts *opts, struct um_open_opts *o, struct um_map **map)
{
	int err = 0;

	memset(o, 0, sizeof(*o));
	if (opts && opts->sz < sizeof(opts->sz))
		return -EINVAL;
	if (opts)
		err = copy_opts(o, sizeof(*o), opts, opts->sz);
	if (err)
		return err;
	if (o->map_flags & ~(BPF_F_RDONLY | BPF_F_WRONLY) ||
	    o->map_flags == (BPF_F_RDONLY | BPF_F_WRONLY))
		return -EINVAL;
	return map ? 0 : -EFAULT;
}

static int open_path(const char *path, uint32_t map_flags)
{
	/* O_NONBLOCK: a pipe of that name must not hold us up */
	int fd = (int)um_syscall(SYS_openat, AT_FDCWD, path,
				 (map_flags & BPF_F_RDONLY ? O_RDONLY : O_RDWR) | O_CLOEXEC |
					 O_NONBLOCK | O_NOCTTY);

	return fd == -EISDIR || fd == -ENXIO || fd == -ENODEV ? -EMEDIUMTYPE : fd;
}

int um_map_open(const char *path, const struct um_open_opts *opts, struct um_map **map)
{
	KEEP_ERRNO;
	char buf[PATH_MAX];
	struct um_open_opts o;
	int err = open_opts(opts, &o, map), fd;

	if (!err)
		err = path ? resolve(path, false, buf) : -EFAULT;
	if (err)
		return err;
	fd = open_path(buf, o.map_flags);
	return fd < 0 ? fd : open_fd(fd, &o, map);
}

int um_map_open_fd(int fd, const struct um_open_opts *opts, struct um_map **map)
{
	KEEP_ERRNO;
	char path[64];
	struct um_open_opts o;
	int err = open_opts(opts, &o, map), own;

	if (err)
		return err;
	if (um_syscall(SYS_fcntl, fd, F_GETFD) < 0)
		return -EBADF;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open_path(path, o.map_flags);
	return own < 0 ? own : open_fd(own, &o, map);
}

int um_map_fd(const struct um_map *map)
{
	return map->arena.fd >= 0 ? map->arena.fd : -EBADF;
}

uint32_t um_map_id(const struct um_arena *a)
{
	uint32_t id = (uint32_t)a->ino;

	if (a->fd < 0)
		return 0;
	return id ? id : 1;
}

int um_map_unlink(const char *path)
{
	KEEP_ERRNO;
	struct um_open_opts o = { .sz = sizeof(o), .map_flags = BPF_F_RDONLY };
	char buf[PATH_MAX];
	uint64_t magic = 0;
	int err, fd;

	err = path ? resolve(path, false, buf) : -EFAULT;
	if (err)
		return err;
	fd = open_path(buf, o.map_flags);
	if (fd < 0)
		return fd;
	/* a damaged map may go, another file may not */
	um_syscall(SYS_pread64, fd, &magic, sizeof(magic), 0);
	um_syscall(SYS_close, fd);
	if (magic != UM_MAGIC && magic != __builtin_bswap64(UM_MAGIC))
		return -EMEDIUMTYPE;
	return (int)um_syscall(SYS_unlinkat, AT_FDCWD, buf, 0);
}

/* ---- close ---- */

/* Threads of this process in a section of this map, but for this one. */
static void wait_for_sections(struct um_arena *a, const struct um_rec *self)
{
	struct um_rec *rec;
	uint32_t i, turns;

	um_heavy_barrier(a); /* order: rcu-enter [heavy barrier] */
	for (i = 0; i < UM_NR_BLOCKS; i++) {
		if (!a->my_blocks[i])
			continue;
		for_each_rec_of(a, a->my_blocks[i] - 1, rec)
			for (turns = 0; rec != self && rcu_inside(smp_load_acquire(&rec->section)) &&
					sys_thread_alive(READ_ONCE(rec->tid));
			     turns++)
				if (turns < 100)
					sys_yield();
				else
					sys_sleep_ns(100000);
	}
}

void um_map_close(struct um_map *map)
{
	KEEP_ERRNO;
	struct um_rec *self = NULL;
	struct um_arena *a;

	if (!map)
		return;
	a = &map->arena;
	/* in a forked child that never used it, nothing in it is ours */
	if (a->writable && a->gen == READ_ONCE(um_fork_page->gen)) {
		if (um_self.gen == a->gen && a->my_blocks[um_self.no / UM_BLOCK_RECS])
			um_thread_rec(a, &self);
		if (self && rcu_inside(READ_ONCE(self->section))) {
			map->closer = um_self.tid;
			return;
		}
		wait_for_sections(a, self);
		um_thread_detach(a);
		um_proc_leave(a);
	}
	um_arena_unmap(a);
	free(map);
}
