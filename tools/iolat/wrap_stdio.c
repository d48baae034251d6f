/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * wrap_stdio.c - the calls of stdio, timed as calls of their own: what glibc
 * reads and writes for them passes by every preloaded library.
 */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1 /* keeps glibc's own inline getline() and others away */
#endif
#include <errno.h>
#include "real.h"
#include "trace.h"

/* The names that calls get from _FORTIFY_SOURCE have no declaration. */
#define DECLARE(ret, name, params) ret name params;
IOLAT_REAL_STDIO(DECLARE)

/* A stream of memory or of callbacks has no descriptor. */
static int fd_of(FILE *stream)
{
	int saved = errno, fd = stream ? fileno_unlocked(stream) : -1;

	errno = saved;
	return fd;
}

/* A call on @stream; @bytes: what it moved, from its result */
#define WRAP(op, ret, name, params, args, bytes)                                                   \
	IOLAT_WRAPPER ret name params                                                              \
	{                                                                                          \
		struct iolat_call call;                                                            \
		int fd = fd_of(stream);                                                            \
		ret result;                                                                        \
                                                                                                   \
		if (!um_iolat_call_begin(&call, op, fd))                                           \
			return um_iolat_real.name args;                                            \
		result = um_iolat_real.name args;                                                  \
		um_iolat_call_end(&call, fd, bytes);                                               \
		return result;                                                                     \
	}

#define WRAP_FOPEN(name)                                                                           \
	IOLAT_WRAPPER FILE *name(const char *path, const char *mode)                               \
	{                                                                                          \
		struct iolat_call call;                                                            \
		FILE *stream;                                                                      \
		int fd;                                                                            \
                                                                                                   \
		if (!um_iolat_call_begin(&call, IOLAT_FOPEN, -1))                                  \
			return um_iolat_real.name(path, mode);                                     \
		stream = um_iolat_real.name(path, mode);                                           \
		fd = fd_of(stream);                                                                \
		um_iolat_fd_changed(fd);                                                           \
		um_iolat_call_end(&call, fd, 0);                                                   \
		return stream;                                                                     \
	}

#define WRAP_FREOPEN(name)                                                                         \
	IOLAT_WRAPPER FILE *name(const char *path, const char *mode, FILE *old)                    \
	{                                                                                          \
		struct iolat_call call;                                                            \
		FILE *stream;                                                                      \
		int fd = fd_of(old);                                                               \
                                                                                                   \
		um_iolat_fd_changed(fd);                                                           \
		if (!um_iolat_call_begin(&call, IOLAT_FOPEN, fd))                                  \
			return um_iolat_real.name(path, mode, old);                                \
		stream = um_iolat_real.name(path, mode, old);                                      \
		fd = fd_of(stream);                                                                \
		um_iolat_fd_changed(fd);                                                           \
		um_iolat_call_end(&call, fd, 0);                                                   \
		return stream;                                                                     \
	}

WRAP_FOPEN(fopen)
WRAP_FOPEN(fopen64)
WRAP_FREOPEN(freopen)
WRAP_FREOPEN(freopen64)

WRAP(IOLAT_FREAD, size_t, fread, (void *buf, size_t size, size_t n, FILE *stream),
     (buf, size, n, stream), (int64_t)(result *size))
WRAP(IOLAT_FREAD, size_t, fread_unlocked, (void *buf, size_t size, size_t n, FILE *stream),
     (buf, size, n, stream), (int64_t)(result *size))
WRAP(IOLAT_FREAD, size_t, __fread_chk,
     (void *buf, size_t room, size_t size, size_t n, FILE *stream), (buf, room, size, n, stream),
     (int64_t)(result *size))
WRAP(IOLAT_FREAD, size_t, __fread_unlocked_chk,
     (void *buf, size_t room, size_t size, size_t n, FILE *stream), (buf, room, size, n, stream),
     (int64_t)(result *size))
WRAP(IOLAT_FWRITE, size_t, fwrite, (const void *buf, size_t size, size_t n, FILE *stream),
     (buf, size, n, stream), (int64_t)(result *size))
WRAP(IOLAT_FWRITE, size_t, fwrite_unlocked, (const void *buf, size_t size, size_t n, FILE *stream),
     (buf, size, n, stream), (int64_t)(result *size))

/* To count the bytes of strings would cost more than to move them. */
WRAP(IOLAT_FGETS, char *, fgets, (char *buf, int n, FILE *stream), (buf, n, stream), 0)
WRAP(IOLAT_FGETS, char *, fgets_unlocked, (char *buf, int n, FILE *stream), (buf, n, stream), 0)
WRAP(IOLAT_FGETS, char *, __fgets_chk, (char *buf, size_t room, int n, FILE *stream),
     (buf, room, n, stream), 0)
WRAP(IOLAT_FGETS, char *, __fgets_unlocked_chk, (char *buf, size_t room, int n, FILE *stream),
     (buf, room, n, stream), 0)
WRAP(IOLAT_GETLINE, ssize_t, getline, (char **line, size_t *room, FILE *stream),
     (line, room, stream), result)
WRAP(IOLAT_GETLINE, ssize_t, getdelim, (char **line, size_t *room, int delim, FILE *stream),
     (line, room, delim, stream), result)
WRAP(IOLAT_GETLINE, ssize_t, __getdelim, (char **line, size_t *room, int delim, FILE *stream),
     (line, room, delim, stream), result)
WRAP(IOLAT_FPUTS, int, fputs, (const char *s, FILE *stream), (s, stream), 0)
WRAP(IOLAT_FPUTS, int, fputs_unlocked, (const char *s, FILE *stream), (s, stream), 0)
WRAP(IOLAT_FFLUSH, int, fflush, (FILE * stream), (stream), 0)
WRAP(IOLAT_FFLUSH, int, fflush_unlocked, (FILE * stream), (stream), 0)

IOLAT_WRAPPER int fclose(FILE *stream)
{
	struct iolat_call call;
	int fd = fd_of(stream), result;

	if (!um_iolat_call_begin(&call, IOLAT_FCLOSE, fd)) {
		um_iolat_fd_changed(fd);
		return um_iolat_real.fclose(stream);
	}
	if (fd >= 0)
		um_iolat_call_closes(&call, fd);
	um_iolat_fd_changed(fd);
	result = um_iolat_real.fclose(stream);
	um_iolat_call_end(&call, fd, 0);
	return result;
}
