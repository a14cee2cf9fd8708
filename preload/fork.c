/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork() in a program of one thread.  What the session does about it is in its fork handlers; this
 * is about signals: beside the profiler's threads glibc locks its list of such handlers, and a
 * program whose signal handler forks where it has interrupted fork() would wait for itself.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "preload/next_alloc.h"
#include "session/session.h"

#define HS_EXPORT __attribute__((visibility("default"), used))

HS_EXPORT pid_t fork(void);

pid_t fork(void)
{
	sigset_t sent, before;
	bool blocked;
	pid_t child;

	if (hs_next.fork == NULL)
		hs_next_resolve_all();
	if (!hs_session_program_is_one_thread())
		return hs_next.fork();
	hs_session_signals_sent(&sent);
	blocked = pthread_sigmask(SIG_BLOCK, &sent, &before) == 0;
	hs_session_fork_begins();
	child = hs_next.fork();
	hs_session_fork_ends(child);
	if (blocked)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return child;
}
