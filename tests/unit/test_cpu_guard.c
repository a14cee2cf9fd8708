/* SPDX-License-Identifier: BSD-2-Clause */
/* The limit of the profiler's processor time: when it is exceeded, and when sampling ends. */
#include "session/cpu_guard.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "sample/heap.h"
#include "sample/sampler.h"
#include "session/epoch.h"
#include "session/session_state.h"

#define SECOND ((uint64_t)1000000000)
#define MS ((uint64_t)1000000)

static struct hs_cpu_state state;
static struct hs_cpu_view view;
static struct hs_cpu_limits limits;

static void start(uint32_t percent, uint64_t total_ns)
{
	limits = (struct hs_cpu_limits){.percent = percent, .total_ns = total_ns};
	view = (struct hs_cpu_view){.now_ns = 1000 * SECOND};
	state = (struct hs_cpu_state){.last = view};
}

/* Lets time pass, of which the threads use some, partly for writing. */
static enum hs_cpu_verdict pass(uint64_t ns, uint64_t used_ns, uint64_t writing_ns)
{
	view.now_ns += ns;
	view.used_ns += used_ns;
	view.writing_ns += writing_ns;
	return hs_cpu_look(&state, &limits, &view);
}

static void no_limit(void)
{
	start(0, 0);
	for (int i = 0; i < 100; i++)
		CHECK_INT(pass(SECOND, 2 * SECOND, 0), HS_CPU_NO_LOOK);
}

static void a_look_each_second(void)
{
	start(5, 0);
	CHECK_INT(pass(SECOND - 1, SECOND, 0), HS_CPU_NO_LOOK);
	CHECK_INT(pass(1, 0, 0), HS_CPU_OVER);
	CHECK_INT(pass(SECOND - 1, 0, 0), HS_CPU_NO_LOOK);
	CHECK_INT(pass(1, 0, 0), HS_CPU_LOW);
}

static void share(void)
{
	start(5, 0);
	CHECK_INT(pass(SECOND, 25 * MS, 0), HS_CPU_LOW);
	CHECK_INT(pass(SECOND, 25 * MS + 1, 0), HS_CPU_NEAR);
	CHECK_INT(pass(SECOND, 50 * MS, 0), HS_CPU_NEAR);
	CHECK_INT(pass(SECOND, 50 * MS + 1, 0), HS_CPU_OVER);
	/* The share is that of all the time since the last look, even if all was idle. */
	CHECK_INT(pass(1000 * SECOND, 25 * SECOND, 0), HS_CPU_LOW);
	start(200, 0);
	CHECK_INT(pass(SECOND, 2 * SECOND, 0), HS_CPU_NEAR);
	CHECK_INT(pass(SECOND, 2 * SECOND + 1, 0), HS_CPU_OVER);
}

static void writing_does_not_count_as_sampling(void)
{
	start(5, 0);
	CHECK_INT(pass(SECOND, 500 * MS, 480 * MS), HS_CPU_LOW);
	CHECK_INT(pass(SECOND, 500 * MS, 460 * MS), HS_CPU_NEAR);
	CHECK_INT(pass(SECOND, 500 * MS, 400 * MS), HS_CPU_OVER);
}

static void too_much_in_succession_ends_it(void)
{
	start(5, 0);
	for (unsigned i = 1; i < HS_CPU_LOOKS; i++)
		CHECK_INT(pass(SECOND, 51 * MS, 0), HS_CPU_OVER);
	CHECK_INT(pass(SECOND, 50 * MS, 0), HS_CPU_NEAR);
	for (unsigned i = 1; i < HS_CPU_LOOKS; i++)
		CHECK_INT(pass(SECOND, 51 * MS, 0), HS_CPU_OVER);
	CHECK_INT(pass(SECOND / 2, 100 * MS, 0), HS_CPU_NO_LOOK);
	CHECK_INT(pass(SECOND / 2, 0, 0), HS_CPU_STOP_SHARE);
}

/* One profile does not end sampling, however long it takes; writing all the time does. */
static void writing_ends_it_in_the_long_run(void)
{
	start(5, 0);
	CHECK_INT(pass(500 * SECOND, 500 * SECOND, 500 * SECOND), HS_CPU_LOW);
	CHECK_INT(pass(SECOND, 0, 0), HS_CPU_LOW);
	for (unsigned i = 1; i < HS_CPU_LOOKS; i++)
		CHECK_INT(pass(SECOND, SECOND, SECOND), HS_CPU_LOW);
	CHECK_INT(pass(SECOND, SECOND, SECOND), HS_CPU_STOP_SHARE);
}

