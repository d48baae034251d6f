/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * sys.h - the system as the library sees it: futex, membarrier, clock, threads.
 *
 * Nobody else makes these calls, so a build may put another file in this one's
 * place, given by UM_SYS_H. All are async-signal-safe and leave errno alone.
 */
#ifndef UM_SYS_H_
#define UM_SYS_H_

#ifdef UM_SYS_H
#include UM_SYS_H
#else

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/compiler.h"

/* A system call as 0 or a result, or a negative errno; errno is kept. */
#define um_syscall(...)                                 \
	({                                              \
		int saved_ = errno;                     \
		long ret_ = syscall(__VA_ARGS__);       \
		if (ret_ < 0)                           \
			ret_ = -errno;                  \
		errno = saved_;                         \
		ret_;                                   \
	})

/* Declared first in a function, puts errno back when it returns. */
static inline void um_restore_errno(const int *saved)
{
	errno = *saved;
}
#define KEEP_ERRNO __attribute__((cleanup(um_restore_errno), unused)) const int kept_errno_ = errno

/* Sleep while *word is @expected, at most @timeout_ns. Wakes may be spurious. */
static inline void sys_futex_wait(uint32_t *word, uint32_t expected, uint64_t timeout_ns,
				  bool shared)
{
	struct timespec t = { (time_t)(timeout_ns / 1000000000), (long)(timeout_ns % 1000000000) };

	um_syscall(SYS_futex, word, FUTEX_WAIT | (shared ? 0 : FUTEX_PRIVATE_FLAG), expected, &t,
		   NULL, 0);
}

static inline void sys_futex_wake(uint32_t *word, int nr, bool shared)
{
	um_syscall(SYS_futex, word, FUTEX_WAKE | (shared ? 0 : FUTEX_PRIVATE_FLAG), nr, NULL, NULL,
		   0);
}

/*
 * Let this process take part in barriers: its own and, for maps that processes
 * share, those that others ask for.
 */
static inline int sys_membarrier_register(void)
{
	int err = (int)um_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);

	if (err)
		return err;
	return (int)um_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

/* A full barrier on every CPU that runs this process, or any registered one. */
static inline int sys_membarrier(bool shared)
{
	return (int)um_syscall(SYS_membarrier,
			       shared ? MEMBARRIER_CMD_GLOBAL_EXPEDITED :
					MEMBARRIER_CMD_PRIVATE_EXPEDITED,
			       0, 0);
}

static inline uint64_t sys_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline void sys_sleep_ns(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	um_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
}

static inline void sys_yield(void)
{
	um_syscall(SYS_sched_yield);
}

static inline int32_t sys_gettid(void)
{
	return (int32_t)um_syscall(SYS_gettid);
}

/* Is there a thread @tid in this process? */
static inline bool sys_thread_alive(int32_t tid)
{
	pid_t pid = getpid();

	return um_syscall(SYS_tgkill, pid, tid, 0) != -ESRCH;
}

/* Does anybody hold the byte at @offset of this open file? Unknown counts as yes. */
static inline bool sys_byte_locked(int fd, int64_t offset)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1 };

	return um_syscall(SYS_fcntl, fd, F_OFD_GETLK, &l) != 0 || l.l_type != F_UNLCK;
}

static inline void sys_byte_unlock(int fd, int64_t offset)
{
	struct flock l = { .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1 };

	um_syscall(SYS_fcntl, fd, F_OFD_SETLK, &l);
}

/* Take the byte at @offset for this open file description, without waiting. */
static inline int sys_byte_lock(int fd, int64_t offset)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1 };

	return (int)um_syscall(SYS_fcntl, fd, F_OFD_SETLK, &l);
}

#endif
#endif
