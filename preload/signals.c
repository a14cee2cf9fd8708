/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handlers of HEAPSAMPLE_FINAL=term do not show: who asks for the action of a signal gets the
 * default one, in the place of which they are.  See session/term.c.
 *
 * Async-signal-safe, and called in vfork children.
 */
#include <signal.h>

#include "preload/next_alloc.h"
#include "session/session.h"

HS_EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old);
HS_EXPORT sighandler_t signal(int number, sighandler_t handler);

int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	int result;

	HS_NEXT_ENSURE(sigaction);
	result = hs_next.sigaction(number, action, old);
	if (result == 0 && old != NULL && hs_session_is_term_handler(old->sa_handler))
		*old = (struct sigaction){.sa_handler = SIG_DFL};
	return result;
}

sighandler_t signal(int number, sighandler_t handler)
{
	sighandler_t old;

	HS_NEXT_ENSURE(signal);
	old = hs_next.signal(number, handler);
	return hs_session_is_term_handler(old) ? SIG_DFL : old;
}
