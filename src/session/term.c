/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_FINAL=term: a process that SIGTERM, SIGINT or SIGHUP would end first writes its final
 * profile, and then ends by the signal.
 *
 * The program is told that these signals have their default action (preload/signals.c), as they
 * have without the library: python handles SIGINT, and ruby all three, only where they have.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "session/session_state.h"

/* On any of the program's threads.  In a vfork child hs_session_finish() does nothing. */
static void on_term(int number)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};
	int saved_errno = errno;

	hs_session_finish();
	sigaction(number, &by_default, NULL);
	/* It is blocked until this handler returns. */
	hs_syscall(SYS_tgkill, hs_sys_getpid(), hs_sys_gettid(), number, 0, 0, 0);
	errno = saved_errno;
}

bool hs_session_is_term_handler(void (*handler)(int))
{
	return handler == on_term;
}

static void install(int number)
{
	struct sigaction action = {.sa_handler = on_term, .sa_flags = SA_RESTART | SA_ONSTACK};
	struct sigaction old;

	if (sigaction(number, NULL, &old) != 0 || old.sa_handler != SIG_DFL)
		return;
	sigfillset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

void hs_term_install(void)
{
	/* The kernel does not end the first process of a pid namespace by a signal. */
	if (hs_sys_getpid() == 1)
		return;
	install(SIGTERM);
	install(SIGINT);
	install(SIGHUP);
}
