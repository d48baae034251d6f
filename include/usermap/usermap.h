/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * usermap.h - the Linux BPF hash map as a user-space library.
 *
 * Types, flags and error codes are those of <linux/bpf.h>; what usermap adds
 * starts with UM_. The semantics tracked are those of Linux 6.18
 * (kernel/bpf/hashtab.c, kernel/bpf/syscall.c); docs/kernel-differences.md
 * lists each difference. Guarantees are numbered G1.. in docs/guarantees.md.
 *
 * What holds for every call, so that each comment need not repeat it:
 *
 *  - Errors are negative errno values; errno itself is never touched.
 *  - Keys are key_size bytes and compared byte by byte, padding included.
 *    Values are value_size bytes. Keys and values need no alignment.
 *  - The caller owns every buffer it passes; nothing is kept after the call.
 *  - A NULL key, value or result pointer that the call needs gives -EFAULT, as
 *    in the kernel; another bad address is a fault of the calling program.
 *  - The library never prints, exits, aborts, starts a thread or installs a
 *    signal handler.
 *  - Threads: calls on an open map run concurrently with every other call on
 *    it, from any thread of any process that has it open. The exceptions are
 *    um_map_close() and the cursor, see there.
 *  - Signals: "safe" means async-signal-safe: the call may run in a handler
 *    that interrupted any function, of this library or of another. A handler
 *    that interrupted a call holding a bucket lock gets -EBUSY from calls that
 *    need a lock, whichever map they are on (G8); nothing has changed then. The
 *    other reason for -EBUSY is a writer that needs an element while every spare
 *    one waits for readers, and that may not wait for them: it is in a read
 *    section itself or interrupted a writer. More spares make that rare.
 *  - "Writers" below means update, delete, lookup_and_delete, upsert and add.
 *    A writer waits for at most one bucket lock. It answers -ETIMEDOUT when the
 *    lock's owner, alive, made no progress for lock_timeout_ms (it is stopped).
 *  - A map in a file or memfd may have been left in the middle of a change by a
 *    process that was killed. Whoever comes across that repairs it first, which
 *    takes O(buckets) once, a free descriptor, /proc, and permission to open the
 *    file. Without these a writer answers -ENOTRECOVERABLE: another can do it.
 *    A child made by a bare clone(2), not by fork(3), while its parent opens or
 *    repairs a map may keep the parent from being known as dead.
 *  - A handler or callback must return: leaving it by longjmp(), an exception
 *    or pthread_exit() while it interrupted a call of this library is
 *    forbidden; only um_map_upsert_elem() says otherwise. A child forked in a
 *    handler must not return from that handler.
 */
#ifndef USERMAP_H
#define USERMAP_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UM_VERSION_MAJOR 0
#define UM_VERSION_MINOR 1
#define UM_VERSION_PATCH 0

#if defined(__GNUC__)
#define UM_API __attribute__((visibility("default")))
#else
#define UM_API
#endif

/* The kernel's 524, "operation not supported for this type of map". */
#define UM_ENOTSUPP 524

/* Bytes of a map's name, the closing NUL included (BPF_OBJ_NAME_LEN). */
#define UM_NAME_LEN 16

struct um_map;
struct um_iter;

/* um_map_opts.um_flags */
enum {
	/*
	 * Back the map by a memfd: um_map_fd() gives the descriptor to pass to
	 * another process, which opens it with um_map_open_fd().
	 */
	UM_F_MEMFD = 1U << 0,
	/*
	 * Reuse a deleted element at once, as the kernel does: a reference held
	 * in a read section may come to show another key's value. Without it
	 * (strict) an element waits for the readers that may still see it.
	 */
	UM_F_REUSE = 1U << 1,
};

