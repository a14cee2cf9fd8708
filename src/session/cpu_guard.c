/* SPDX-License-Identifier: BSD-2-Clause */
/* The limit of the profiler's processor time.  See cpu_guard.h. */
#include "session/cpu_guard.h"

#include <time.h>

#include "base/format.h"
#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/sampler.h"
#include "session/session_state.h"
#include "session/unlocked.h"

struct hs_cpu_pressure hs_cpu_pressure;

/* Each thread's clock when it was last counted.  Written by that thread. */
static uint64_t worker_seen_ns, producer_seen_ns;

/* The producer's. */
static bool is_writing;
static uint64_t writing_ns, used_before_fork_ns;
static struct hs_cpu_state looks;

enum hs_cpu_verdict hs_cpu_look(struct hs_cpu_state *state, const struct hs_cpu_limits *limits,
				const struct hs_cpu_view *view)
{
	uint64_t past_ns = view->now_ns - state->last.now_ns;
	uint64_t used_ns = view->used_ns - state->last.used_ns;
	uint64_t sampling_ns = used_ns - (view->writing_ns - state->last.writing_ns);
	uint64_t share_ns = past_ns / 100 * limits->percent;

	if (limits->total_ns != 0 && view->used_ns >= limits->total_ns)
		return HS_CPU_STOP_TOTAL;
	if (limits->percent == 0 || past_ns < HS_CPU_LOOK_NS)
		return HS_CPU_NO_LOOK;
	state->last = *view;
	state->over = used_ns > share_ns ? state->over + 1 : 0;
	if (state->over >= HS_CPU_LOOKS)
		return HS_CPU_STOP_SHARE;
	if (sampling_ns > share_ns)
		return HS_CPU_OVER;
	return sampling_ns > share_ns / 2 ? HS_CPU_NEAR : HS_CPU_LOW;
}

/* The calling thread's processor time since *seen_ns, which becomes now. */
static uint64_t note(uint64_t *seen_ns)
{
	uint64_t now_ns = hs_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID), since_ns = now_ns - *seen_ns;

	if (now_ns < *seen_ns)
		return 0; /* it cannot be read */
	*seen_ns = now_ns;
	return since_ns;
}

void hs_cpu_note_worker(void)
{
	hs_stats_add(worker_cpu_ns, note(&worker_seen_ns));
}

void hs_cpu_note_producer(bool writes)
{
	uint64_t since_ns = note(&producer_seen_ns);

	hs_stats_add(producer_cpu_ns, since_ns);
	if (is_writing)
		writing_ns += since_ns;
	is_writing = writes;
}

static uint64_t used_ns(void)
{
	return hs_stats_get(worker_cpu_ns) + hs_stats_get(producer_cpu_ns);
}

/*
 * Ends sampling.  All else goes on: records in the ring, frees, profiles on request and at the
 * end; but not timed profiles, in which little would be new.
 */
static void end_sampling(enum hs_cpu_verdict why, uint64_t now_ns)
{
	static char text[160];
	struct hs_session *session = &hs_session;
	unsigned seconds = (unsigned)((now_ns - session->start_ns) / HS_SECOND_NS);

	if (why == HS_CPU_STOP_TOTAL)
		hs_format(text, sizeof text,
			  "sampling ended after %u s: the profiler has used %llu s of processor "
			  "time (HEAPSAMPLE_MAX_CPU)",
			  seconds, (unsigned long long)hs_options.max_cpu_s);
	else
		hs_format(text, sizeof text,
			  "sampling ended after %u s: the profiler has used more than %u%% of a "
			  "processor for %u s or longer (HEAPSAMPLE_MAX_CPU)",
			  seconds, hs_options.max_cpu_percent, HS_CPU_LOOKS);
	session->ended_early = text;
	session->next_dump_ns = 0;
	hs_sampler_end();
	hs_unlocked_log(HS_LOG_ERROR, "%s; %s runs on", text, session->program);
}

void hs_cpu_guard_follow(void)
{
	const struct hs_cpu_limits limits = {
		.percent = hs_options.max_cpu_percent,
		.total_ns = hs_options.max_cpu_s * HS_SECOND_NS,
	};
	struct hs_cpu_view view = {.writing_ns = writing_ns};
	enum hs_cpu_verdict verdict;

	hs_cpu_note_producer(false);
	/* 0: sampling has ended. */
	if ((limits.percent == 0 && limits.total_ns == 0) ||
	    atomic_load_explicit(&hs_sampler_interval, memory_order_relaxed) == 0)
		return;
	view.now_ns = hs_sys_monotonic_ns();
	view.used_ns = used_ns() - used_before_fork_ns;
	if (looks.last.now_ns == 0)
		looks.last.now_ns = hs_session.start_ns;
	verdict = hs_cpu_look(&looks, &limits, &view);
	if (verdict == HS_CPU_STOP_SHARE || verdict == HS_CPU_STOP_TOTAL)
		end_sampling(verdict, view.now_ns);
	else if (verdict != HS_CPU_NO_LOOK)
		hs_cpu_pressure.is_near = verdict != HS_CPU_LOW;
	if (verdict == HS_CPU_OVER)
		hs_cpu_pressure.overs++;
}

void hs_cpu_guard_after_stop(void)
{
	worker_seen_ns = producer_seen_ns = 0;
	is_writing = false;
}

void hs_cpu_guard_after_fork(void)
{
	hs_cpu_guard_after_stop();
	used_before_fork_ns = used_ns();
	looks = (struct hs_cpu_state){
		.last = {.now_ns = hs_sys_monotonic_ns(), .writing_ns = writing_ns},
	};
}
