/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* collect.c - what the maps say: counts by operation, and files. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "frontend.h"

const char *const op_names[IOLAT_NR_OPS] = {
	[IOLAT_OPEN] = "open",	       [IOLAT_OPENAT] = "openat",
	[IOLAT_CREAT] = "creat",       [IOLAT_CLOSE] = "close",
	[IOLAT_READ] = "read",	       [IOLAT_WRITE] = "write",
	[IOLAT_PREAD] = "pread",       [IOLAT_PWRITE] = "pwrite",
	[IOLAT_READV] = "readv",       [IOLAT_WRITEV] = "writev",
	[IOLAT_PREADV] = "preadv",     [IOLAT_PWRITEV] = "pwritev",
	[IOLAT_FSYNC] = "fsync",       [IOLAT_FDATASYNC] = "fdatasync",
	[IOLAT_SENDFILE] = "sendfile", [IOLAT_COPY_FILE_RANGE] = "copy_file_range",
	[IOLAT_FOPEN] = "fopen",       [IOLAT_FCLOSE] = "fclose",
	[IOLAT_FREAD] = "fread",       [IOLAT_FWRITE] = "fwrite",
	[IOLAT_FGETS] = "fgets",       [IOLAT_GETLINE] = "getline",
	[IOLAT_FPUTS] = "fputs",       [IOLAT_FFLUSH] = "fflush",
};

/* The next entry, 0 or -ENOENT; writers that keep a bucket busy are waited out. */
static int next_entry(struct um_iter *it, void *key, void *value)
{
	int err;

	do
		err = um_iter_next(it, key, value);
	while (err == -EAGAIN);
	return err;
}

int collect_counts(struct session *s, struct counts *c)
{
	struct iolat_hist_key key;
	struct um_iter *it;
	uint64_t nr;
	int err = um_iter_open(s->hist, &it);

	memset(c, 0, sizeof(*c));
	if (err)
		return err;
	while ((err = next_entry(it, &key, &nr)) == 0) {
		if (key.op < IOLAT_NR_OPS && key.bucket < IOLAT_NR_BUCKETS)
			c->hist[key.op][key.bucket] += nr;
		else if (key.op == IOLAT_LOST && key.bucket < IOLAT_NR_LOSSES)
			c->lost[key.bucket] += nr;
	}
	um_iter_close(it);
	return err == -ENOENT ? 0 : err;
}

static int collect_files(struct session *s, struct findings *f)
{
	size_t room = 0;
	struct um_iter *it;
	int err = um_iter_open(s->files, &it);

	while (!err) {
		if (f->nr_files == room) {
			size_t more = room ? 2 * room : 256;
			struct file_sums *files = realloc(f->files, more * sizeof(*files));

			if (!files) {
				err = -ENOMEM;
				break;
			}
			f->files = files;
			room = more;
		}
		err = next_entry(it, &f->files[f->nr_files].key, &f->files[f->nr_files].sums);
		if (!err)
			f->nr_files++;
	}
	um_iter_close(it);
	return err == -ENOENT ? 0 : err;
}

/* Calls under way; between two calls a thread's entry may stay, with no time. */
static int collect_unfinished(struct session *s, struct findings *f)
{
	struct iolat_start_key key;
	struct iolat_start start;
	struct um_iter *it;
	int err = um_iter_open(s->starts, &it);

	if (err)
		return err;
	while ((err = next_entry(it, &key, &start)) == 0)
		f->unfinished += start.start_ns != 0;
	um_iter_close(it);
	return err == -ENOENT ? 0 : err;
}

static void collect_missed(struct session *s, struct findings *f)
{
	int fd = open(s->missed, O_RDONLY | O_CLOEXEC);
	uint8_t bytes[4096];
	ssize_t n;

	if (fd < 0)
		return;
	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		f->missed += (uint64_t)n;
		f->missed_errno = bytes[0];
	}
	close(fd);
}

int collect_findings(struct session *s, struct findings *f)
{
	int err;

	memset(f, 0, sizeof(*f));
	err = collect_counts(s, &f->counts);
	if (!err)
		err = collect_files(s, f);
	if (!err)
		err = collect_unfinished(s, f);
	collect_missed(s, f);
	return err;
}

void free_findings(struct findings *f)
{
	free(f->files);
	f->files = NULL;
	f->nr_files = 0;
}

uint64_t sum_of(const uint64_t buckets[IOLAT_NR_BUCKETS])
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < IOLAT_NR_BUCKETS; i++)
		sum += buckets[i];
	return sum;
}

unsigned int quantile(const uint64_t buckets[IOLAT_NR_BUCKETS], double fraction)
{
	double wanted = fraction * (double)sum_of(buckets), seen = 0;
	unsigned int i;

	for (i = 0; i < IOLAT_NR_BUCKETS - 1; i++) {
		seen += (double)buckets[i];
		if (seen >= wanted && seen > 0)
			break;
	}
	return i;
}

static int descending(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int by_worst(const void *a, const void *b)
{
	const struct file_sums *x = a, *y = b;

	return descending(x->sums.worst_ns, y->sums.worst_ns);
}

static int by_count(const void *a, const void *b)
{
	const struct file_sums *x = a, *y = b;

	return descending(x->sums.count, y->sums.count);
}

/* Files that were seen and whose sums are still on their way do not count. */
static size_t top(struct findings *f, int (*order)(const void *, const void *))
{
	size_t n = 0;

	if (f->nr_files)
		qsort(f->files, f->nr_files, sizeof(*f->files), order);
	while (n < f->nr_files && n < NR_TOP && f->files[n].sums.count)
		n++;
	return n;
}

size_t top_slowest(struct findings *f)
{
	return top(f, by_worst);
}

size_t top_busiest(struct findings *f)
{
	return top(f, by_count);
}

/* Bytes of a UTF-8 character by its first one, or 0. */
static size_t utf8_length(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Bytes of the printable UTF-8 character at @s, or 0. */
static size_t printable(const unsigned char *s)
{
	size_t len = utf8_length(s[0]);
	size_t i;

	if (len == 1)
		return s[0] >= 0x20 && s[0] != 0x7f && s[0] != '\\';
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if (len == 2 && s[0] == 0xc2 && s[1] < 0xa0)
		return 0; /* C1 controls */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0; /* overlong, a surrogate, or beyond Unicode */
	return len;
}

void file_name(const struct file_sums *f, char *buf, size_t size)
{
	unsigned char name[IOLAT_NAME_LEN + 4] = { 0 };
	size_t at = 0, i = 0;

	memcpy(name, f->sums.name, IOLAT_NAME_LEN - 1);
	if (!name[0]) {
		snprintf(buf, size, "device %u:%u inode %llu", gnu_dev_major(f->key.dev),
			 gnu_dev_minor(f->key.dev), (unsigned long long)f->key.ino);
		return;
	}
	while (name[i] && at + 5 < size) {
		size_t len = printable(name + i);

		if (len) {
			memcpy(buf + at, name + i, len);
			at += len;
			i += len;
		} else {
			at += (size_t)snprintf(buf + at, 5, "\\x%02x", name[i++]);
		}
	}
	buf[at] = 0;
}