/**
 * struct um_map_opts - what um_map_create() may be told; zero means default
 * @sz:              sizeof(struct um_map_opts), set by UM_OPTS()
 * @map_flags:       BPF_F_NO_PREALLOC, BPF_F_NUMA_NODE, BPF_F_RDONLY,
 *                   BPF_F_WRONLY, BPF_F_ZERO_SEED, BPF_F_RDONLY_PROG,
 *                   BPF_F_WRONLY_PROG; RDONLY and WRONLY bind this handle, the
 *                   _PROG pair is recorded and reported only
 * @um_flags:        UM_F_*
 * @map_extra:       must be 0, as for the kernel's hash maps
 * @numa_node:       with BPF_F_NUMA_NODE: preferred node, -1 for none
 * @nr_cpus:         lists kept per CPU, 1 to 1024; 0: the machine's possible CPUs
 * @spares:          elements beyond max_entries that let replacing go on while
 *                   readers hold old ones; 0: max(1024, max_entries / 8), but at
 *                   most max_entries + 8 * nr_cpus
 * @lock_timeout_ms: see "Writers" above; 0: 1000
 * @path:            file to create the map in, on a tmpfs; a name without '/'
 *                   is put into the directory of um_map_dir(). NULL: memory of
 *                   this process alone, or a memfd with UM_F_MEMFD
 *
 * The struct may grow. Bytes beyond the caller's @sz count as zero; bytes
 * beyond the library's own must be zero, else -E2BIG.
 */
struct um_map_opts {
	size_t sz;
	uint32_t map_flags;
	uint32_t um_flags;
	uint64_t map_extra;
	int32_t numa_node;
	uint32_t nr_cpus;
	uint32_t spares;
	uint32_t lock_timeout_ms;
	const char *path;
};

/**
 * struct um_open_opts - what um_map_open() may be told; zero means default
 * @sz:              sizeof(struct um_open_opts), set by UM_OPTS()
 * @map_flags:       BPF_F_RDONLY maps the file read-only; BPF_F_WRONLY refuses
 *                   reading calls on this handle; both: -EINVAL
 * @lock_timeout_ms: as in struct um_map_opts, for this handle
 */
struct um_open_opts {
	size_t sz;
	uint32_t map_flags;
	uint32_t lock_timeout_ms;
};

/* UM_OPTS(um_map_opts, opts, .nr_cpus = 16): declare options with sz filled in. */
#define UM_OPTS(type, name, ...) struct type name = { .sz = sizeof(struct type), __VA_ARGS__ }

/**
 * struct um_map_info - what a map is
 * @sz:           sizeof(struct um_map_info), set by the caller
 * @type:         enum bpf_map_type
 * @id:           number of a map in a file or memfd, from its inode; 0: private
 * @key_size:     bytes
 * @value_size:   bytes
 * @max_entries:  capacity
 * @map_flags:    flags of creation but BPF_F_RDONLY and BPF_F_WRONLY, which
 *                belong to a handle
 * @um_flags:     UM_F_* of creation
 * @nr_cpus:      lists kept per CPU
 * @frozen:       1 after um_map_freeze()
 * @name:         NUL-terminated, empty if the map has none
 * @read_only:    1 if this handle cannot write: opened or created BPF_F_RDONLY
 * @creator_pid:  process that made it, in its own pid namespace
 * @memory_used:  bytes taken from the system now
 * @memory_max:   bytes it can grow to; um_map_price() says the same beforehand
 */
struct um_map_info {
	size_t sz;
	uint32_t type;
	uint32_t id;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t max_entries;
	uint32_t map_flags;
	uint32_t um_flags;
	uint32_t nr_cpus;
	uint32_t frozen;
	char name[UM_NAME_LEN];
	uint32_t read_only;
	int32_t creator_pid;
	uint64_t memory_used;
	uint64_t memory_max;
};

/**
 * struct um_map_stats - what has happened, summed over CPUs without a walk
 * @sz:         sizeof(struct um_map_stats), set by the caller
 * @count:      entries now; never above max_entries
 * @refused:    calls answered -E2BIG, the map was full
 * @busy:       calls answered -EBUSY
 * @nomem:      calls answered -ENOMEM
 * @lock_waits: times a writer found its bucket lock taken
 * @timeouts:   calls answered -ETIMEDOUT
 * @waiting:    elements deleted and not yet free: a reader may still see them, or
 *              nobody needed them since; they are collected when one is needed
 * @recoveries: times the map was put right after a process died in a call
 */
