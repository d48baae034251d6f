/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * real.h - the functions of libc that stand behind the wrappers.
 *
 * One list: a member of um_iolat_real and its look-up follow from it. A name that
 * libc lacks stays NULL; nobody can then have called its wrapper either.
 */
#ifndef IOLAT_REAL_H
#define IOLAT_REAL_H

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/atomic.h"

/* clang-format off */
#define IOLAT_REAL_FD(X) \
	X(int, open, (const char *, int, ...)) \
	X(int, open64, (const char *, int, ...)) \
	X(int, openat, (int, const char *, int, ...)) \
	X(int, openat64, (int, const char *, int, ...)) \
	X(int, __open_2, (const char *, int)) \
	X(int, __open64_2, (const char *, int)) \
	X(int, __openat_2, (int, const char *, int)) \
	X(int, __openat64_2, (int, const char *, int)) \
	X(int, creat, (const char *, mode_t)) \
	X(int, creat64, (const char *, mode_t)) \
	X(int, close, (int)) \
	X(ssize_t, read, (int, void *, size_t)) \
	X(ssize_t, __read_chk, (int, void *, size_t, size_t)) \
	X(ssize_t, write, (int, const void *, size_t)) \
	X(ssize_t, pread, (int, void *, size_t, off_t)) \
	X(ssize_t, pread64, (int, void *, size_t, off64_t)) \
	X(ssize_t, __pread_chk, (int, void *, size_t, off_t, size_t)) \
	X(ssize_t, __pread64_chk, (int, void *, size_t, off64_t, size_t)) \
	X(ssize_t, pwrite, (int, const void *, size_t, off_t)) \
	X(ssize_t, pwrite64, (int, const void *, size_t, off64_t)) \
	X(ssize_t, readv, (int, const struct iovec *, int)) \
	X(ssize_t, writev, (int, const struct iovec *, int)) \
	X(ssize_t, preadv, (int, const struct iovec *, int, off_t)) \
	X(ssize_t, preadv64, (int, const struct iovec *, int, off64_t)) \
	X(ssize_t, preadv2, (int, const struct iovec *, int, off_t, int)) \
	X(ssize_t, preadv64v2, (int, const struct iovec *, int, off64_t, int)) \
	X(ssize_t, pwritev, (int, const struct iovec *, int, off_t)) \
	X(ssize_t, pwritev64, (int, const struct iovec *, int, off64_t)) \
	X(ssize_t, pwritev2, (int, const struct iovec *, int, off_t, int)) \
	X(ssize_t, pwritev64v2, (int, const struct iovec *, int, off64_t, int)) \
	X(int, fsync, (int)) \
	X(int, fdatasync, (int)) \
	X(ssize_t, sendfile, (int, int, off_t *, size_t)) \
	X(ssize_t, sendfile64, (int, int, off64_t *, size_t)) \
	X(ssize_t, copy_file_range, (int, off64_t *, int, off64_t *, size_t, unsigned int))

#define IOLAT_REAL_STDIO(X) \
	X(FILE *, fopen, (const char *, const char *)) \
	X(FILE *, fopen64, (const char *, const char *)) \
	X(FILE *, freopen, (const char *, const char *, FILE *)) \
	X(FILE *, freopen64, (const char *, const char *, FILE *)) \
	X(int, fclose, (FILE *)) \
	X(size_t, fread, (void *, size_t, size_t, FILE *)) \
	X(size_t, fread_unlocked, (void *, size_t, size_t, FILE *)) \
	X(size_t, __fread_chk, (void *, size_t, size_t, size_t, FILE *)) \
	X(size_t, __fread_unlocked_chk, (void *, size_t, size_t, size_t, FILE *)) \
	X(size_t, fwrite, (const void *, size_t, size_t, FILE *)) \
	X(size_t, fwrite_unlocked, (const void *, size_t, size_t, FILE *)) \
	X(char *, fgets, (char *, int, FILE *)) \
	X(char *, fgets_unlocked, (char *, int, FILE *)) \
	X(char *, __fgets_chk, (char *, size_t, int, FILE *)) \
	X(char *, __fgets_unlocked_chk, (char *, size_t, int, FILE *)) \
	X(ssize_t, getline, (char **, size_t *, FILE *)) \
	X(ssize_t, getdelim, (char **, size_t *, int, FILE *)) \
	X(ssize_t, __getdelim, (char **, size_t *, int, FILE *)) \
	X(int, fputs, (const char *, FILE *)) \
	X(int, fputs_unlocked, (const char *, FILE *)) \
	X(int, fflush, (FILE *)) \
	X(int, fflush_unlocked, (FILE *))

/* Not timed: they change what a descriptor means, or end the program. */
#define IOLAT_REAL_PROC(X) \
	X(int, dup2, (int, int)) \
	X(int, dup3, (int, int, int)) \
	X(int, close_range, (unsigned int, unsigned int, int)) \
	X(void, closefrom, (int)) \
	X(int, closedir, (DIR *)) \
	X(int, pclose, (FILE *)) \
	X(int, fcloseall, (void)) \
	X(int, daemon, (int, int)) \
	X(int, execve, (const char *, char *const[], char *const[])) \
	X(int, execv, (const char *, char *const[])) \
	X(int, execvp, (const char *, char *const[])) \
	X(int, execvpe, (const char *, char *const[], char *const[])) \
	X(int, fexecve, (int, char *const[], char *const[])) \
	X(void, _exit, (int)) \
	X(void, _Exit, (int))
/* clang-format on */

#define IOLAT_REAL_MEMBER(ret, name, params) ret(*name) params;

struct iolat_real {
	bool resolved;
	IOLAT_REAL_FD(IOLAT_REAL_MEMBER)
	IOLAT_REAL_STDIO(IOLAT_REAL_MEMBER)
	IOLAT_REAL_PROC(IOLAT_REAL_MEMBER)
};

extern struct iolat_real um_iolat_real;

void um_iolat_real_resolve(void);

/*
 * Constructors of other libraries run before ours and may already call. The
 * members are stored before the flag; each thread would find the same.
 */
static inline void um_iolat_real_need(void)
{
	if (unlikely(!smp_load_acquire(&um_iolat_real.resolved)))
		um_iolat_real_resolve();
}

/* Seen by the traced program in place of libc's. */
#define IOLAT_WRAPPER __attribute__((visibility("default")))

#endif
