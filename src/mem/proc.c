/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* proc.c - process slots, liveness, and the recovery lock. */
#include "mem/proc.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include "base/sys.h"

/* Bytes that are locked lie far behind any arena's end. */
#define LOCK_BASE (1ll << 60)
#define RECOVERY_BYTE (LOCK_BASE - 1)

static struct um_proc *procs(const struct um_arena *a)
{
	return (struct um_proc *)(a->base + a->geo.procs);
}

/* A file description of our own, whatever fork and passing did to a->fd. */
static int own_description(const struct um_arena *a)
{
	char path[] = "/proc/self/fd/0000000000", *c = path + sizeof(path) - 1;
	int fd = a->fd;

	if (!um_arena_fd_valid(a))
		return -EBADF;
	/* no snprintf(): this may be a handler */
	for (; *(c - 1) != '/'; fd /= 10)
		*--c = (char)('0' + fd % 10);
	/* /proc takes no leading zeros */
	while (*c == '0' && c[1])
		memmove(c, c + 1, strlen(c));
	return (int)um_syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
}

static int lock_free_byte(int fd)
{
	int slot, err;

	for (slot = 0; slot < UM_MAX_PROCS; slot++) {
		err = sys_byte_lock(fd, LOCK_BASE + slot);
		if (!err)
			return slot;
		if (err != -EAGAIN && err != -EACCES)
			return err;
	}
	return -EUSERS;
}

/*
 * Take a free slot's byte through @fd, and a page that keeps it when @fd is
 * closed. The slot, or an error.
 */
static int take_slot(struct um_arena *a, int fd, void **lock_page)
{
	int slot = lock_free_byte(fd);

	if (slot < 0)
		return slot;
	if (smp_load_acquire(&procs(a)[slot].used))
		return -EAGAIN;
	*lock_page = mmap(NULL, a->params.page_size, PROT_READ, MAP_SHARED, fd, 0);
	if (*lock_page == MAP_FAILED)
		return -ENOMEM;
	madvise(*lock_page, a->params.page_size, MADV_DONTFORK);
	return slot;
}

int um_proc_join(struct um_arena *a)
{
	uint32_t forks;
	void *lock_page;
	int fd, slot;

	a->lock_page = NULL;
	a->slot = a->shared ? UM_NO_SLOT : 0;
	if (!a->shared)
		return 0;
	for (;;) {
		forks = um_forks();
		fd = own_description(a);
		if (fd < 0)
			return fd;
		slot = take_slot(a, fd, &lock_page);
		if (um_forks() == forks)
			break;
		/* a child has a copy, which would keep the lock: not this one */
		if (slot >= 0) {
			sys_byte_unlock(fd, LOCK_BASE + slot);
			munmap(lock_page, a->params.page_size);
		}
		um_syscall(SYS_close, fd);
	}
	um_syscall(SYS_close, fd);
	if (slot < 0)
		return slot;
	a->lock_page = lock_page;
	a->slot = (uint32_t)slot;
	WRITE_ONCE(procs(a)[slot].pid, getpid());
	smp_store_release(&procs(a)[slot].used, 1);
	atomic_fetch_add(&a->hdr->progress, 1u);
	return 0;
}

void um_proc_leave(struct um_arena *a)
{
	if (!a->lock_page)
		return;
	smp_store_release(&procs(a)[a->slot].used, 0);
	munmap(a->lock_page, a->params.page_size);
	a->lock_page = NULL;
}

bool um_proc_alive(const struct um_arena *a, uint32_t slot)
{
	if (!a->shared || (slot == a->slot && a->lock_page) || slot >= UM_MAX_PROCS)
		return true;
	return !um_arena_fd_valid(a) || sys_byte_locked(a->fd, LOCK_BASE + slot);
}

int um_proc_of(const struct um_arena *a, const struct um_rec *rec)
{
	uint32_t owner = READ_ONCE(a->blocks[(rec - a->records) / UM_BLOCK_RECS].owner);

	return owner && owner <= UM_MAX_PROCS ? (int)owner - 1 : -1;
}

bool um_proc_any_dead(const struct um_arena *a)
{
	uint32_t slot;

	for (slot = 0; slot < UM_MAX_PROCS; slot++)
		if (smp_load_acquire(&procs(a)[slot].used) && !um_proc_alive(a, slot))
			return true;
	return false;
}

/* The recovery lock of a private arena: threads of this process only. */
static uint32_t private_lock;

/* Descriptors that hold a recovery lock now, plus 1: not for a child to keep. */
static int32_t recovery_fds[64];

static void remember_fd(int fd)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(recovery_fds); i++) {
		int32_t none = 0;

		if (try_cmpxchg(&recovery_fds[i], &none, fd + 1))
			return;
	}
}

static void forget_fd(int fd)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(recovery_fds); i++) {
		int32_t ours = fd + 1;

		if (try_cmpxchg(&recovery_fds[i], &ours, 0))
			return;
	}
}

void um_proc_forked(void)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(recovery_fds); i++)
		if (READ_ONCE(recovery_fds[i])) {
			um_syscall(SYS_close, READ_ONCE(recovery_fds[i]) - 1);
			WRITE_ONCE(recovery_fds[i], 0);
		}
}

/* A description that no child has a copy of, but for one that closes it. */
static int open_for_recovery(struct um_arena *a)
{
	uint32_t forks;
	int fd;

	for (;;) {
		forks = um_forks();
		fd = own_description(a);
		if (fd < 0)
			return fd;
		remember_fd(fd);
		if (um_forks() == forks)
			return fd;
		forget_fd(fd);
		um_syscall(SYS_close, fd);
	}
}

static int try_recovery_lock(struct um_arena *a, int fd)
{
	uint32_t unlocked = 0, gen = READ_ONCE(um_fork_page->gen);

	if (a->shared)
		return sys_byte_lock(fd, RECOVERY_BYTE);
	if (try_cmpxchg(&private_lock, &unlocked, gen))
		return 0;
	/* another generation's: the parent's, at our fork */
	return unlocked != gen && try_cmpxchg(&private_lock, &unlocked, gen) ? 0 : -EAGAIN;
}

static void drop_recovery_fd(struct um_arena *a, int fd)
{
	if (!a->shared)
		return;
	forget_fd(fd);
	um_syscall(SYS_close, fd);
}

int um_recovery_lock(struct um_arena *a, uint64_t timeout_ns)
{
	uint64_t deadline = sys_clock_ns() + timeout_ns;
	uint32_t progress = READ_ONCE(a->hdr->progress);
	int fd = 0, err;

	if (a->shared) {
		fd = open_for_recovery(a);
		if (fd < 0)
			return fd;
	}
	for (;;) {
		err = try_recovery_lock(a, fd);
		if (!err)
			return fd;
		if (err != -EAGAIN && err != -EACCES)
			break;
		/* a large map, or a crowd, takes its time; it gets on */
		if (READ_ONCE(a->hdr->progress) != progress) {
			progress = READ_ONCE(a->hdr->progress);
			deadline = sys_clock_ns() + timeout_ns;
		}
		err = -ETIMEDOUT;
		if (sys_clock_ns() >= deadline)
			break;
		sys_sleep_ns(200000);
	}
	drop_recovery_fd(a, fd);
	return err;
}

void um_recovery_unlock(struct um_arena *a, int token)
{
	if (!a->shared) {
		smp_store_release(&private_lock, 0);
		return;
	}
	/* not only by closing: another may have a copy of the descriptor */
	sys_byte_unlock(token, RECOVERY_BYTE);
	drop_recovery_fd(a, token);
}