struct um_map_stats {
	size_t sz;
	uint64_t count;
	uint64_t refused;
	uint64_t busy;
	uint64_t nomem;
	uint64_t lock_waits;
	uint64_t timeouts;
	uint64_t waiting;
	uint64_t recoveries;
};

/**
 * um_map_create() - make a map
 * @type:        BPF_MAP_TYPE_HASH
 * @name:        at most 15 of [A-Za-z0-9_.], or NULL for none
 * @key_size:    bytes, above 0
 * @value_size:  bytes, above 0; key_size + value_size < 4 MiB - 48
 * @max_entries: capacity, 1 to 2^27
 * @opts:        NULL or options
 * @map:         out, the new map, written on success only; um_map_close() it
 *
 * A preallocated map (the default) takes all its memory here, so that no later
 * insert fails for want of memory, unless over an eighth of its buckets
 * overflow. With BPF_F_NO_PREALLOC memory is taken as it is used, and an insert
 * may answer -ENOMEM. Elements never move and their value is 8-byte aligned
 * (4-byte, if neither key nor value is larger than 4 bytes).
 *
 * A map with a path is complete before its file appears there. One in a file or
 * memfd needs /proc.
 *
 * Return:   0; -EINVAL for the kernel's reasons, nr_cpus above 1024, or
 *           UM_F_MEMFD with a path; -E2BIG, sizes or max_entries too large, or
 *           unknown option bytes; -UM_ENOTSUPP, a type this version lacks; -ENOMEM;
 *           with a path also -EEXIST, -ENAMETOOLONG and what open(2) answers;
 *           -EFBIG, above RLIMIT_FSIZE; -ENOSPC, the file system is full.
 * Threads:  safe.
 * Signals:  not safe.
 * Progress: waits on nothing but the system.
 * Cost:     system calls; O(buckets), and O(max_entries) pages for a
 *           preallocated map in a file.
 * Follows:  htab_map_alloc_check(), htab_map_alloc(), map_create().
 */
UM_API int um_map_create(enum bpf_map_type type, const char *name, uint32_t key_size,
			 uint32_t value_size, uint32_t max_entries,
			 const struct um_map_opts *opts, struct um_map **map);

/**
 * um_map_price() - what a map would cost, before it is made
 * @type:        as for um_map_create(), likewise the next five
 * @name:        likewise
 * @key_size:    likewise
 * @value_size:  likewise
 * @max_entries: likewise
 * @opts:        likewise
 * @empty:       out, NULL or bytes of the map when new and empty
 * @full:        out, NULL or the most bytes it can ever take
 *
 * @full leaves out nothing: spares, every overflow bucket and record of a
 * thread are in it. A map usually stays far below.
 *
 * Return:   0, or what um_map_create() would answer to these arguments.
 * Threads:  safe.
 * Signals:  safe, unless BPF_F_NUMA_NODE is set.
 * Progress: waits on nothing.
 * Cost:     arithmetic.
 */
UM_API int um_map_price(enum bpf_map_type type, const char *name, uint32_t key_size,
			uint32_t value_size, uint32_t max_entries,
			const struct um_map_opts *opts, uint64_t *empty, uint64_t *full);

/**
 * um_map_open() - open a map that lives in a file
 * @path: the file; a name without '/' is looked up in um_map_dir()
 * @opts: NULL or options
 * @map:  out, written on success only; um_map_close() it
 *
 * Everything the library relies on later is checked here. Opening for writing
 * also repairs what a process left that died inside a call.
 *
 * Return:   0; -ENOENT, no such map; -EACCES or -EPERM, no permission;
 *           -EMEDIUMTYPE, not a map; -ENODATA, cut short; -EPROTONOSUPPORT,
 *           made by a version with another layout; -ENOEXEC, made on a machine
 *           of other endianness or architecture; -ESTALE, made before this
 *           boot; -EUCLEAN, its contents contradict each other; -EUSERS, as
 *           many processes have it open as it has room for (1024);
 *           -EOPNOTSUPP, this system cannot follow the map's reader mode;
 *           -EINVAL, bad options; -E2BIG, unknown option bytes; -ETIMEDOUT, a
 *           stopped process keeps the map from being repaired; -ENOMEM; what
 *           open(2) answers. um_strerror(err, UM_OPEN) has a sentence for each.
 * Threads:  safe.
 * Signals:  not safe.
 * Progress: may wait for another process that opens or repairs this map.
 * Cost:     system calls, O(1) but for a repair, which is O(buckets).
 */
