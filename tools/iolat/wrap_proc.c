/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * wrap_proc.c - calls that are not timed: those that change what a descriptor
 * means, and those that end the program or make it another, before which what
 * the threads have gathered must reach the maps.
 */
#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include "real.h"
#include "trace.h"

IOLAT_WRAPPER int dup2(int old, int new)
{
	int fd;

	um_iolat_real_need();
	um_iolat_fd_changed(new);
	fd = um_iolat_real.dup2(old, new);
	um_iolat_fd_changed(fd);
	return fd;
}

IOLAT_WRAPPER int dup3(int old, int new, int flags)
{
	int fd;

	um_iolat_real_need();
	um_iolat_fd_changed(new);
	fd = um_iolat_real.dup3(old, new, flags);
	um_iolat_fd_changed(fd);
	return fd;
}

/* The lowest of the maps' descriptors from @first to @last, or 0. */
static unsigned int own_fd_between(unsigned int first, unsigned int last)
{
	unsigned int lowest = 0, i;

	for (i = 0; i < ARRAY_SIZE(um_iolat_tracer.fds); i++) {
		unsigned int own = (unsigned int)um_iolat_tracer.fds[i];

		if (own && own >= first && own <= last && (!lowest || own < lowest))
			lowest = own;
	}
	return lowest;
}

/* All but the maps' own. */
IOLAT_WRAPPER int close_range(unsigned int first, unsigned int last, int flags)
{
	unsigned int own;
	int result = 0;

	um_iolat_real_need();
	um_iolat_fds_changed();
	while (!result && (own = own_fd_between(first, last)) != 0) {
		if (own > first)
			result = um_iolat_real.close_range(first, own - 1, flags);
		if (own == last)
			return result;
		first = own + 1;
	}
	return result ? result : um_iolat_real.close_range(first, last, flags);
}

IOLAT_WRAPPER void closefrom(int first)
{
	int saved = errno;

	if (own_fd_between((unsigned int)max(first, 0), ~0u) &&
	    close_range((unsigned int)max(first, 0), ~0u, 0) == 0)
		return;
	errno = saved;
	um_iolat_real_need();
	um_iolat_fds_changed();
	um_iolat_real.closefrom(first);
}

/* Under another name here: as closedir() the compiler takes @dir to be not NULL. */
IOLAT_WRAPPER int um_wrap_closedir(DIR *dir) __asm__("closedir");

IOLAT_WRAPPER int um_wrap_closedir(DIR *dir)
{
	um_iolat_real_need();
	if (dir)
		um_iolat_fd_changed(dirfd(dir));
	return um_iolat_real.closedir(dir);
}

IOLAT_WRAPPER int pclose(FILE *stream)
{
	um_iolat_real_need();
	if (stream)
		um_iolat_fd_changed(fileno_unlocked(stream));
	return um_iolat_real.pclose(stream);
}

IOLAT_WRAPPER int fcloseall(void)
{
	um_iolat_real_need();
	um_iolat_fds_changed();
	return um_iolat_real.fcloseall();
}

/* The parent ends in glibc's fork of it; 0 to 2 become /dev/null. */
IOLAT_WRAPPER int daemon(int nochdir, int noclose)
{
	um_iolat_real_need();
	um_iolat_flush_all();
	um_iolat_fds_changed();
	return um_iolat_real.daemon(nochdir, noclose);
}

/*
 * A child of vfork() that gets here has changed descriptors of its own in
 * memory that is its parent's, too: the parent must look anew.
 */
static void before_exec(void)
{
	um_iolat_real_need();
	um_iolat_flush_all();
	um_iolat_fds_changed();
}

IOLAT_WRAPPER int execve(const char *path, char *const argv[], char *const envp[])
{
	before_exec();
	return um_iolat_real.execve(path, argv, envp);
}

IOLAT_WRAPPER int execv(const char *path, char *const argv[])
{
	before_exec();
	return um_iolat_real.execv(path, argv);
}

IOLAT_WRAPPER int execvp(const char *file, char *const argv[])
{
	before_exec();
	return um_iolat_real.execvp(file, argv);
}

IOLAT_WRAPPER int execvpe(const char *file, char *const argv[], char *const envp[])
{
	before_exec();
	return um_iolat_real.execvpe(file, argv, envp);
}

IOLAT_WRAPPER int fexecve(int fd, char *const argv[], char *const envp[])
{
	before_exec();
	return um_iolat_real.fexecve(fd, argv, envp);
}

/* How many there are, @first and the closing NULL included. */
static size_t count_args(const char *first, va_list *ap)
{
	size_t n = 1;

	for (; first; n++)
		first = va_arg(*ap, char *);
	return n;
}

static void take_args(char **argv, size_t n, const char *first, va_list *ap)
{
	size_t i;

	argv[0] = (char *)first;
	for (i = 1; i < n; i++)
		argv[i] = va_arg(*ap, char *);
}

/* Leaves @ap behind the arguments, where execle() has its environment. */
#define COLLECT_ARGS(argv, first, ap)                                                              \
	do {                                                                                       \
		size_t n_;                                                                         \
                                                                                                   \
		va_start(ap, first);                                                               \
		n_ = count_args(first, &ap);                                                       \
		va_end(ap);                                                                        \
		(argv) = alloca(n_ * sizeof(*(argv)));                                             \
		va_start(ap, first);                                                               \
		take_args(argv, n_, first, &ap);                                                   \
	} while (0)

IOLAT_WRAPPER int execl(const char *path, const char *arg, ...)
{
	char **argv;
	va_list ap;

	COLLECT_ARGS(argv, arg, ap);
	va_end(ap);
	before_exec();
	return um_iolat_real.execv(path, argv);
}

IOLAT_WRAPPER int execlp(const char *file, const char *arg, ...)
{
	char **argv;
	va_list ap;

	COLLECT_ARGS(argv, arg, ap);
	va_end(ap);
	before_exec();
	return um_iolat_real.execvp(file, argv);
}

IOLAT_WRAPPER int execle(const char *path, const char *arg, ...)
{
	char **argv, **envp;
	va_list ap;

	COLLECT_ARGS(argv, arg, ap);
	envp = va_arg(ap, char **);
	va_end(ap);
	before_exec();
	return um_iolat_real.execve(path, argv, envp);
}

IOLAT_WRAPPER void _exit(int status)
{
	before_exec();
	um_iolat_real._exit(status);
	__builtin_unreachable();
}

IOLAT_WRAPPER void _Exit(int status)
{
	before_exec();
	um_iolat_real._Exit(status);
	__builtin_unreachable();
}
