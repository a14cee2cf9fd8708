/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The root directory in which libunwind is looked for: only the one of the process's start.  In
 * another, after chroot() or in another namespace of mounts, a file of its name may be somebody
 * else's, whose code would run with all rights of the program.
 *
 * Files that are only read need not be guarded so: they are recognized by device and inode.
 *
 * Allocates: never.  Errno: preserved.
 */
#ifndef HS_BASE_ROOT_H
#define HS_BASE_ROOT_H

#include <stdbool.h>

/* Start-up: this is the root.  Before that any is. */
void hs_root_note(void);

/*
 * Around loading, on the worker.  _begin_: whether the root is still that one; if so, it stays so
 * until _end_loading(), which must follow.
 */
bool hs_root_begin_loading(void);
void hs_root_end_loading(void);

/*
 * The calling thread is about to change the root: nothing is loaded from now on.  Waits for what is
 * being loaded, but not for ever, because the caller may hold the loader's lock.  True: if the root
 * does not change after all, hs_root_stays() is due.
 */
bool hs_root_leaves(void);
void hs_root_stays(void);

/* In a forked child, which has no worker. */
void hs_root_after_fork(void);

#endif