UM_API int um_map_open(const char *path, const struct um_open_opts *opts, struct um_map **map);

/**
 * um_map_open_fd() - open a map by a descriptor of its file or memfd
 * @fd:   descriptor; stays the caller's and may be closed after the call. It
 *        must allow writing unless opts has BPF_F_RDONLY
 * @opts: NULL or options
 * @map:  out, written on success only; um_map_close() it
 *
 * Needs /proc, since the library opens a description of its own.
 *
 * Return:   as um_map_open(); -EBADF, @fd is not open.
 * Threads:  safe.
 * Signals:  not safe.
 * Progress: as um_map_open().
 * Cost:     as um_map_open().
 */
UM_API int um_map_open_fd(int fd, const struct um_open_opts *opts, struct um_map **map);

/**
 * um_map_fd() - the descriptor of a map in a file or memfd
 * @map: an open map
 *
 * The library owns it; pass it on, do not close it.
 *
 * Return:   a descriptor; -EBADF, the map is private memory.
 * Threads:  safe.
 * Signals:  safe.
 * Progress: wait-free.
 * Cost:     O(1).
 */
UM_API int um_map_fd(const struct um_map *map);

/**
 * um_map_close() - give up this handle of a map
 * @map: an open map, or NULL
 *
 * A private map or memfd that nobody else has goes with its last handle; a file
 * stays. No other thread may be in, or start, a call with this handle, with one
 * exception: threads may be in read sections, and what their references show
 * stays until they leave. The call waits for them. If the calling thread itself
 * is in a section of @map, the map is closed by its um_read_unlock() instead.
 *
 * Return:   nothing.
 * Threads:  see above.
 * Signals:  not safe.
 * Progress: waits for read sections of other threads of this process.
 * Cost:     system calls.
 */
UM_API void um_map_close(struct um_map *map);

/**
 * um_map_unlink() - remove the file of a map
 * @path: as for um_map_open()
 *
 * Processes that have it open go on using it. A file that is not a map is left
 * alone.
 *
 * Return:   0; -ENOENT; -EMEDIUMTYPE, not a map; -EACCES and what unlink(2)
 *           answers; -ENAMETOOLONG.
 * Threads:  safe.
 * Signals:  not safe.
 * Progress: waits on nothing but the system.
 * Cost:     system calls.
 */
UM_API int um_map_unlink(const char *path);

/**
 * um_map_dir() - the directory of maps that are named without a '/'
 * @buf:  out, NULL or the NUL-terminated path
 * @size: bytes of @buf
 *
 * $USERMAP_DIR, else /dev/shm/usermap. um_map_create() makes it, with mode 0700.
 *
 * Return:   length of the path in bytes without NUL; -ENAMETOOLONG, @buf is too
 *           small.
 * Threads:  as getenv(3).
 * Signals:  safe.
 * Progress: wait-free.
 * Cost:     O(length).
 */
UM_API int um_map_dir(char *buf, size_t size);

/**
 * um_map_get_info() - what this map is
 * @map:  an open map
 * @info: in, info->sz; out, the rest, as much as info->sz has room for
 *
 * Return:   0; -EFAULT; -EINVAL, info->sz is below 8.
 * Threads:  safe.
 * Signals:  safe.
 * Progress: wait-free.
 * Cost:     O(1).
 */
UM_API int um_map_get_info(const struct um_map *map, struct um_map_info *info);

/**
 * um_map_get_stats() - count and counters, without a walk
 * @map:   an open map
 * @stats: in, stats->sz; out, the rest, as much as stats->sz has room for
 *
 * Each figure is exact in a quiet map and within the calls under way otherwise;
 * a call in which a process died is under way until the map is next repaired.
 *
 * Return:   0; -EFAULT; -EINVAL, stats->sz is below 8.
 * Threads:  safe.
 * Signals:  safe.
 * Progress: wait-free.
 * Cost:     O(nr_cpus).
 */
