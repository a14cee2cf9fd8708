/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of the process: a signal whose handler ends it too, a thread that goes on, a profile that
 * is still being written.  And the end of sampling before, and what a program is told meanwhile.
 */
#include "held_session.h"

#include <errno.h>
#include <heapsample/heapsample.h>
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

static void *finish(void *unused)
{
	hs_session_finish();
	return unused;
}

static _Atomic uint64_t in_use_bytes;

/* The producer opens files when it has copied the books, and to do so. */
static long note_at_open(long number)
{
	if (number == SYS_openat && atomic_load(&is_released) && atomic_load(&in_use_bytes) == 0)
		in_use_bytes = hs_producer_in_use_bytes(hs_session.producer, HS_HEAP_MALLOC);
	return hold_there(number);
}

/* For longer than it waits for samples that are on their way: these have arrived long ago. */
static void after_the_producer_was_held_up(void)
{
	enum { SAMPLES = sizeof blocks };
	pthread_t writer = write_for_long(SYS_renameat2), ender;

	atomic_store(&hs_sys_fault, note_at_open);
	hs_record_free(&blocks[0]);
	sample(SAMPLES, true);
	ender = run(finish, NULL);
	usleep(HS_DRAIN_LIMIT_NS / 1000 + 100000);
	release();
	CHECK_INT(pthread_join(writer, NULL), 0);
	CHECK_INT(pthread_join(ender, NULL), 0);
	CHECK_INT(in_use_bytes, 8 * SAMPLES);
}

/* By a limit: for good, though nobody has switched it off. */
static void sampling_has_ended(void)
{
	struct heapsample_stats stats;

	start(NULL);
	CHECK_INT(hs_session_get_stats(&stats), 0);
	CHECK_INT(stats.is_sampling, 1);
	CHECK_INT(hs_session_switch_on(), -EALREADY);
	hs_sampler_end();
	CHECK_INT(hs_session_get_stats(&stats), 0);
	CHECK_INT(stats.is_sampling, 0);
	CHECK_INT(hs_session_switch_on(), -ECANCELED);
	CHECK_INT(hs_session_switch_off(), 0);
	CHECK_INT(hs_session_switch_on(), -ECANCELED);
}

/* What the calling thread has allocated, it has counted. */
static void allocated_bytes_are_all(void)
{
	struct heapsample_stats stats;

	start(NULL);
	sample(3, true);
	CHECK_INT(hs_session_get_stats(&stats), 0);
	CHECK_INT(stats.allocated_bytes, 24);
}

static const struct held_case cases[] = {
	{"signal_at_the_first_wake", signal_at_the_first_wake},
	{"samples_meanwhile", samples_meanwhile},
	{"after_the_producer_was_held_up", after_the_producer_was_held_up},
	{"sampling_has_ended", sampling_has_ended},
	{"allocated_bytes_are_all", allocated_bytes_are_all},
};

int main(int argc, char **argv)
{
	return run_cases(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : NULL);
}
