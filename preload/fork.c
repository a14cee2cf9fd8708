/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork() in a program of one thread, which may call it in a signal handler.
 *
 * Because the profiler has threads, glibc's fork() takes the locks of its fork handlers and of
 * malloc.  Two deadlocks are avoided.  A handler that interrupts fork() and calls it again would
 * wait for the first: signals are blocked.  A handler that interrupts malloc() would wait for it:
 * glibc is told that there is one thread, see hs_session_fork_begins().
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "preload/next_alloc.h"
#include "session/session.h"

HS_EXPORT pid_t fork(void);

pid_t fork(void)
{
	sigset_t sent, before;
	bool blocked;
	pid_t child;

	HS_NEXT_ENSURE(fork);
	if (!hs_session_is_single_threaded())
		return hs_next.fork();
	hs_session_fill_async_signals(&sent);
	blocked = pthread_sigmask(SIG_BLOCK, &sent, &before) == 0;
	hs_session_fork_begins();
	child = hs_next.fork();
	hs_session_fork_ends(child);
	if (blocked)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return child;
}
