/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * arena.h - one contiguous mapping that holds a whole map.
 *
 * Private memory, a memfd or a file, mapped anywhere: inside, everything is an
 * index or an offset. The whole range is reserved at once and committed by
 * chunk before it is first touched, because a touched hole of a full tmpfs is
 * a SIGBUS. Geometry is computed from a dozen parameters (struct um_params);
 * a process that opens a map computes it again, compares, and from then on
 * reads its own copy only.
 */
#ifndef UM_ARENA_H
#define UM_ARENA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/atomic.h"
#include "base/sys.h"
#include "usermap/usermap.h"

#define UM_MAGIC 0x70616d7265737501ull /* "\1usermap", little-endian */
#define UM_BYTE_ORDER 0x01020304u
#define UM_LAYOUT 1 /* changes whenever anything in an arena moves */

#define UM_MAX_CPUS 1024
#define UM_MAX_PROCS 1024
#define UM_MAX_ENTRIES (1u << 27)
#define UM_MAX_ELEMS ((1u << 28) - 1) /* an index has 28 bits, and 0 is none */
#define UM_BLOCK_RECS 32 /* thread records a process takes at a time */
#define UM_NR_BLOCKS 2048
#define UM_MAX_THREADS (UM_BLOCK_RECS * UM_NR_BLOCKS)

/* An element, a bucket's overflow bucket: from 1, so that 0 is none. */
typedef uint32_t elem_idx;
typedef uint32_t ovf_idx;

/* All that geometry depends on. Copied whole at open. */
struct um_params {
	uint32_t type;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t max_entries;
	uint32_t map_flags;
	uint32_t um_flags;
	uint32_t nr_cpus;
	uint32_t spares;
	uint32_t hash_id;
	uint32_t page_size;
	uint64_t seed[2];
};

/* Where each part stands: byte offsets from the arena's start. */
struct um_geometry {
	uint32_t nr_buckets;
	uint32_t nr_overflow; /* reserved; most are never committed */
	uint32_t nr_elems;
	uint32_t value_off; /* of the value in its element */
	uint32_t stride;    /* of elements */
	uint32_t pad;
	uint64_t blocks;    /* struct um_block[UM_NR_BLOCKS] */
	uint64_t procs;     /* struct um_proc[UM_MAX_PROCS] */
	uint64_t percpu;    /* struct um_percpu[nr_cpus] */
	uint64_t token_map; /* a line for one uint64_t, then one a 32 CPUs */
	uint64_t free_map;  /* uint64_t a 64 CPUs */
	uint64_t occupancy; /* uint64_t a 64 buckets */
	uint64_t buckets;   /* 64 bytes each */
	uint64_t fixed_end; /* committed at creation up to here */
	uint64_t overflow;  /* 64 bytes each, index 1 first */
	uint64_t links;     /* uint32_t[nr_elems], index 1 first */
	uint64_t elems;     /* stride bytes each, index 1 first */
	uint64_t records;   /* struct um_rec[UM_MAX_THREADS] */
	uint64_t size;
};

/*
 * What is kept near a CPU: one line of words that change with every insert and
 * delete, one of counters that change when something is out of the ordinary.
 * "Near" only: a thread may be moved between any two instructions.
 */
struct um_percpu {
	uint64_t free;	      /* pcpu_freelist.c */
	uint64_t tokens;      /* tokens.c */
	uint64_t free_by_rcu; /* mem_alloc.c, likewise the next */
	uint64_t waiting_for_gp;
	uint64_t pad[4];
	uint64_t refused; /* beside those in the thread records */
	uint64_t busy;
	uint64_t nomem;
	uint64_t lock_waits;
	uint64_t timeouts;
	uint64_t deferred; /* elements that began to wait for readers ... */
	uint64_t matured;  /* ... and those whose wait is over */
	uint64_t pad2;
} __cacheline_aligned;

/*
 * A thread's record in one map. Written by its thread alone, plainly, on a
 * line of its own; read by whoever waits for readers or writers. The records
 * of a dead process are cleared under the recovery lock.
 */
#define UM_MAX_HELD 4
struct um_rec {
	uint64_t section;   /* rcu.c: epoch << 16 | nesting */
	int32_t tid;	    /* in its own pid namespace; 0: never used */
	uint32_t call_seq;  /* odd: inside a writing call */
	uint32_t is_reader; /* has made itself known, see rcu.c */
	uint32_t gen;	    /* 8 bits; part of the lock word */
	uint32_t held[UM_MAX_HELD]; /* bucket + 1, set before its lock is tried */
	uint32_t counted;   /* of a block's first: its memory is in the header's sum */
	uint32_t pad[3];
	/* calls answered "full", by all tenants: the one counter that a hot path
	 * writes, so without an atomic instruction */
	uint64_t refused;
	uint64_t hazard[8]; /* room */
} __attribute__((aligned(128)));

/* 32 records and the process that has them. */
struct um_block {
	uint32_t owner; /* process slot + 1; 0: free */
};

