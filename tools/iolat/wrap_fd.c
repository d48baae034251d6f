/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* wrap_fd.c - the calls on descriptors: open, read, write and their kin. */
#include <stdarg.h>
#include "real.h"
#include "trace.h"

/* The names that calls get from _FORTIFY_SOURCE have no declaration. */
#define DECLARE(ret, name, params) ret name params;
IOLAT_REAL_FD(DECLARE)

/* A call on @fd that returns a number of bytes, or 0, or -1. */
#define WRAP(op, ret, name, fd, params, args)                                                      \
	IOLAT_WRAPPER ret name params                                                              \
	{                                                                                          \
		struct iolat_call call;                                                            \
		ret result;                                                                        \
                                                                                                   \
		if (!um_iolat_call_begin(&call, op, fd))                                           \
			return um_iolat_real.name args;                                            \
		result = um_iolat_real.name args;                                                  \
		um_iolat_call_end(&call, fd, result);                                              \
		return result;                                                                     \
	}

/* A call that returns a new descriptor. */
#define WRAP_OPEN(op, name, params, args)                                                          \
	IOLAT_WRAPPER int name params                                                              \
	{                                                                                          \
		struct iolat_call call;                                                            \
		int fd;                                                                            \
                                                                                                   \
		if (!um_iolat_call_begin(&call, op, -1))                                           \
			return um_iolat_real.name args;                                            \
		fd = um_iolat_real.name args;                                                      \
		um_iolat_fd_changed(fd);                                                           \
		um_iolat_call_end(&call, fd, 0);                                                   \
		return fd;                                                                         \
	}

/* The same with a mode, which is there if a file may be created. */
#define WRAP_OPEN_MODE(op, name, params, args)                                                     \
	IOLAT_WRAPPER int name params                                                              \
	{                                                                                          \
		struct iolat_call call;                                                            \
		mode_t mode = 0;                                                                   \
		va_list ap;                                                                        \
		int fd;                                                                            \
                                                                                                   \
		if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {                       \
			va_start(ap, flags);                                                       \
			mode = va_arg(ap, mode_t);                                                 \
			va_end(ap);                                                                \
		}                                                                                  \
		if (!um_iolat_call_begin(&call, op, -1))                                           \
			return um_iolat_real.name args;                                            \
		fd = um_iolat_real.name args;                                                      \
		um_iolat_fd_changed(fd);                                                           \
		um_iolat_call_end(&call, fd, 0);                                                   \
		return fd;                                                                         \
	}

WRAP_OPEN_MODE(IOLAT_OPEN, open, (const char *path, int flags, ...), (path, flags, mode))
WRAP_OPEN_MODE(IOLAT_OPEN, open64, (const char *path, int flags, ...), (path, flags, mode))
WRAP_OPEN_MODE(IOLAT_OPENAT, openat, (int dir, const char *path, int flags, ...),
	       (dir, path, flags, mode))
WRAP_OPEN_MODE(IOLAT_OPENAT, openat64, (int dir, const char *path, int flags, ...),
	       (dir, path, flags, mode))
WRAP_OPEN(IOLAT_OPEN, __open_2, (const char *path, int flags), (path, flags))
WRAP_OPEN(IOLAT_OPEN, __open64_2, (const char *path, int flags), (path, flags))
WRAP_OPEN(IOLAT_OPENAT, __openat_2, (int dir, const char *path, int flags), (dir, path, flags))
WRAP_OPEN(IOLAT_OPENAT, __openat64_2, (int dir, const char *path, int flags), (dir, path, flags))
WRAP_OPEN(IOLAT_CREAT, creat, (const char *path, mode_t mode), (path, mode))
WRAP_OPEN(IOLAT_CREAT, creat64, (const char *path, mode_t mode), (path, mode))

WRAP(IOLAT_READ, ssize_t, read, fd, (int fd, void *buf, size_t n), (fd, buf, n))
WRAP(IOLAT_READ, ssize_t, __read_chk, fd, (int fd, void *buf, size_t n, size_t size),
     (fd, buf, n, size))