static void total(void)
{
	start(0, 30 * SECOND);
	CHECK_INT(pass(3600 * SECOND, 30 * SECOND - 1, 0), HS_CPU_NO_LOOK);
	/* At once, not only after a second. */
	CHECK_INT(pass(1, 1, 1), HS_CPU_STOP_TOTAL);
}

/* --- the thread's own clock ------------------------------------------------------- */

/* As if the session was ten seconds old and had used no processor time. */
static void start_session(uint32_t percent, uint64_t seconds)
{
	hs_options.max_cpu_percent = percent;
	hs_options.max_cpu_s = seconds;
	hs_session.start_ns = hs_sys_monotonic_ns() - 10 * SECOND;
	hs_session.ended_early = NULL;
	hs_session.next_dump_ns = 1;
	hs_cpu_note_producer(false);
	memset(&hs_stats, 0, sizeof hs_stats);
	atomic_store(&hs_sampler_interval, 512);
}

static void work(uint64_t ns)
{
	uint64_t end_ns = hs_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (hs_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		;
}

/* Uses three times the share of ten seconds for a profile, and three quarters of it otherwise. */
static void writing_is_told_apart(void)
{
	start_session(1, 0);
	hs_stats_add(worker_cpu_ns, 75 * MS);
	hs_cpu_note_producer(true);
	work(300 * MS);
	hs_cpu_note_producer(false);
	hs_cpu_guard_follow();
	CHECK(hs_stats_get(producer_cpu_ns) >= 300 * MS);
	CHECK_INT(hs_cpu_pressure.overs, 0);
	CHECK(hs_cpu_pressure.is_near);
}

/* Their clocks begin at zero, as those of the threads before did. */
static void new_threads(void)
{
	uint64_t past_ns = hs_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	start_session(0, 30);
	hs_cpu_note_worker();
	memset(&hs_stats, 0, sizeof hs_stats);
	hs_cpu_guard_after_stop();
	hs_cpu_note_worker();
	hs_cpu_note_producer(false);
	CHECK(hs_stats_get(worker_cpu_ns) >= past_ns);
	CHECK(hs_stats_get(producer_cpu_ns) >= past_ns);
}

static long refuse_clock(long number)
{
	return number == SYS_clock_gettime ? -EPERM : 0;
}

/* A seccomp filter may come to refuse that: no time has passed then. */
static void clock_that_cannot_be_read(void)
{
	start_session(0, 30);
	hs_cpu_note_worker();
	work(MS);
	hs_cpu_note_producer(false);
	atomic_store(&hs_sys_fault, refuse_clock);
	hs_cpu_note_producer(false);
	hs_cpu_note_worker();
	hs_cpu_guard_follow();
	CHECK(hs_stats_get(producer_cpu_ns) < SECOND);
	CHECK(hs_stats_get(worker_cpu_ns) < SECOND);
	CHECK_INT(hs_sampler_interval, 512);
	atomic_store(&hs_sys_fault, NULL);
}

static void sampling_ends_for_good(void)
{
	start_session(0, 30);
	hs_stats_add(worker_cpu_ns, 20 * SECOND);
	hs_cpu_guard_follow();
	CHECK_INT(hs_sampler_interval, 512);
	/* What the parent of a fork has used is not the child's. */
	hs_cpu_guard_after_fork();
	hs_stats_add(worker_cpu_ns, 20 * SECOND);
	hs_cpu_guard_follow();
	CHECK_INT(hs_sampler_interval, 512);
	CHECK(hs_session.ended_early == NULL);
	hs_stats_add(producer_cpu_ns, 10 * SECOND);
	hs_cpu_guard_follow();
	CHECK_INT(hs_sampler_interval, 0);
	CHECK(hs_session.ended_early != NULL &&
	      strstr(hs_session.ended_early, "the profiler has used 30 s of processor time") !=
		      NULL);
	CHECK_INT(hs_session.next_dump_ns, 0);
	atomic_store(&hs_epoch, 0);
	CHECK_INT(hs_epoch_start(), -ECANCELED);
	CHECK_INT(hs_session.phase, HS_SESSION_ACTIVE);
}

int main(void)
{
	hs_session.phase = HS_SESSION_ACTIVE;
	RUN(no_limit);
	RUN(a_look_each_second);
	RUN(share);
	RUN(writing_does_not_count_as_sampling);
	RUN(too_much_in_succession_ends_it);
	RUN(writing_ends_it_in_the_long_run);
	RUN(total);
	RUN(writing_is_told_apart);
	RUN(new_threads);
	RUN(clock_that_cannot_be_read);
	RUN(sampling_ends_for_good);
	return CHECK_RESULT();
}
