/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * calls.c - makes each call that usermap-iolat wraps, by every name it has, and
 * checks what each answers. The n-th operation is made n-th prime times, so no
 * two can be taken for each other; standard output has a line for each, with
 * operation and number, in the end one with what the calls moved.
 *
 *   calls FILE    a file to be made; it has 4096 bytes in the end
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

/* Names that only _FORTIFY_SOURCE uses. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
ssize_t __read_chk(int fd, void *buf, size_t n, size_t size);
ssize_t __pread_chk(int fd, void *buf, size_t n, off_t at, size_t size);
ssize_t __pread64_chk(int fd, void *buf, size_t n, off64_t at, size_t size);
size_t __fread_chk(void *buf, size_t room, size_t size, size_t n, FILE *stream);
size_t __fread_unlocked_chk(void *buf, size_t room, size_t size, size_t n, FILE *stream);
char *__fgets_chk(char *buf, size_t room, int n, FILE *stream);
char *__fgets_unlocked_chk(char *buf, size_t room, int n, FILE *stream);
ssize_t __getdelim(char **line, size_t *room, int delim, FILE *stream);

#define SIZE 4096

static const char *path;
static char buf[SIZE];
static int fd;
static FILE *stream;
static char *line;
static size_t room;
static struct iovec iov = { buf, SIZE };

/* How often each operation has been made; printed without stdio being traced. */
static struct {
	const char *op;
	long nr;
} made[32];

static void count(const char *op)
{
	int i;

	for (i = 0; made[i].op && strcmp(made[i].op, op); i++)
		;
	made[i].op = op;
	made[i].nr++;
}

static void must(int good, const char *what)
{
	if (good)
		return;
	dprintf(2, "%s answers what it should not, errno %d\n", what, errno);
	_exit(1);
}

