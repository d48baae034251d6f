/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * proc.h - the processes that have an arena open for writing: do they live?
 *
 * Pids are reused, differ between namespaces, and a zombie still answers; a
 * lock on a shared file description survives in a child or wherever the
 * descriptor was passed. So each process opens a description of its own, takes
 * a write lock on its byte, maps one page through it, unseen by children
 * (MADV_DONTFORK), and closes the descriptor: the mapping keeps the description
 * and with it the lock, exactly as long as this address space lives. Anybody
 * who can open the file can ask (F_OFD_GETLK), without asking a process.
 *
 * The recovery lock is one more byte, locked through a description that its
 * holder opens for the purpose, so it too dies with the holder.
 */
#ifndef UM_PROC_H
#define UM_PROC_H

#include "mem/thread.h"

#define UM_NO_SLOT UINT32_MAX

/*
 * Take a process slot of a shared arena; a private one needs none. -EUSERS, all
 * are taken; -EAGAIN, the slot's last owner died in it: recover, then try again.
 */
int um_proc_join(struct um_arena *a);
void um_proc_leave(struct um_arena *a);

/* Does the process of @slot live? Unknown counts as yes. */
bool um_proc_alive(const struct um_arena *a, uint32_t slot);

/* The process slot of a record, -1 if nobody has it. */
int um_proc_of(const struct um_arena *a, const struct um_rec *rec);

/* Is there a slot whose process has died without leaving? */
bool um_proc_any_dead(const struct um_arena *a);

/* In a forked child: descriptors of the parent's that keep its locks go. */
void um_proc_forked(void);

/*
 * The recovery lock: a token for unlock; -ETIMEDOUT, its holder did not get on
 * for @timeout_ns; or what opening answers.
 */
int um_recovery_lock(struct um_arena *a, uint64_t timeout_ns);
void um_recovery_unlock(struct um_arena *a, int token);

#endif
