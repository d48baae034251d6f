/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * trace.h - inside the preloaded library: a call begins, a call ends.
 *
 * A call that ends within 1 ms of the thread's last flush belongs to a burst:
 * it is counted in the thread, and its entry in starts stays there, idle, to be
 * used again. All others reach the maps at once. So what a thread does quickly
 * again and again does not make CPUs fight over one counter, and the maps are
 * never more than 1 ms of a thread's work behind. Gathered sums are taken out
 * by xchg, as the thread that ends the process does it for all.
 *
 * Everything here may run in a signal handler that interrupted anything, and
 * on the way of every call of the traced program: it allocates nothing, keeps
 * errno, is no cancellation point and makes no system call but to learn which
 * file a descriptor is. Neither does it call what it wraps, nor does the library
 * below, which has its own way to the system (base/sys.h).
 */
#ifndef IOLAT_TRACE_H
#define IOLAT_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"
#include "iolat.h"
#include "usermap/usermap.h"

#define IOLAT_SLOTS 32	   /* files a thread gathers sums for */
#define IOLAT_COUNTS 16	   /* histogram counters it gathers */
#define IOLAT_PENDING 8	   /* calls a handler made while its thread was in here */
#define IOLAT_THREADS 4096 /* of one process */
#define IOLAT_FLUSH_NS 1000000

/*
 * What one thread did to one file and has not yet added to the files map. It
 * belongs to descriptor @fd for as long as the cookie is that of @fd.
 */
struct iolat_slot {
	uint64_t cookie;
	uint64_t dev;
	uint64_t ino;
	uint64_t count;
	uint64_t bytes;
	uint64_t total_ns;
	uint64_t worst_ns;
	int32_t fd;
	uint32_t pad;
};

/* A thread of this process; free while key.tid is 0. */
struct iolat_thread {
	struct iolat_start_key key;
	/* inside the tracer: what a handler does now must not touch the rest */
	uint32_t busy;
	uint32_t nr_pending;
	const void *outer;	   /* the call whose start is in our entry, on its stack */
	struct iolat_start *entry; /* in starts, during a burst; see starts.c */
	uint64_t flushed_ns;
	uint32_t dirty_slots; /* bit each */
	uint32_t dirty_counts;
	uint32_t turn; /* slot to be looked at anew next */
	/* count << 16 | op << 8 | bucket */
	uint64_t counts[IOLAT_COUNTS] __cacheline_aligned;
	struct iolat_slot slots[IOLAT_SLOTS];
	struct iolat_pending {
		uint64_t ns;
		int64_t bytes;
		int32_t fd;
		uint32_t op;
	} pending[IOLAT_PENDING];
} __cacheline_aligned;

_Static_assert(IOLAT_SLOTS <= 32 && IOLAT_COUNTS <= 32, "a bit each");

/*
 * In memory that a forked child finds zeroed (MADV_WIPEONFORK), by whatever
 * call it was forked: sums not yet flushed stay the parent's, and a thread
 * whose tid reads 0 is to be entered anew.
 */
struct iolat_process {
	uint32_t pid;
	uint32_t nr_threads; /* highest block ever used, plus one */
	uint64_t lost[IOLAT_NR_LOSSES];
	struct iolat_thread threads[IOLAT_THREADS];
};

/* What each call reads comes first. Set before the first call is traced, but for
 * the group that says so. */
struct iolat_tracer {
	struct iolat_clock clock;

	/* changes */
	uint32_t on;
	uint32_t flush_ns;    /* IOLAT_FLUSH_NS; 0 once the process ends */
	uint32_t skip;	      /* calls to leave alone, see um_iolat_failed() */
	uint32_t fds_changed; /* all descriptors; from 1, see files.c */

	struct um_map *starts;
	struct um_map *hist;
	struct um_map *files;
	struct iolat_process *process;
	int fds[3]; /* of the maps; for the program they are not there */
} __cacheline_aligned;

extern struct iolat_tracer um_iolat_tracer;

/* On the stack of the wrapper. */
struct iolat_call {
	struct iolat_thread *thread;
	uint64_t start_ns;
	uint32_t op;
	bool owner; /* the thread's entry in starts is of this call */
	bool closes;
	uint64_t cookie; /* of the descriptor that the call closes */
};

/* false: this call is not traced. */
bool um_iolat_call_begin(struct iolat_call *c, uint32_t op, int fd);

/* @fd: the file's, or negative; @bytes: the call's result, or negative */
void um_iolat_call_end(struct iolat_call *c, int fd, int64_t bytes);

/* Between the two, of a call that closes @fd. */
void um_iolat_call_closes(struct iolat_call *c, int fd);

/* Count what handlers did while @t, the calling thread, was in here. */
void um_iolat_take_pending(struct iolat_thread *t);

/* ---- thread.c ---- */

/* Initial-exec: reading it in a handler must not allocate. */
extern __thread struct iolat_thread *um_iolat_self __attribute__((tls_model("initial-exec")));

struct iolat_thread *um_iolat_thread_enter(void);
int um_iolat_thread_init(void);

/* The calling thread, made known if need be; NULL: nothing is traced now. */
static __always_inline struct iolat_thread *um_iolat_thread_self(void)
{
	struct iolat_thread *t = um_iolat_self;

	return likely(t && READ_ONCE(t->key.tid)) ? t : um_iolat_thread_enter();
}

static inline bool um_iolat_own_fd(int fd)
{
	const int *own = um_iolat_tracer.fds;

	return fd > 0 && (fd == own[0] || fd == own[1] || fd == own[2]);
}

/* ---- starts.c ---- */

/* Put the start of @c into the maps, unless an outer call has its own there. */
void um_iolat_put_start(struct iolat_call *c, int fd);

/* Look it up. @burst: the entry stays, idle; else it is deleted. */
uint64_t um_iolat_take_start(struct iolat_call *c, bool burst);

/* The thread, or its process, ends. */
void um_iolat_drop_start(struct iolat_thread *t);

/* ---- files.c ---- */

/* Descriptor @fd may mean another file from now on; so may all. */
void um_iolat_fd_changed(int fd);
void um_iolat_fds_changed(void);
uint64_t um_iolat_fd_cookie(int fd);

/* One call more of @fd's file, in the slot of @t. */
void um_iolat_count_file(struct iolat_thread *t, int fd, int64_t bytes, uint64_t ns);
/* The same after @fd was closed; @cookie is what it had. */
void um_iolat_count_closed(struct iolat_thread *t, int fd, uint64_t cookie, uint64_t ns);
void um_iolat_flush_slots(struct iolat_thread *t);

/* ---- counts.c ---- */

/* One call more in the histogram, gathered in @t. */
void um_iolat_count_call(struct iolat_thread *t, uint32_t op, uint64_t ns);
void um_iolat_flush_thread(struct iolat_thread *t);
/* Of all threads: the process ends, or becomes another program. */
void um_iolat_flush_all(void);

/* A map operation answered @err. A lock that is stuck must not slow every call. */
void um_iolat_failed(int err);
void um_iolat_lost(enum iolat_loss what, uint64_t nr);

#endif