WRAP(IOLAT_WRITE, ssize_t, write, fd, (int fd, const void *buf, size_t n), (fd, buf, n))
WRAP(IOLAT_PREAD, ssize_t, pread, fd, (int fd, void *buf, size_t n, off_t at), (fd, buf, n, at))
WRAP(IOLAT_PREAD, ssize_t, pread64, fd, (int fd, void *buf, size_t n, off64_t at), (fd, buf, n, at))
WRAP(IOLAT_PREAD, ssize_t, __pread_chk, fd, (int fd, void *buf, size_t n, off_t at, size_t size),
     (fd, buf, n, at, size))
WRAP(IOLAT_PREAD, ssize_t, __pread64_chk, fd,
     (int fd, void *buf, size_t n, off64_t at, size_t size), (fd, buf, n, at, size))
WRAP(IOLAT_PWRITE, ssize_t, pwrite, fd, (int fd, const void *buf, size_t n, off_t at),
     (fd, buf, n, at))
WRAP(IOLAT_PWRITE, ssize_t, pwrite64, fd, (int fd, const void *buf, size_t n, off64_t at),
     (fd, buf, n, at))

WRAP(IOLAT_READV, ssize_t, readv, fd, (int fd, const struct iovec *iov, int nr), (fd, iov, nr))
WRAP(IOLAT_WRITEV, ssize_t, writev, fd, (int fd, const struct iovec *iov, int nr), (fd, iov, nr))
WRAP(IOLAT_PREADV, ssize_t, preadv, fd, (int fd, const struct iovec *iov, int nr, off_t at),
     (fd, iov, nr, at))
WRAP(IOLAT_PREADV, ssize_t, preadv64, fd, (int fd, const struct iovec *iov, int nr, off64_t at),
     (fd, iov, nr, at))
WRAP(IOLAT_PREADV, ssize_t, preadv2, fd,
     (int fd, const struct iovec *iov, int nr, off_t at, int flags), (fd, iov, nr, at, flags))
WRAP(IOLAT_PREADV, ssize_t, preadv64v2, fd,
     (int fd, const struct iovec *iov, int nr, off64_t at, int flags), (fd, iov, nr, at, flags))
WRAP(IOLAT_PWRITEV, ssize_t, pwritev, fd, (int fd, const struct iovec *iov, int nr, off_t at),
     (fd, iov, nr, at))
WRAP(IOLAT_PWRITEV, ssize_t, pwritev64, fd, (int fd, const struct iovec *iov, int nr, off64_t at),
     (fd, iov, nr, at))
WRAP(IOLAT_PWRITEV, ssize_t, pwritev2, fd,
     (int fd, const struct iovec *iov, int nr, off_t at, int flags), (fd, iov, nr, at, flags))
WRAP(IOLAT_PWRITEV, ssize_t, pwritev64v2, fd,
     (int fd, const struct iovec *iov, int nr, off64_t at, int flags), (fd, iov, nr, at, flags))

WRAP(IOLAT_FSYNC, int, fsync, fd, (int fd), (fd))
WRAP(IOLAT_FDATASYNC, int, fdatasync, fd, (int fd), (fd))

/* Of two files the one that is read from counts: the other is often a socket. */
WRAP(IOLAT_SENDFILE, ssize_t, sendfile, in, (int out, int in, off_t *at, size_t n),
     (out, in, at, n))
WRAP(IOLAT_SENDFILE, ssize_t, sendfile64, in, (int out, int in, off64_t *at, size_t n),
     (out, in, at, n))
WRAP(IOLAT_COPY_FILE_RANGE, ssize_t, copy_file_range, in,
     (int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned int flags),
     (in, in_at, out, out_at, n, flags))

/*
 * The number may be another thread's new file before close() has returned here.
 * A daemon that closes all numbers there may be shall not close the maps.
 */
IOLAT_WRAPPER int close(int fd)
{
	struct iolat_call call;
	int result;

	if (unlikely(um_iolat_own_fd(fd)))
		fd = -1;
	if (!um_iolat_call_begin(&call, IOLAT_CLOSE, fd)) {
		um_iolat_fd_changed(fd);
		return um_iolat_real.close(fd);
	}
	um_iolat_call_closes(&call, fd);
	um_iolat_fd_changed(fd);
	result = um_iolat_real.close(fd);
	um_iolat_call_end(&call, fd, 0);
	return result;
}
