/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handlers of HEAPSAMPLE_FINAL=term do not show: who asks for the action of a signal gets the
 * default one, in the place of which they are, and who sets that sets them.  See session/term.c.
 *
 * signal() is __sysv_signal() in programs that are built for a standard only (-std=c11).
 *
 * Async-signal-safe, and called in vfork children.
 */
#include <signal.h>

#include "preload/next.h"
#include "session/session.h"

HS_EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old);
HS_EXPORT sighandler_t signal(int number, sighandler_t handler);
HS_EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler);

static const struct sigaction by_default = {.sa_handler = SIG_DFL};

static int set_action(int number, const struct sigaction *action, struct sigaction *old)
{
	const struct sigaction *ours = NULL;
	int result;

	HS_NEXT_ENSURE(sigaction);
	if (action != NULL && action->sa_handler == SIG_DFL)
		ours = hs_session_term_action(number);
	result = hs_next.sigaction(number, ours != NULL ? ours : action, old);
	if (result == 0 && old != NULL && hs_session_is_term_handler(old->sa_handler))
		*old = by_default;
	return result;
}

static sighandler_t set_handler(int number, sighandler_t handler,
				sighandler_t (*next)(int, sighandler_t))
{
	struct sigaction old;

	if (handler == SIG_DFL && hs_session_term_action(number) != NULL)
		return set_action(number, &by_default, &old) == 0 ? old.sa_handler : SIG_ERR;
	old.sa_handler = next(number, handler);
	return hs_session_is_term_handler(old.sa_handler) ? SIG_DFL : old.sa_handler;
}

int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	return set_action(number, action, old);
}

sighandler_t signal(int number, sighandler_t handler)
{
	HS_NEXT_ENSURE(signal);
	return set_handler(number, handler, hs_next.signal);
}

sighandler_t __sysv_signal(int number, sighandler_t handler)
{
	HS_NEXT_ENSURE(__sysv_signal);
	return set_handler(number, handler, hs_next.__sysv_signal);
}