UM_API int um_map_get_stats(const struct um_map *map, struct um_map_stats *stats);

/**
 * um_map_freeze() - refuse all further writing calls, from every process
 * @map: an open map
 *
 * A writer already inside its call completes. There is no way back.
 *
 * Return:   0; -EPERM, frozen already or this handle cannot write.
 * Threads:  safe.
 * Signals:  safe.
 * Progress: wait-free.
 * Cost:     O(1).
 * Follows:  map_freeze().
 */
UM_API int um_map_freeze(struct um_map *map);

/**
 * um_map_lookup_elem() - copy a key's value out
 * @map:   an open map
 * @key:   key_size bytes
 * @value: out, value_size bytes; undefined after a failure if longer than 8
 *
 * The copy is whole: one value that the key had at some instant of the call.
 *
 * Return:   0; -ENOENT, absent; -EPERM, handle is BPF_F_WRONLY; -EAGAIN, only
 *           for a handle that cannot write or in a handler that interrupted a
 *           writer: writers kept changing the bucket for lock_timeout_ms.
 * Threads:  safe.
 * Signals:  safe.
 * Progress: takes no lock and waits for nobody; it starts again when a writer
 *           has completed a change of this bucket, and after 64 times takes the
 *           bucket lock once.
 * Cost:     a hit reads two cache lines, a miss one; it writes none.
 * Follows:  htab_map_lookup_elem(), map_lookup_elem().
 */
UM_API int um_map_lookup_elem(struct um_map *map, const void *key, void *value);

/**
 * um_map_lookup_elem_flags() - um_map_lookup_elem() with the flags of bpf(2)
 * @map:   an open map
 * @key:   key_size bytes
 * @value: as um_map_lookup_elem()
 * @flags: 0; BPF_F_LOCK and all others are refused, as the kernel does for a
 *         value without a lock
 *
 * Return:   -EINVAL, flags; else as um_map_lookup_elem().
 * Threads:  safe.
 * Signals:  safe.
 * Progress: as um_map_lookup_elem().
 * Cost:     as um_map_lookup_elem().
 */
UM_API int um_map_lookup_elem_flags(struct um_map *map, const void *key, void *value,
				    uint64_t flags);

/**
 * um_map_update_elem() - insert or replace
 * @map:   an open map
 * @key:   key_size bytes
 * @value: value_size bytes
 * @flags: BPF_ANY; BPF_NOEXIST, insert only; BPF_EXIST, replace only
 *
 * A value of at most 8 bytes is replaced in place by one store, so a reference
 * to it shows the new value; a larger one gets a new element.
 *
 * Return:   0; -EINVAL, flags; -EPERM, handle is BPF_F_RDONLY or the map is
 *           frozen; -EEXIST; -ENOENT; -E2BIG, the key is absent and the map was
 *           full (G3); -ENOMEM; -EBUSY, see Signals, or every spare element
 *           waits for readers and this thread may not wait for them as it is
 *           in a read section itself; -ETIMEDOUT, readers hold every spare for
 *           lock_timeout_ms, or see "Writers" above.
 * Threads:  safe.
 * Signals:  safe; -EBUSY, see the top of this file.
 * Progress: waits for at most one bucket lock; for readers only if every spare
 *           waits for them.
 * Cost:     a new value in place: one lock and no allocation. A refusal
 *           (-EEXIST, -ENOENT, -E2BIG) usually takes no lock and writes no
 *           shared line but a counter.
 * Follows:  htab_map_update_elem(), map_update_elem().
 */
UM_API int um_map_update_elem(struct um_map *map, const void *key, const void *value,
			      uint64_t flags);

