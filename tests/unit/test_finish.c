/* SPDX-License-Identifier: BSD-2-Clause */
/* A signal whose handler ends the process, during exit(). */
#include "held_session.h"

#include <signal.h>

static atomic_int handled;

static void end_too(int number)
{
	(void)number;
	hs_session_finish();
	CHECK_INT(hs_session.finished, 1);
	atomic_fetch_add(&handled, 1);
}

static long signal_at_wake(long number)
{
	if (number == SYS_futex && hs_sys_gettid() == hs_sys_getpid() &&
	    !atomic_exchange(&is_held, true))
		raise(SIGUSR1);
	return 0;
}

/* Of those that exit() makes before it waits, to have the profile written. */
static void signal_at_the_first_wake(void)
{
	const struct sigaction action = {.sa_handler = end_too};

	start(NULL);
	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
	sample(1, true);
	/* Both sleep until somebody wakes them. */
	WAIT_UNTIL(atomic_load(&hs_session.ring.reader_asleep) == HS_RING_ASLEEP &&
		   atomic_load(&hs_session.producer_event.state) == HS_EVENT_SLEPT_ON);
	atomic_store(&hs_sys_fault, signal_at_wake);
	hs_session_finish();
	CHECK_INT(handled, 1);
	CHECK_INT(hs_session.finished, 1);
	CHECK_INT(hs_stats_get(dumps), 1);
}

static const struct held_case cases[] = {
	{"signal_at_the_first_wake", signal_at_the_first_wake},
};

int main(int argc, char **argv)
{
	return run_cases(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : NULL);
}
