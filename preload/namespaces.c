/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that changes, for one thread, what threads share: its root directory, namespaces and
 * descriptors.  Libunwind is not loaded from another root (base/root.h); the profiler's threads,
 * which would keep what was, are stopped where the kernel requires it or it is to be seen.
 */
#include <errno.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sys.h"
#include "preload/next.h"
#include "session/session.h"

HS_EXPORT int chroot(const char *path);
HS_EXPORT int unshare(int flags);
HS_EXPORT int setns(int fd, int type);
HS_EXPORT int close_range(unsigned first, unsigned last, int flags);

/* Of Linux 5.6. */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* Of Linux 5.9. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

int chroot(const char *path)
{
	bool leaves;
	int result;

	HS_NEXT_ENSURE(chroot);
	leaves = hs_session_root_leaves();
	result = hs_next.chroot(path);
	if (result != 0 && leaves)
		hs_session_root_stays();
	return result;
}

/* What the profiler's threads would keep as it was, though their sharing it is not to be seen. */
#define KEPT_BY_THREADS                                                                            \
	(CLONE_FS | CLONE_SYSVSEM | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |  \
	 CLONE_NEWNET)

/* The process whose new threads would be in another pid or time namespace: it can have none. */
static _Atomic pid_t without_new_threads;

/*
 * Before a call that changes, for the calling thread, what threads share: whether the profiler's
 * are stopped.  Otherwise they would keep open each file that the program closes, and the old
 * namespaces, root and directory.
 *
 * Not if the program has more threads, with which they share it.  If they cannot be started again
 * only for the sake of files, whose other ends would wait for ever.
 */
static bool stop_before(int changed, bool bars_threads, struct hs_undisturbed *before)
{
	if (!hs_session_is_single_threaded())
		return false;
	if ((changed & CLONE_FILES) == 0 &&
	    ((changed & KEPT_BY_THREADS) == 0 || bars_threads ||
	     atomic_load(&without_new_threads) == hs_sys_getpid()))
		return false;
	return hs_session_stop_threads(before);
}

static void end_stop(bool bars_threads, int result, bool stopped,
		     const struct hs_undisturbed *before)
{
	if (result == 0 && bars_threads)
		atomic_store(&without_new_threads, hs_sys_getpid());
	if (stopped)
		hs_session_restart_threads(before);
}

/* Of a setns() whose type may be any; 0: the kernel does not tell. */
static int namespace_type(int fd)
{
	long type = hs_syscall(SYS_ioctl, fd, NS_GET_NSTYPE, 0, 0, 0, 0);

	return type < 0 ? 0 : (int)type;
}

/*
 * Some namespaces may be changed only by a process of one thread.  The kernel refuses because of
 * the profiler's threads with EINVAL, or EUSERS for a time namespace.  Then those are stopped and
 * the call is made again.  barring: the namespaces after whose change there can be no new threads.
 */
#define STOPPED(name, parameters, arguments, what, barring)                                        \
	int name parameters                                                                        \
	{                                                                                          \
		struct hs_undisturbed before;                                                      \
		int result, changed = what, saved_errno = errno;                                   \
		bool bars_threads = (changed & (barring)) != 0, stopped, leaves;                   \
												   \
		HS_NEXT_ENSURE(name);                                                              \
		leaves = (changed & CLONE_NEWNS) != 0 && hs_session_root_leaves();                 \
		stopped = stop_before(changed, bars_threads, &before);                             \
		result = hs_next.name arguments;                                                   \
		if (!stopped && result != 0 && (errno == EINVAL || errno == EUSERS) &&             \
		    hs_session_stop_threads(&before)) {                                            \
			stopped = true;                                                            \
			errno = saved_errno;                                                       \
			result = hs_next.name arguments;                                           \
		}                                                                                  \
		if (result != 0 && leaves)                                                         \
			hs_session_root_stays();                                                   \
		end_stop(bars_threads, result, stopped, &before);                                  \
		return result;                                                                     \
	}
STOPPED(unshare, (int flags), (flags), flags, CLONE_NEWPID | CLONE_NEWTIME)
STOPPED(setns, (int fd, int type), (fd, type), type != 0 ? type : namespace_type(fd), CLONE_NEWPID)

/* May be called in a vfork child or in a handler, and is not in every libc: no look-up here. */
int close_range(unsigned first, unsigned last, int flags)
{
	struct hs_undisturbed before;
	bool stopped = (flags & CLOSE_RANGE_UNSHARE) != 0 &&
		       stop_before(CLONE_FILES, false, &before);
	int result = hs_next.close_range != NULL
			     ? hs_next.close_range(first, last, flags)
			     : (int)syscall(SYS_close_range, first, last, flags);

	if (stopped)
		hs_session_restart_threads(&before);
	return result;
}