/* Make @call @n times; each answers @want, and leaves errno as it was. */
#define TIMES(n, op, call, want)                                                                   \
	do {                                                                                       \
		int i_;                                                                            \
                                                                                                   \
		for (i_ = 0; i_ < (n); i_++) {                                                     \
			errno = 4711;                                                              \
			must((call) == (want) && errno == 4711, #call);                            \
			count(op);                                                                 \
		}                                                                                  \
	} while (0)

static void close_it(void)
{
	must(close(fd) == 0, "close");
	count("close");
}

#define OPENS(n, op, call)                                                                         \
	do {                                                                                       \
		int i_;                                                                            \
                                                                                                   \
		for (i_ = 0; i_ < (n); i_++) {                                                     \
			fd = (call);                                                               \
			must(fd >= 0, #call);                                                      \
			count(op);                                                                 \
			close_it();                                                                \
		}                                                                                  \
	} while (0)

static void opens(void)
{
	OPENS(2, "creat", creat(path, 0640));
	OPENS(3, "creat", creat64(path, 0640));
	OPENS(1, "open", open(path, O_RDWR));
	OPENS(2, "open", open64(path, O_RDWR));
	OPENS(3, "open", __open_2(path, O_RDWR));
	OPENS(4, "open", __open64_2(path, O_RDWR));
	OPENS(1, "open", open("/tmp", O_TMPFILE | O_RDWR, 0600));
	OPENS(1, "openat", openat(AT_FDCWD, path, O_RDWR | O_CREAT, 0640));
	OPENS(4, "openat", openat64(AT_FDCWD, path, O_RDWR));
	OPENS(5, "openat", __openat_2(AT_FDCWD, path, O_RDWR));
	OPENS(7, "openat", __openat64_2(AT_FDCWD, path, O_RDWR));
}

static ssize_t rewound(ssize_t result)
{
	must(lseek(fd, 0, SEEK_SET) == 0, "lseek");
	return result;
}

static void descriptors(void)
{
	int null = open("/dev/null", O_WRONLY), other = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	off64_t at;

	count("open");
	count("open");
	fd = open(path, O_RDWR);
	count("open");
	must(fd >= 0 && null >= 0 && other >= 0, "open");
	TIMES(19, "write", rewound(write(fd, buf, SIZE)), SIZE);
	TIMES(20, "read", rewound(read(fd, buf, SIZE)), SIZE);
	TIMES(3, "read", rewound(__read_chk(fd, buf, SIZE, SIZE)), SIZE);
	TIMES(8, "pread", pread(fd, buf, SIZE, 0), SIZE);
	TIMES(8, "pread", pread64(fd, buf, SIZE, 0), SIZE);
	TIMES(8, "pread", __pread_chk(fd, buf, SIZE, 0, SIZE), SIZE);
	TIMES(5, "pread", __pread64_chk(fd, buf, SIZE, 0, SIZE), SIZE);
	TIMES(15, "pwrite", pwrite(fd, buf, SIZE, 0), SIZE);
	TIMES(16, "pwrite", pwrite64(fd, buf, SIZE, 0), SIZE);
	TIMES(37, "readv", rewound(readv(fd, &iov, 1)), SIZE);
	TIMES(41, "writev", rewound(writev(fd, &iov, 1)), SIZE);
	TIMES(10, "preadv", preadv(fd, &iov, 1, 0), SIZE);
	TIMES(11, "preadv", preadv64(fd, &iov, 1, 0), SIZE);
	TIMES(11, "preadv", preadv2(fd, &iov, 1, 0, 0), SIZE);
	TIMES(11, "preadv", preadv64v2(fd, &iov, 1, 0, 0), SIZE);
	TIMES(12, "pwritev", pwritev(fd, &iov, 1, 0), SIZE);
	TIMES(12, "pwritev", pwritev64(fd, &iov, 1, 0), SIZE);
	TIMES(12, "pwritev", pwritev2(fd, &iov, 1, 0, 0), SIZE);
	TIMES(11, "pwritev", pwritev64v2(fd, &iov, 1, 0, 0), SIZE);
	TIMES(53, "fsync", fsync(fd), 0);
	TIMES(59, "fdatasync", fdatasync(fd), 0);
	TIMES(30, "sendfile", rewound(sendfile(null, fd, NULL, SIZE)), SIZE);
	TIMES(31, "sendfile", rewound(sendfile64(null, fd, NULL, SIZE)), SIZE);
	TIMES(67, "copy_file_range", (at = 0, copy_file_range(fd, &at, other, NULL, 16, 0)), 16);
	close_it();
	fd = null;
	close_it();
	fd = other;
	close_it();
}

static void close_stream(void)
{
	must(fclose(stream) == 0, "fclose");
	count("fclose");
}

static size_t start(void)
{
	rewind(stream);
	return 0;
}

/* The file is lines of 15 characters. */
static void reading_streams(void)
{
	int i;

	for (i = 0; i < 30; i++) {
		stream = fopen(path, "r");
		must(stream != NULL, "fopen");
		count("fopen");
		close_stream();
	}
	for (i = 0; i < 37; i++) {
		stream = fopen64(path, "r");
		must(stream != NULL, "fopen64");
		count("fopen");
		if (i < 36)
			close_stream();
	}
	TIMES(1, "fopen", freopen(path, "r+", stream), stream);
	TIMES(2, "fopen", freopen64(path, "r+", stream), stream);
	TIMES(20, "fread", start() + fread(buf, 2, 8, stream), 8);
	TIMES(20, "fread", start() + fread_unlocked(buf, 2, 8, stream), 8);
	TIMES(20, "fread", start() + __fread_chk(buf, SIZE, 2, 8, stream), 8);
	TIMES(13, "fread", start() + __fread_unlocked_chk(buf, SIZE, 2, 8, stream), 8);
	TIMES(20, "fgets", (rewind(stream), fgets(buf, 20, stream)), buf);
	TIMES(20, "fgets", (rewind(stream), fgets_unlocked(buf, 20, stream)), buf);
	TIMES(20, "fgets", (rewind(stream), __fgets_chk(buf, SIZE, 20, stream)), buf);
	TIMES(23, "fgets", (rewind(stream), __fgets_unlocked_chk(buf, SIZE, 20, stream)), buf);
	TIMES(30, "getline", (rewind(stream), getline(&line, &room, stream)), 16);
	TIMES(30, "getline", (rewind(stream), getdelim(&line, &room, '\n', stream)), 16);
	TIMES(29, "getline", (rewind(stream), __getdelim(&line, &room, '\n', stream)), 16);
}

static void writing_streams(void)
{
	TIMES(40, "fwrite", start() + fwrite("0123456789abcd\n", 5, 3, stream), 3);
	TIMES(43, "fwrite", start() + fwrite_unlocked("0123456789abcd\n", 5, 3, stream), 3);
	TIMES(48, "fputs", (rewind(stream), fputs("0123", stream)), 1);
	TIMES(49, "fputs", (rewind(stream), fputs_unlocked("0123", stream)), 1);
	TIMES(50, "fflush", fflush(stream), 0);
	TIMES(50, "fflush", fflush_unlocked(stream), 0);
	TIMES(1, "fflush", fflush(NULL), 0);
	close_stream();
}

int main(int argc, char **argv)
{
	int i;

	if (argc != 2) {
		dprintf(2, "calls FILE\n");
		return 2;
	}
	path = argv[1];
	for (i = 0; i < SIZE; i++)
		buf[i] = "0123456789abcde\n"[i % 16];
	opens();
	descriptors();
	reading_streams();
	writing_streams();
	free(line);
	/* dprintf() writes from inside glibc, which is not a call of ours */
	for (i = 0; made[i].op; i++)
		dprintf(1, "%s %ld\n", made[i].op, made[i].nr);
	return 0;
}
