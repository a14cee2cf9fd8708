/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of the process: a signal whose handler ends it too, a thread that goes on. */
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

static void *sample_until_finished(void *unused)
{
	struct hs_regs here;

	hs_arch_capture(&here);
	while (atomic_load_explicit(&hs_session.finished, memory_order_relaxed) == 0) {
		if (!hs_sampler_passes(8))
			hs_session_record(blocks, 8, &here);
	}
	return unused;
}

/* Another thread goes on: ThreadSanitizer checks what ends its samples. */
static void samples_meanwhile(void)
{
	pthread_t thread;

	start(NULL);
	sample(1, true);
	thread = run(sample_until_finished, NULL);
	WAIT_UNTIL(hs_heap_total(samples) > 1);
	hs_session_finish();
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(hs_stats_get(dumps), 1);
}

static const struct held_case cases[] = {
	{"signal_at_the_first_wake", signal_at_the_first_wake},
	{"samples_meanwhile", samples_meanwhile},
};

int main(int argc, char **argv)
{
	return run_cases(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : NULL);
}
