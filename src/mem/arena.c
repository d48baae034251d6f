/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* arena.c - make, open, check, commit and give up an arena. */
#include "mem/arena.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/sys.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#define MPOL_PREFERRED 1

#define LARGE (64u << 20)

#if defined(__x86_64__)
#define UM_MACHINE EM_X86_64
#else
#define UM_MACHINE EM_AARCH64
#endif

_Static_assert(sizeof(struct um_header) <= 4096, "the header is one page");
_Static_assert(sizeof(struct um_percpu) == 128, "two lines a CPU");
_Static_assert(sizeof(struct um_rec) == 128, "a record has its lines to itself");

/* ---- geometry ---- */

/* Overflow buckets a preallocated map has at once: about twice the 6.7 % of
 * its buckets that overflow when it is full. */
static uint32_t prealloc_overflow(const struct um_geometry *g)
{
	return min(g->nr_overflow, g->nr_buckets / 8 + 1);
}

void um_geometry_compute(const struct um_params *p, struct um_geometry *g)
{
	uint64_t page = max(p->page_size, 4096u), off = 4096;

	memset(g, 0, sizeof(*g));
	/* 6.5 of a bucket's 10 slots are taken when the map is full */
	g->nr_buckets = (uint32_t)(((uint64_t)p->max_entries * 2 + 12) / 13);
	g->nr_overflow = p->max_entries;
	g->nr_elems = p->max_entries + p->spares;
	if (p->key_size <= 4 && p->value_size <= 4) {
		g->value_off = 4;
		g->stride = 8;
	} else {
		g->value_off = round_up(p->key_size, 8u);
		g->stride = g->value_off + round_up(p->value_size, 8u);
	}

	g->blocks = off;
	off += sizeof(struct um_block) * UM_NR_BLOCKS;
	g->procs = off;
	off += sizeof(struct um_proc) * UM_MAX_PROCS;
	g->percpu = off;
	off += sizeof(struct um_percpu) * p->nr_cpus;
	g->token_map = off;
	off += 64 + round_up(round_up(p->nr_cpus, 32u) / 32 * 8, 64u);
	g->free_map = off;
	off += round_up(round_up(p->nr_cpus, 64u) / 64 * 8, 64u);
	g->occupancy = off;
	off += round_up(round_up((uint64_t)g->nr_buckets, 64) / 64 * 8, 64);
	g->buckets = off;
	off += 64 * (uint64_t)g->nr_buckets;
	g->fixed_end = off = round_up(off, page);

	g->overflow = off;
	off = round_up(off + 64 * (uint64_t)g->nr_overflow, page);
	g->links = off;
	off = round_up(off + 4 * (uint64_t)g->nr_elems, page);
	g->elems = off;
	off = round_up(off + (uint64_t)g->stride * g->nr_elems, page);
	g->records = off;
	off += sizeof(struct um_rec) * UM_MAX_THREADS;
	g->size = round_up(off, page);
}

static bool prealloc(const struct um_params *p)
{
	return !(p->map_flags & BPF_F_NO_PREALLOC);
}

uint64_t um_geometry_empty(const struct um_params *p, const struct um_geometry *g)
{
	uint64_t page = max(p->page_size, 4096u), bytes = g->fixed_end;

	if (prealloc(p))
		bytes += g->records - g->links + round_up(64ull * prealloc_overflow(g), page);
	return bytes;
}

/* ---- commit ---- */

static int commit_file(struct um_arena *a, uint64_t offset, uint64_t len)
{
	long err = um_syscall(SYS_madvise, a->base + offset, len, MADV_POPULATE_WRITE);

	if (err == -EINVAL) { /* before Linux 5.14 */
		if (!um_arena_fd_valid(a))
			return -EBADF;
		err = um_syscall(SYS_fallocate, a->fd, 0, offset, len);
	}
	/* -EFAULT stands for the SIGBUS that touching the page would raise */
	return err == -EFAULT ? -ENOSPC : (int)err;
}