/**
 * um_map_delete_elem() - remove a key
 * @map: an open map
 * @key: key_size bytes
 *
 * The place is free for an insert when the call returns.
 *
 * Return:   0; -ENOENT; -EPERM, handle is BPF_F_RDONLY or the map is frozen;
 *           -EBUSY, see Signals; -ETIMEDOUT, see "Writers" above.
 * Threads:  safe.
 * Signals:  safe; -EBUSY, see the top of this file.
 * Progress: waits for at most one bucket lock.
 * Cost:     one lock; needs no memory.
 * Follows:  htab_map_delete_elem().
 */
UM_API int um_map_delete_elem(struct um_map *map, const void *key);

/**
 * um_map_lookup_and_delete_elem() - remove a key and copy its last value out
 * @map:   an open map
 * @key:   key_size bytes
 * @value: out, value_size bytes, written on success only
 *
 * Return:   0; -ENOENT; -EPERM, handle is BPF_F_RDONLY or BPF_F_WRONLY, or the
 *           map is frozen; -EBUSY, see Signals; -ETIMEDOUT, see "Writers".
 * Threads:  safe.
 * Signals:  safe; -EBUSY, see the top of this file.
 * Progress: waits for at most one bucket lock.
 * Cost:     as um_map_delete_elem().
 * Follows:  htab_map_lookup_and_delete_elem().
 */
UM_API int um_map_lookup_and_delete_elem(struct um_map *map, const void *key, void *value);

/**
 * um_map_lookup_and_delete_elem_flags() - the same with the flags of bpf(2)
 * @map:   an open map
 * @key:   key_size bytes
 * @value: out, value_size bytes, written on success only
 * @flags: 0; all others are refused
 *
 * Return:   -EINVAL, flags; else as um_map_lookup_and_delete_elem().
 * Threads:  safe.
 * Signals:  safe; -EBUSY, see the top of this file.
 * Progress: as um_map_lookup_and_delete_elem().
 * Cost:     as um_map_lookup_and_delete_elem().
 */
UM_API int um_map_lookup_and_delete_elem_flags(struct um_map *map, const void *key, void *value,
					       uint64_t flags);

/**
 * um_map_get_next_key() - the key after a key
 * @map:      an open map
 * @key:      key_size bytes; NULL, or a key that is absent: start over
 * @next_key: out, key_size bytes, undefined after a failure; may be @key
 *
 * The order is that of the keys' hashes, so it is fixed for the life of a map.
 * A walk whose current key is deleted starts over, as in the kernel; a cursor
 * (um_iter_next()) never does.
 *
 * Return:   0; -ENOENT, @key was the last, or the map is empty; -EPERM, handle
 *           is BPF_F_WRONLY; -EAGAIN, as um_map_lookup_elem().
 * Threads:  safe.
 * Signals:  safe.
 * Progress: as um_map_lookup_elem().
 * Cost:     O(bucket + empty buckets passed / 64).
 * Follows:  htab_map_get_next_key().
 */
UM_API int um_map_get_next_key(struct um_map *map, const void *key, void *next_key);

/**
 * um_map_upsert_elem() - insert, or change what is there, as one step
 * @map:  an open map
 * @key:  key_size bytes
 * @init: value_size bytes stored if the key is absent; NULL: -ENOENT then
 * @fn:   called if the key is present, with a private copy of its value,
 *        value_size bytes and 8-byte aligned, to be changed in place; returns 0
 *        to have it stored, or a negative errno to leave the map as it is
 * @ctx:  passed to @fn
 *
 * @fn runs without any lock and is run again, on a fresh copy, when another
 * writer came between. It may call the library. An exception or longjmp() may
 * leave it; of a value above 1 KiB its private copy then stays behind.
 *
 * Return:   1, inserted; 0, changed; what @fn returned; else as
 *           um_map_update_elem() with BPF_ANY; -EPERM also for a handle that
 *           is BPF_F_WRONLY; -EFAULT, @fn is NULL.
 * Threads:  safe.
 * Signals:  safe if @fn is; -EBUSY, see the top of this file.
 * Progress: lock-free against other writers of this bucket, and waits as
 *           um_map_update_elem().
 * Cost:     a look-up and an update; values above 1 KiB also an mmap(2).
 */
UM_API int um_map_upsert_elem(struct um_map *map, const void *key, const void *init,
			      int (*fn)(void *value, void *ctx), void *ctx);