/* A process that has the map open for writing; alive as long as it holds its
 * byte lock, see proc.c. */
struct um_proc {
	uint32_t used;
	int32_t pid;
	uint64_t pad;
};

enum um_reader_mode {
	UM_READERS_MEMBARRIER, /* the waiting side pays */
	UM_READERS_FENCE,      /* no membarrier(2) here: every reader pays */
};

/*
 * The first page. What stands up to "geo" never changes after creation; each
 * later group is a line of its own since it changes in its own rhythm.
 */
struct um_header {
	uint64_t magic;
	uint32_t byte_order;
	uint32_t layout;
	uint32_t machine; /* ELF e_machine */
	uint32_t reader_mode;
	uint32_t compat, ro_compat, incompat; /* feature words, all 0 so far */
	int32_t creator_pid;
	uint8_t boot_id[16];
	char name[UM_NAME_LEN];
	char format[64]; /* room for a hint at the format of key and value */
	struct um_params params;
	struct um_geometry geo;

	/* changes once or never */
	uint32_t frozen __cacheline_aligned;
	uint32_t ref_users; /* some thread has entered a read section, ever */
	/* not 0: writers stay out while what a dead process left is put right */
	uint32_t recovering;
	uint32_t repairs; /* a number that changes when somebody put things right */
	uint64_t recoveries; /* censuses, for people */
	uint64_t checked_ns; /* when the processes were last looked at */
	uint32_t nr_blocks;  /* blocks of records from here on were never taken */
	uint32_t progress;   /* changes while the recovery lock's holders get on */

	uint64_t gp_seq __cacheline_aligned; /* rcu.c */

	/* elements never used yet: from elem_fresh on */
	uint64_t elem_fresh __cacheline_aligned;
	uint64_t elem_committed; /* elements 1 .. have memory */
	uint64_t committed;	 /* bytes of memory, for people */

	uint64_t ovf_free __cacheline_aligned; /* as um_percpu.free */
	uint64_t ovf_fresh;
	uint64_t ovf_committed;

	uint8_t spare[256];
};

struct um_arena {
	char *base;
	uint64_t size;
	int fd;		/* -1: private memory */
	dev_t dev;	/* of fd's file: is fd still ours? */
	ino_t ino;
	bool writable;
	bool shared;	/* other processes may have it */
	bool fence_mode; /* reader_mode, our copy */
	bool named;	/* made under a temporary name, see um_arena_publish() */
	uint32_t slot;	/* our process slot */
	void *lock_page; /* keeps our byte lock, see proc.c */
	uint32_t gen;	/* thread.h: the process this struct belongs to */
	uint32_t lock_timeout_ms;
	struct um_header *hdr;
	struct um_block *blocks;
	struct um_rec *records;
	struct um_percpu *percpu;
	struct um_params params;
	struct um_geometry geo;
	uint16_t my_blocks[UM_NR_BLOCKS]; /* thread number / 32 -> block + 1 */
};

void um_geometry_compute(const struct um_params *p, struct um_geometry *g);

/* Bytes committed when new. The most there can be is the size. */
uint64_t um_geometry_empty(const struct um_params *p, const struct um_geometry *g);

/*
 * Make the arena of @p, complete but for its name in the file system:
 * private, memfd, or an unnamed file next to @path. um_arena_publish() gives it
 * its name. @numa_node: preferred, or -1. On error nothing is left.
 */
int um_arena_create(struct um_arena *a, const struct um_params *p, const char *name,
		    const char *path, int numa_node);
int um_arena_publish(struct um_arena *a, const char *path);
/* Not to be published after all. */
void um_arena_abandon(const struct um_arena *a, const char *path);

/* Map and check what @fd, which becomes the arena's, has. */
int um_arena_open(struct um_arena *a, int fd, bool writable);

void um_arena_unmap(struct um_arena *a);

/* Is a->fd still the descriptor of our file? The program may have closed it. */
bool um_arena_fd_valid(const struct um_arena *a);

/*
 * Back [offset, offset + len) by memory. May be repeated. -ENOMEM or -ENOSPC;
 * async-signal-safe.
 */
int um_arena_commit(struct um_arena *a, uint64_t offset, uint64_t len);

static __always_inline bool um_fence_mode(const struct um_arena *a)
{
	return unlikely(a->fence_mode);
}

/*
 * The dear side of an asymmetric fence: after it, each thread that uses this
 * map has either seen our earlier stores or had its own earlier ones seen.
 */
static inline void um_heavy_barrier(const struct um_arena *a)
{
	smp_mb();
	if (!um_fence_mode(a))
		sys_membarrier(a->shared);
}

/* The cheap side: a store above is seen before loads below, given the dear one. */
static __always_inline void um_light_barrier(const struct um_arena *a)
{
	if (um_fence_mode(a))
		smp_mb();
	else
		barrier();
}

#define um_stat_inc(a, cpu, what) atomic_inc_relaxed(&(a)->percpu[cpu].what)

#endif