int um_arena_commit(struct um_arena *a, uint64_t offset, uint64_t len)
{
	uint64_t page = max(a->params.page_size, 4096u);
	uint64_t from = offset / page * page, to = round_up(offset + len, page);
	int err;

	if (a->fd >= 0)
		err = commit_file(a, from, to - from);
	else
		err = (int)um_syscall(SYS_mprotect, a->base + from, to - from,
				      PROT_READ | PROT_WRITE);
	return err;
}

/* ---- create ---- */

static void read_boot_id(uint8_t id[16])
{
	char text[64] = "";
	long fd = um_syscall(SYS_openat, AT_FDCWD, "/proc/sys/kernel/random/boot_id",
			     O_RDONLY | O_CLOEXEC);
	const char *c = text;
	int i;

	memset(id, 0, 16);
	if (fd < 0)
		return;
	um_syscall(SYS_read, fd, text, sizeof(text) - 1);
	um_syscall(SYS_close, fd);
	for (i = 0; i < 16; i++, c += 2) {
		unsigned int byte;

		c += *c == '-';
		if (sscanf(c, "%2x", &byte) != 1)
			return;
		id[i] = (uint8_t)byte;
	}
}

/* Where a file system has no unnamed files: a name, to be linked and removed. */
static int temporary_name(char *buf, const char *path)
{
	int n = snprintf(buf, PATH_MAX, "%s.%d.new", path, (int)getpid());

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int open_named(struct um_arena *a, const char *path)
{
	char buf[PATH_MAX];
	int fd = temporary_name(buf, path);

	if (!fd)
		fd = (int)um_syscall(SYS_openat, AT_FDCWD, buf,
				     O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	a->named = fd >= 0;
	return fd;
}

static int open_unnamed(struct um_arena *a, const char *path)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)max(slash - path, (ptrdiff_t)1) : 1;
	long fd;

	if (strlen(path) >= sizeof(dir))
		return -ENAMETOOLONG;
	memcpy(dir, slash ? path : ".", len);
	dir[len] = 0;
	fd = um_syscall(SYS_openat, AT_FDCWD, dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd == -EOPNOTSUPP || fd == -EISDIR ? open_named(a, path) : (int)fd;
}

/* Ours alone: another file of that name was there before us, and stays. */
void um_arena_abandon(const struct um_arena *a, const char *path)
{
	char buf[PATH_MAX];

	if (a->named && temporary_name(buf, path) == 0)
		um_syscall(SYS_unlinkat, AT_FDCWD, buf, 0);
}

int um_arena_publish(struct um_arena *a, const char *path)
{
	char from[PATH_MAX];
	long err;

	if (a->named)
		temporary_name(from, path);
	else
		snprintf(from, sizeof(from), "/proc/self/fd/%d", a->fd);
	err = um_syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, path,
			 a->named ? 0 : AT_SYMLINK_FOLLOW);
	um_arena_abandon(a, path);
	a->named = false;
	return (int)err;
}

/* A file of the whole size, all holes; SIGXFSZ is avoided, not met. */
static int size_file(int fd, uint64_t size)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    size > limit.rlim_cur)
		return -EFBIG;
	return (int)um_syscall(SYS_ftruncate, fd, size);
}

