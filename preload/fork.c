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

/* Those that are not sent, but raised by an instruction, stay: blocked they end the process. */
static bool block_signals(sigset_t *before)
{
	static const int raised[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof raised / sizeof raised[0]; i++)
		sigdelset(&all, raised[i]);
	return pthread_sigmask(SIG_BLOCK, &all, before) == 0;
}

pid_t fork(void)
{
	sigset_t before;
	bool blocked;
	pid_t child;

	if (hs_next.fork == NULL)
		hs_next_resolve_all();
	blocked = hs_session_program_is_one_thread() && block_signals(&before);
	child = hs_next.fork();
	if (blocked)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return child;
}