/**
 * um_map_add_elem() - add to a 64-bit counter in a value, inserting it if absent
 * @map:    an open map
 * @key:    key_size bytes
 * @offset: where the counter stands in the value: a multiple of 8, at most
 *          value_size - 8
 * @delta:  added modulo 2^64, so a negative number subtracts
 *
 * A key that is absent is inserted with a value of zeros, then added to.
 *
 * Return:   1, inserted; 0, added; -EINVAL, offset; else as um_map_update_elem()
 *           with BPF_ANY.
 * Threads:  safe.
 * Signals:  safe; -EBUSY, see the top of this file.
 * Progress: as um_map_update_elem().
 * Cost:     one lock, in place; no allocation if the key is there.
 */
UM_API int um_map_add_elem(struct um_map *map, const void *key, size_t offset, uint64_t delta);

/**
 * um_read_lock() - enter a read-side critical section of a map
 * @map: an open map
 *
 * References got inside stay what they are until the outermost um_read_unlock()
 * of this thread: an element deleted meanwhile is not reused (unless the map
 * has UM_F_REUSE). Sections nest. Copying look-ups need none.
 *
 * Return:   0; -EPERM, this handle is BPF_F_RDONLY or BPF_F_WRONLY, use copying
 *           look-ups; -ENOMEM, no room for this thread's record (the map has 2048
 *           blocks of 32, and each process its own) or no memory for it; -EBUSY, interrupted this thread's first call.
 * Threads:  safe.
 * Signals:  safe.
 * Progress: wait-free, but for a thread's first call on a map.
 * Cost:     one store to a line of this thread's own.
 * Follows:  rcu_read_lock(), with the epochs of Fraser, "Practical
 *           lock-freedom" (2004), and the asymmetric fence of membarrier(2).
 */
UM_API int um_read_lock(struct um_map *map);

/**
 * um_read_unlock() - leave a read-side critical section
 * @map: the map whose um_read_lock() answered 0
 *
 * A child forked in a section is not in it: what its references show is safe in
 * a private map, of which it has a copy, and only as long as the parent stays
 * in the section in a shared one. Its um_read_unlock() does nothing.
 *
 * Return:   nothing.
 * Threads:  the thread that entered.
 * Signals:  safe.
 * Progress: wait-free, unless um_map_close() was called in the section.
 * Cost:     one store.
 */
UM_API void um_read_unlock(struct um_map *map);

/**
 * um_map_lookup_ref() - a key's value in place
 * @map: an open map, whose read section this thread is in
 * @key: key_size bytes
 *
 * The value may be read and written through the reference; each aligned 8-byte
 * word is whole. Several words are not from one moment. After a delete or a
 * replacement the reference shows the old value until the section ends. Adds by
 * atomic instructions are exact as long as nobody deletes or replaces the key.
 *
 * Return:   the value; NULL, absent and nothing else, which includes a handle
 *           whose um_read_lock() is refused.
 * Threads:  safe.
 * Signals:  safe.
 * Progress: lock-free: starts again when a writer has completed a change.
 * Cost:     a hit reads two cache lines, a miss one; it writes none.
 * Follows:  bpf_map_lookup_elem() as a program calls it.
 */
UM_API void *um_map_lookup_ref(struct um_map *map, const void *key);

/**
 * um_synchronize() - wait until every read section now open has ended
 * @map: an open map
 *
 * What was deleted before is then free to be used again.
 *
 * Return:   0; -EBUSY, this thread is in a section of @map or interrupted a
 *           call; -EPERM, this handle cannot write; -ETIMEDOUT, a reader stayed
 *           in its section for lock_timeout_ms: call again.
 * Threads:  safe.
 * Signals:  safe.
 * Progress: waits for readers.
 * Cost:     O(threads that have read by reference); membarrier(2).
 * Follows:  synchronize_rcu().
 */
UM_API int um_synchronize(struct um_map *map);