static int open_backing(struct um_arena *a, const char *name, const char *path)
{
	int fd, err;

	if (path)
		fd = open_unnamed(a, path);
	else
		fd = (int)um_syscall(SYS_memfd_create, name ? name : "usermap",
				     MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return fd;
	err = size_file(fd, a->size);
	/* a cut of the file would be a SIGBUS in every process that has it */
	if (!err && !path)
		err = (int)um_syscall(SYS_fcntl, fd, F_ADD_SEALS,
				      F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	if (err) {
		um_arena_abandon(a, path);
		um_syscall(SYS_close, fd);
		return err;
	}
	return fd;
}

static void remember_file(struct um_arena *a)
{
	struct stat st;

	if (fstat(a->fd, &st) == 0) {
		a->dev = st.st_dev;
		a->ino = st.st_ino;
	}
}

static int map_range(struct um_arena *a, int prot, int flags)
{
	/* no MAP_NORESERVE: what a commit takes is to count */
	void *base = mmap(NULL, a->size, prot, flags, a->fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	/* a crashing process holds its byte lock until its core is written */
	if (a->shared)
		madvise(base, a->size, MADV_DONTDUMP);
	a->base = base;
	return 0;
}

static void set_pointers(struct um_arena *a)
{
	a->hdr = (void *)a->base;
	a->blocks = (void *)(a->base + a->geo.blocks);
	a->records = (void *)(a->base + a->geo.records);
	a->percpu = (void *)(a->base + a->geo.percpu);
}

static void fill_header(struct um_arena *a, const char *name)
{
	struct um_header *h = a->hdr;

	h->byte_order = UM_BYTE_ORDER;
	h->layout = UM_LAYOUT;
	h->machine = UM_MACHINE;
	h->reader_mode = a->fence_mode ? UM_READERS_FENCE : UM_READERS_MEMBARRIER;
	h->creator_pid = getpid();
	read_boot_id(h->boot_id);
	if (name)
		memcpy(h->name, name, strlen(name));
	h->params = a->params;
	h->geo = a->geo;
	h->gp_seq = 1;
	h->elem_fresh = h->ovf_fresh = 1;
	h->magic = UM_MAGIC;
}

/* MemAvailable of /proc/meminfo in bytes; no limit where it cannot be read. */
static uint64_t memory_available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib, all = UINT64_MAX;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
			all = kib << 10;
	if (f)
		fclose(f);
	return all;
}

/*
 * Taking memory that is not there does not fail, it brings the system's
 * out-of-memory killer, and a tmpfs may promise more than there is. So ask
 * first for what is large.
 */
static int room_for(const struct um_arena *a, uint64_t bytes)
{
	struct statfs fs;

	if (a->fd < 0 || bytes < LARGE)
		return 0;
	if (fstatfs(a->fd, &fs) == 0) {
		/* a tmpfs without limit says 0 blocks */
		if (fs.f_blocks && bytes / (uint64_t)fs.f_bsize > fs.f_bavail)
			return -ENOSPC;
		if (fs.f_type != TMPFS_MAGIC)
			return 0;
	}
	return bytes > memory_available() ? -ENOMEM : 0;
}

static int commit_new(struct um_arena *a)
{
	const struct um_geometry *g = &a->geo;
	int err = room_for(a, um_geometry_empty(&a->params, g));

	if (!err)
		err = um_arena_commit(a, 0, g->fixed_end);
	if (!err && prealloc(&a->params)) {
		err = um_arena_commit(a, g->links, g->records - g->links);
		if (!err)
			err = um_arena_commit(a, g->overflow, 64ull * prealloc_overflow(g));
	}
	return err;
}

int um_arena_create(struct um_arena *a, const struct um_params *p, const char *name,
		    const char *path, int numa_node)
{
	bool file = path || (p->um_flags & UM_F_MEMFD);
	unsigned long nodes[1024 / (8 * sizeof(long))] = { 0 };
	int err;

	a->params = *p;
	um_geometry_compute(p, &a->geo);
	a->size = a->geo.size;
	a->writable = true;
	a->shared = file;
	a->fence_mode = sys_membarrier_register() != 0;
	a->fd = -1;
	if (file) {
		a->fd = open_backing(a, name, path);
		if (a->fd < 0)
			return a->fd;
		remember_file(a);
	}
	err = file ? map_range(a, PROT_READ | PROT_WRITE, MAP_SHARED) :
		     map_range(a, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS);
	if (err)
		goto close;
	if (numa_node >= 0 && numa_node < 1024) {
		nodes[numa_node / (8 * sizeof(long))] = 1ul << numa_node % (8 * sizeof(long));
		um_syscall(SYS_mbind, a->base, a->size, MPOL_PREFERRED, nodes, 1024, 0);
	}
	set_pointers(a);
	err = commit_new(a);
	if (err)
		goto unmap;
	fill_header(a, name);
	a->hdr->committed = um_geometry_empty(p, &a->geo);
	if (prealloc(p)) {
		a->hdr->elem_committed = a->geo.nr_elems;
		a->hdr->ovf_committed = prealloc_overflow(&a->geo);
	}
	return 0;
unmap:
	munmap(a->base, a->size);
close:
	um_arena_abandon(a, path);
	if (a->fd >= 0)
		um_syscall(SYS_close, a->fd);
	return err;
}

/* ---- open ---- */

/* Is this the header of a map that this library on this machine can use? */
static int check_identity(const struct um_header *h, size_t got)
{
	uint8_t boot[16], none[16] = { 0 };

	if (got < sizeof(h->magic) ||
	    (h->magic != UM_MAGIC && h->magic != __builtin_bswap64(UM_MAGIC)))
		return -EMEDIUMTYPE;
	if (got < sizeof(*h))
		return -ENODATA;
	if (h->magic != UM_MAGIC || h->byte_order != UM_BYTE_ORDER || h->machine != UM_MACHINE)
		return -ENOEXEC;
	if (h->layout != UM_LAYOUT || h->incompat || h->params.hash_id != UM_HASH_ID)
		return -EPROTONOSUPPORT;
	if (h->params.page_size != (uint32_t)sysconf(_SC_PAGESIZE))
		return -ENOEXEC;
	read_boot_id(boot);
	if (memcmp(boot, none, 16) && memcmp(h->boot_id, none, 16) &&
	    memcmp(boot, h->boot_id, 16))
		return -ESTALE;
	return 0;
}

static int check_params(const struct um_header *h)
{
	const struct um_params *p = &h->params;

	if (p->type != BPF_MAP_TYPE_HASH)
		return -EPROTONOSUPPORT;
	if (!p->key_size || !p->value_size || !p->max_entries ||
	    (uint64_t)p->key_size + p->value_size >= (4u << 20) - 48 ||
	    p->max_entries > UM_MAX_ENTRIES ||
	    (uint64_t)p->max_entries + p->spares > UM_MAX_ELEMS || !p->nr_cpus ||
	    p->nr_cpus > UM_MAX_CPUS || h->reader_mode > UM_READERS_FENCE ||
	    !memchr(h->name, 0, sizeof(h->name)))
		return -EUCLEAN;
	return 0;
}

static int follow_reader_mode(struct um_arena *a, const struct um_header *h)
{
	a->fence_mode = h->reader_mode == UM_READERS_FENCE;
	if (a->writable && !a->fence_mode && sys_membarrier_register())
		return -EOPNOTSUPP;
	return 0;
}

int um_arena_open(struct um_arena *a, int fd, bool writable)
{
	struct um_header h;
	struct stat st;
	long got;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	memset(&h, 0, sizeof(h));
	got = um_syscall(SYS_pread64, fd, &h, sizeof(h), 0);
	if (got < 0)
		return (int)got;
	err = check_identity(&h, (size_t)got);
	if (!err)
		err = check_params(&h);
	if (err)
		return err;
	a->fd = fd;
	a->writable = writable;
	a->shared = true;
	a->params = h.params;
	um_geometry_compute(&a->params, &a->geo);
	a->size = a->geo.size;
	if (memcmp(&a->geo, &h.geo, sizeof(a->geo)))
		return -EUCLEAN;
	if ((uint64_t)st.st_size < a->size)
		return -ENODATA;
	if (writable && h.ro_compat)
		return -EPROTONOSUPPORT;
	err = follow_reader_mode(a, &h);
	if (err)
		return err;
	err = map_range(a, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED);
	if (err)
		return err;
	set_pointers(a);
	remember_file(a);
	return 0;
}

void um_arena_unmap(struct um_arena *a)
{
	munmap(a->base, a->size);
	if (a->fd >= 0 && um_arena_fd_valid(a))
		um_syscall(SYS_close, a->fd);
}

bool um_arena_fd_valid(const struct um_arena *a)
{
	struct stat st;
	int saved = errno;
	bool ours = a->fd >= 0 && fstat(a->fd, &st) == 0 && st.st_dev == a->dev &&
		    st.st_ino == a->ino;

	errno = saved;
	return ours;
}
