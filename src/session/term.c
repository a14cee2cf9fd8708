/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_FINAL=term: a process that SIGTERM, SIGINT or SIGHUP would end first writes its final
 * profile, and then ends by the signal.
 *
 * The program is told that these signals have their default action (preload/signals.c), as they
 * have without the library: python handles SIGINT, and ruby all three, only where they have.  When
 * it sets the default action, as who restores it does, the handlers are set again.
 */
#include <signal.h>
#include <sys/syscall.h>

#include "base/signal_mask.h"
#include "base/sys.h"
#include "session/session_state.h"

/* With on_term(); and the signals that had their default action.  Written at start-up. */
static struct sigaction term_action;
static uint64_t covered;

void hs_term_die(int number)
{
	static const uint64_t by_default[4]; /* the kernel's struct sigaction, with SIG_DFL */
	uint64_t set = HS_SIGNAL(number);
	long error = hs_syscall(SYS_rt_sigaction, number, (long)by_default, 0, sizeof set, 0, 0);

	hs_syscall(SYS_tgkill, hs_sys_getpid(), hs_sys_gettid(), number, 0, 0, 0);
	/* Where a seccomp filter has refused that, the handler would run again. */
	if (error == 0)
		hs_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&set, 0, sizeof set, 0, 0);
}

/* On any of the program's threads.  In a vfork child hs_session_finish() does nothing. */
static void on_term(int number)
{
	/* In a forked child that is the first of its pid namespace: see hs_term_install(). */
	if (hs_sys_getpid() == 1)
		return;
	hs_session_finish();
	hs_term_die(number);
	/* A seccomp filter has refused it: with the status that shells show for the signal. */
	hs_syscall(SYS_exit_group, 128 + number, 0, 0, 0, 0, 0);
}

bool hs_session_is_term_handler(void (*handler)(int))
{
	return handler == on_term;
}

const struct sigaction *hs_session_term_action(int number)
{
	bool is_covered = number > 0 && number <= 64 && (covered & HS_SIGNAL(number)) != 0;

	/* A forked child may be the first of another namespace: see hs_term_install(). */
	return is_covered && hs_sys_getpid() != 1 ? &term_action : NULL;
}

static void install(int number)
{
	struct sigaction old;

	if (sigaction(number, NULL, &old) != 0 || old.sa_handler != SIG_DFL)
		return;
	sigaction(number, &term_action, NULL);
	covered |= HS_SIGNAL(number);
}

void hs_term_install(void)
{
	/* The kernel does not end the first process of a pid namespace by a signal. */
	if (hs_sys_getpid() == 1)
		return;
	term_action.sa_handler = on_term;
	term_action.sa_flags = SA_RESTART | SA_ONSTACK;
	sigfillset(&term_action.sa_mask);
	install(SIGTERM);
	install(SIGINT);
	install(SIGHUP);
}