/**
 * um_iter_open() - start a walk that neither restarts nor repeats
 * @map: an open map; must stay open until um_iter_close()
 * @it:  out, the cursor, written on success only
 *
 * Return:   0; -ENOMEM; -EPERM, handle is BPF_F_WRONLY.
 * Threads:  safe; one cursor is for one thread at a time.
 * Signals:  not safe.
 * Progress: waits on nothing but malloc(3).
 * Cost:     allocates about key_size bytes.
 */
UM_API int um_iter_open(struct um_map *map, struct um_iter **it);

/**
 * um_iter_next() - the next entry of a walk
 * @it:    a cursor
 * @key:   out, key_size bytes
 * @value: out, NULL or value_size bytes
 *
 * A key present during the whole walk comes exactly once, whatever happens
 * meanwhile; a key absent during all of it never comes (G2). A key's value is
 * one it had during the call.
 *
 * Return:   0; -ENOENT, the walk is over (and stays over); -EAGAIN, as
 *           um_map_lookup_elem(): nothing is lost, call again.
 * Threads:  one thread at a time per cursor; concurrently with all else.
 * Signals:  safe.
 * Progress: as um_map_lookup_elem().
 * Cost:     O(bucket + empty buckets passed / 64); takes a lock only to note
 *           that a bucket has become empty, and only if it is free.
 */
UM_API int um_iter_next(struct um_iter *it, void *key, void *value);

/**
 * um_iter_close() - end a walk at any point
 * @it: a cursor, or NULL
 *
 * Return:   nothing.
 * Threads:  as um_iter_next().
 * Signals:  not safe.
 * Progress: waits on nothing but free(3).
 * Cost:     O(1).
 */
UM_API void um_iter_close(struct um_iter *it);

/**
 * um_map_for_each_elem() - call a function for every entry
 * @map:   an open map
 * @fn:    gets key and a reference to the value, valid until it returns;
 *         returns 0 to go on, 1 to stop
 * @ctx:   passed to @fn
 * @flags: must be 0
 *
 * The walk has the guarantees of um_iter_next(). The value may be written
 * through. @fn runs in a read section, without any lock, and may call the
 * library; it must return.
 *
 * Return:   how often @fn was called, the call that stopped it included;
 *           -EINVAL, flags; -EFAULT, @fn is NULL; -EPERM, handle is
 *           BPF_F_WRONLY, or cannot enter read sections; else as
 *           um_read_lock() and um_iter_next().
 * Threads:  safe.
 * Signals:  not safe, it allocates.
 * Progress: as um_iter_next().
 * Cost:     O(buckets / 64 + entries).
 * Follows:  bpf_for_each_hash_elem().
 */
UM_API int um_map_for_each_elem(struct um_map *map,
				int (*fn)(const void *key, void *value, void *ctx), void *ctx,
				uint64_t flags);

/**
 * um_possible_cpus() - CPUs this system may ever have
 *
 * Return:   the number, at least 1.
 * Threads:  safe.
 * Signals:  not safe at the first call.
 * Progress: waits on nothing but the system.
 * Cost:     reads /sys once.
 * Follows:  libbpf_num_possible_cpus().
 */
UM_API int um_possible_cpus(void);

/* What was tried, for um_strerror(). */
enum um_what {
	UM_CREATE,
	UM_OPEN,
	UM_LOOKUP,
	UM_UPDATE,
	UM_DELETE,
	UM_NEXT,
	UM_READ,
	UM_UNLINK,
};

/**
 * um_strerror() - a sentence for an error of this library
 * @err:  what a call returned, negative
 * @what: what was tried; the same code may mean different things
 *
 * Return:   a constant string without a final stop: what is wrong, and what to
 *           do about it where there is something. Never NULL.
 * Threads:  safe.
 * Signals:  safe.
 * Progress: wait-free.
 * Cost:     O(1).
 */
UM_API const char *um_strerror(int err, enum um_what what);

/**
 * um_version() - the version of the library in use, "0.1.0"
 *
 * Return:   a constant string.
 * Threads:  safe.
 * Signals:  safe.
 * Progress: wait-free.
 * Cost:     O(1).
 */
UM_API const char *um_version(void);

#ifdef __cplusplus
}
#endif

#endif
