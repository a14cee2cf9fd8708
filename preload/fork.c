/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork() in a program of one thread, which may call it in a signal handler.
 *
 * Because the profiler has threads, glibc's fork() takes the locks of its fork handlers and of
 * malloc.  Two deadlocks are avoided.  A handler that interrupts fork() and calls it again would
 * wait for the first: signals are blocked.  A handler that interrupts malloc() would wait for it:
 * glibc is told that there is one thread, see hs_session_fork_begins().
 */
#include <stdbool.h>
#include <unistd.h>

#include "base/signal_mask.h"
#include "preload/next.h"
#include "session/session.h"

HS_EXPORT pid_t fork(void);

pid_t fork(void)
{
	uint64_t before;
	bool blocked;
	pid_t child;

	HS_NEXT_ENSURE(fork);
	if (!hs_session_is_single_threaded())
		return hs_next.fork();
	blocked = hs_signal_mask_block(HS_SIGNALS_ASYNCHRONOUS, &before);
	hs_session_fork_begins();
	child = hs_next.fork();
	hs_session_fork_ends(child);
	if (blocked)
		hs_signal_mask_set(before);
	return child;
}
