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

int um_proc_join(struct um_arena *a)
{
	size_t page = a->params.page_size;
	struct um_proc *p;
	void *lock_page;
	int fd, slot;

	a->lock_page = NULL;
	a->slot = a->shared ? UM_NO_SLOT : 0;
	if (!a->shared)
		return 0;
	fd = own_description(a);
	if (fd < 0)
		return fd;
	slot = lock_free_byte(fd);
	if (slot < 0)
		goto close;
	p = &procs(a)[slot];
	if (smp_load_acquire(&p->used)) {
		slot = -EAGAIN;
		goto close;
	}
	lock_page = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	if (lock_page == MAP_FAILED) {
		slot = -ENOMEM;
		goto close;
	}
	madvise(lock_page, page, MADV_DONTFORK);
	a->lock_page = lock_page;
	a->slot = (uint32_t)slot;
	WRITE_ONCE(p->pid, getpid());
	smp_store_release(&p->used, 1);
	atomic_fetch_add(&a->hdr->joins, 1u);
close:
	um_syscall(SYS_close, fd);
	return min(slot, 0);
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

int um_recovery_lock(struct um_arena *a, uint64_t timeout_ns)
{
	uint64_t deadline = sys_clock_ns() + timeout_ns;
	int fd = 0, err = -EAGAIN;

	if (a->shared) {
		fd = own_description(a);
		if (fd < 0)
			return fd;
	}
	for (;;) {
		uint32_t unlocked = 0;

		if (a->shared)
			err = sys_byte_lock(fd, RECOVERY_BYTE);
		else if (try_cmpxchg(&private_lock, &unlocked, um_fork_page->gen))
			err = 0;
		else if (unlocked != um_fork_page->gen) /* the parent's, at our fork */
			err = try_cmpxchg(&private_lock, &unlocked, um_fork_page->gen) ? 0 : -EAGAIN;
		if (!err)
			return fd;
		if ((err != -EAGAIN && err != -EACCES) || sys_clock_ns() >= deadline)
			break;
		sys_sleep_ns(200000);
	}
	if (a->shared)
		um_syscall(SYS_close, fd);
	return err == -EAGAIN || err == -EACCES ? -ETIMEDOUT : err;
}

void um_recovery_unlock(struct um_arena *a, int token)
{
	if (a->shared)
		um_syscall(SYS_close, token);
	else
		smp_store_release(&private_lock, 0);
}
