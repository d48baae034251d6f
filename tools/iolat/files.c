/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * files.c - which file a descriptor is, and what was done to it.
 *
 * A read must not cost an fstat(2). So each thread keeps, for the descriptors
 * it uses, device and inode together with a cookie; whatever makes the
 * descriptor mean another file changes the cookie (close, dup2, fopen ...), and
 * the thread looks again. What libc or a raw system call does behind our back
 * is found at the next check: each flush has one slot checked anew.
 *
 * Sums go to the files map by atomic adds through a reference. Nobody deletes
 * from that map, so the adds are exact.
 */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "base/sys.h"

#define NR_CHANGES 65536 /* descriptors above share: looks anew more often */

/* A cookie is never 0, as fds_changed is not. */
static uint32_t changes[NR_CHANGES];

uint64_t um_iolat_fd_cookie(int fd)
{
	return (uint64_t)READ_ONCE(um_iolat_tracer.fds_changed) << 32 |
	       READ_ONCE(changes[(uint32_t)fd % NR_CHANGES]);
}

void um_iolat_fd_changed(int fd)
{
	if (fd >= 0)
		atomic_inc_relaxed(&changes[(uint32_t)fd % NR_CHANGES]);
}

void um_iolat_fds_changed(void)
{
	atomic_inc_relaxed(&um_iolat_tracer.fds_changed);
}

/* "/proc/self/fd/N" without stdio */
static void fd_link(char *buf, int fd)
{
	char digits[12];
	int n = 0;

	do {
		digits[n++] = (char)('0' + fd % 10);
		fd /= 10;
	} while (fd);
	memcpy(buf, "/proc/self/fd/", 14);
	buf += 14;
	while (n)
		*buf++ = digits[--n];
	*buf = 0;
}

/* The path of @fd; of a long one the end, after "...". Empty without /proc. */
static void name_of(char name[IOLAT_NAME_LEN], int fd)
{
	char link[32], path[4096];
	const char *from = path;
	long len = -1;

	if (fd >= 0) {
		fd_link(link, fd);
		len = um_syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof(path));
	}
	memset(name, 0, IOLAT_NAME_LEN);
	if (len <= 0)
		return;
	if (len >= IOLAT_NAME_LEN) {
		from = path + len - (IOLAT_NAME_LEN - 1 - 3);
		memcpy(name, "...", 3);
		memcpy(name + 3, from, IOLAT_NAME_LEN - 1 - 3);
	} else {
		memcpy(name, path, (size_t)len);
	}
}

/* @fd: a descriptor of this file if there is one, for its name */
static int insert_file(const struct iolat_file_key *key, int fd)
{
	struct iolat_file file = { 0 };
	int err;

	name_of(file.name, fd);
	err = um_map_update_elem(um_iolat_tracer.files, key, &file, BPF_NOEXIST);
	return err == -EEXIST ? 0 : err;
}

static bool file_is_known(const struct iolat_file_key *key)
{
	bool known = false;

	if (um_read_lock(um_iolat_tracer.files) == 0) {
		known = um_map_lookup_ref(um_iolat_tracer.files, key) != NULL;
		um_read_unlock(um_iolat_tracer.files);
	}
	return known;
}

static void add_sums(struct iolat_file *to, const struct iolat_slot *s)
{
	uint64_t worst = READ_ONCE(to->worst_ns);

	atomic_fetch_add(&to->count, s->count);
	atomic_fetch_add(&to->bytes, s->bytes);
	atomic_fetch_add(&to->total_ns, s->total_ns);
	while (worst < s->worst_ns && !try_cmpxchg(&to->worst_ns, &worst, s->worst_ns))
		;
}

static int add_to_file(const struct iolat_file_key *key, const struct iolat_slot *sums)
{
	struct iolat_file *file;
	int err = um_read_lock(um_iolat_tracer.files);

	if (err)
		return err;
	file = um_map_lookup_ref(um_iolat_tracer.files, key);
	if (file)
		add_sums(file, sums);
	um_read_unlock(um_iolat_tracer.files);
	return file ? 0 : -ENOENT;
}

static void flush_slot(struct iolat_slot *s)
{
	struct iolat_file_key key = { READ_ONCE(s->dev), READ_ONCE(s->ino) };
	struct iolat_slot sums = {
		.count = xchg(&s->count, 0),
		.bytes = xchg(&s->bytes, 0),
		.total_ns = xchg(&s->total_ns, 0),
		.worst_ns = xchg(&s->worst_ns, 0),
	};
	int err;

	if (!sums.count)
		return;
	err = add_to_file(&key, &sums);
	if (err == -ENOENT) {
		err = insert_file(&key, -1);
		if (!err)
			err = add_to_file(&key, &sums);
	}
	if (err) {
		um_iolat_lost(IOLAT_LOST_FILES, sums.count);
		um_iolat_failed(err);
	}
}

void um_iolat_flush_slots(struct iolat_thread *t)
{
	uint32_t dirty = xchg(&t->dirty_slots, 0);

	for (; dirty; dirty &= dirty - 1)
		flush_slot(&t->slots[__builtin_ctz(dirty)]);
	t->turn = (t->turn + 1) % IOLAT_SLOTS;
	WRITE_ONCE(t->slots[t->turn].cookie, 0);
}

/* Make @s the slot of @fd. */
static __cold bool fill_slot(struct iolat_slot *s, int fd, uint64_t cookie)
{
	struct iolat_file_key key;
	struct stat st;
	int saved = errno, err = 0;

	if (fstat(fd, &st)) {
		errno = saved;
		return false;
	}
	flush_slot(s);
	key.dev = st.st_dev;
	key.ino = st.st_ino;
	if (!file_is_known(&key))
		err = insert_file(&key, fd);
	if (err)
		um_iolat_failed(err);
	s->fd = fd;
	WRITE_ONCE(s->dev, key.dev);
	WRITE_ONCE(s->ino, key.ino);
	WRITE_ONCE(s->cookie, cookie);
	return true;
}

static __always_inline void add_call(struct iolat_thread *t, struct iolat_slot *s, int64_t bytes,
				     uint64_t ns)
{
	WRITE_ONCE(s->count, s->count + 1);
	if (bytes > 0)
		WRITE_ONCE(s->bytes, s->bytes + (uint64_t)bytes);
	WRITE_ONCE(s->total_ns, s->total_ns + ns);
	if (ns > s->worst_ns)
		WRITE_ONCE(s->worst_ns, ns);
	WRITE_ONCE(t->dirty_slots, t->dirty_slots | 1u << (s - t->slots));
}

void um_iolat_count_file(struct iolat_thread *t, int fd, int64_t bytes, uint64_t ns)
{
	struct iolat_slot *s = &t->slots[(uint32_t)fd % IOLAT_SLOTS];
	uint64_t cookie;

	if (unlikely(fd < 0))
		return;
	cookie = um_iolat_fd_cookie(fd);
	if (likely(s->cookie == cookie && s->fd == fd) || fill_slot(s, fd, cookie))
		add_call(t, s, bytes, ns);
}

/*
 * Only if this thread knows what it was: a close() of each of a thousand
 * descriptors that were never used is nobody's file.
 */
void um_iolat_count_closed(struct iolat_thread *t, int fd, uint64_t cookie, uint64_t ns)
{
	struct iolat_slot *s = &t->slots[(uint32_t)fd % IOLAT_SLOTS];

	if (s->cookie == cookie && s->fd == fd)
		add_call(t, s, 0, ns);
}
