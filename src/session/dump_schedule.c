/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When profiles are written: on a signal or a request, every so many seconds or bytes, near a
 * memory limit, at the end.
 *
 * Runs on the producer's thread with producer_batch held, except where a function says otherwise.
 */
#include <signal.h>
#include <stddef.h>

#include "base/log.h"
#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/heap.h"
#include "sample/sequence.h"
#include "session/ask.h"
#include "session/budget.h"
#include "session/epoch.h"
#include "session/oom_watch.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/started.h"
#include "session/unlocked.h"

/* Whether our handler was installed, and was there at the last check. */
static bool signal_is_ours;

/* For messages, such as "RTMIN+30". */
static char signal_name[16];

/* As the kernel has it: on_signal(), or another's that a replaced sigaction() made of it. */
static uintptr_t installed_handler;

/*
 * Another action of the program's for the signal, and frees for a stream, wake nobody.  They are
 * looked for a second after the last look, and later by as long as nothing had been sampled or
 * freed then: an idle program stays idle.
 */
static uint64_t look_ns, look_number; /* the last look, and the next event's number then */
static uint64_t active_ns;            /* the last look at which that had changed */

static uint64_t next_look_ns(void)
{
	/* Relaxed: a number that is seen later is in time for the next look. */
	uint64_t number = atomic_load_explicit(&hs_sequence.next, memory_order_relaxed);
	uint64_t idle_ns = number != look_number ? 0 : look_ns - active_ns;

	return look_ns + HS_SECOND_NS + idle_ns;
}

/* On any of the program's threads.  Async-signal-safe: an atomic and a futex. */
static void on_signal(int number)
{
	(void)number;
	atomic_fetch_or_explicit(&hs_session.requests, HS_REQUEST_SIGNAL, memory_order_release);
	hs_event_signal(&hs_session.producer_event);
}

static void install_signal(int number)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
	struct sigaction old;

	hs_signal_name(number, signal_name, sizeof signal_name);
	sigfillset(&action.sa_mask);
	if (sigaction(number, NULL, &old) != 0 || old.sa_handler != SIG_DFL) {
		hs_log(HS_LOG_WARN,
		       "HEAPSAMPLE_SIGNAL=%s: %s starts with it ignored or handled: no profile on "
		       "it", signal_name, hs_session.program);
		return;
	}
	signal_is_ours = sigaction(number, &action, NULL) == 0 &&
			 hs_sys_signal_handler(number, &installed_handler) == 0;
}

/* Warns, once, if the program has replaced our handler. */
static void check_signal(void)
{
	uintptr_t handler;

	if (!signal_is_ours ||
	    hs_sys_signal_handler(hs_options.signal_number, &handler) != 0 ||
	    handler == installed_handler)
		return;
	signal_is_ours = false;
	hs_unlocked_log(HS_LOG_WARN,
			"HEAPSAMPLE_SIGNAL=%s: %s has taken it over: no more profiles on it",
			signal_name, hs_session.program);
}

/*
 * A profile of a moment that may not come again.  If it cannot be written it is tried again after
 * 1 s, then after twice as long each time, LONGEST_PAUSE_NS at most.
 */
struct retry {
	uint64_t due_ns;   /* monotonic; 0: nothing is to be tried again */
	uint64_t pause_ns; /* before that; 0: the last one was written */
};

#define LONGEST_PAUSE_NS (64 * (uint64_t)HS_SECOND_NS)

static struct retry oom_retry, inuse_retry;

/* Whether the profile was written; if not it is due again.  flags: HS_DUMP_*. */
static bool write_or_retry(struct retry *retry, const char *reason, unsigned flags)
{
	uint64_t pause_ns = retry->pause_ns == 0 ? HS_SECOND_NS : 2 * retry->pause_ns;

	if (hs_dump_write(reason, flags | HS_DUMP_FLEETING)) {
		*retry = (struct retry){.due_ns = 0};
		return true;
	}
	retry->pause_ns = pause_ns < LONGEST_PAUSE_NS ? pause_ns : LONGEST_PAUSE_NS;
	retry->due_ns = hs_sys_monotonic_ns() + retry->pause_ns;
	return false;
}

/* Memory limits are checked each second, and after as many allocated bytes as the watch says. */
static uint64_t next_oom_look_ns, next_oom_look_allocated;

static void check_memory(void)
{
	uint64_t now_ns = hs_sys_monotonic_ns(), allocated = hs_stats_get(allocated_bytes);
	uint64_t look_bytes;
	bool is_crossed;

	if (hs_options.oom_percent == 0 ||
	    (now_ns < next_oom_look_ns && allocated < next_oom_look_allocated))
		return;
	is_crossed = hs_oom_watch_is_crossed(&look_bytes);
	next_oom_look_ns = now_ns + HS_SECOND_NS;
	next_oom_look_allocated = allocated + look_bytes;
	if (!is_crossed)
		return;
	/* If memory was filled by few large allocations, the last ones matter most. */
	hs_drain_recorded();
	if (write_or_retry(&oom_retry, "oom", 0))
		return;
	hs_oom_watch_rearm();
	next_oom_look_ns = oom_retry.due_ns;
	next_oom_look_allocated = UINT64_MAX;
}

void hs_schedule_start(void)
{
	if (hs_options.oom_percent != 0) {
		hs_oom_watch_start(hs_options.oom_percent, "");
		next_oom_look_ns = hs_sys_monotonic_ns() + HS_SECOND_NS;
	}
	if (hs_options.signal_number != 0)
		install_signal(hs_options.signal_number);
	if (hs_options.time_interval_s != 0)
		hs_session.next_dump_ns =
			hs_sys_monotonic_ns() + (hs_options.time_phase_s != 0
							 ? hs_options.time_phase_s
							 : hs_options.time_interval_s) *
							HS_SECOND_NS;
}

/* Once the final profile is done nothing is due by itself: who calls exit() may wait for long. */
static bool is_finished(void)
{
	return atomic_load_explicit(&hs_session.finished, memory_order_relaxed) != 0;
}

/* The earlier of two times, of which 0 is never. */
static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns == 0 || (b_ns != 0 && b_ns < a_ns) ? b_ns : a_ns;
}

static bool is_look_needed(void)
{
	return signal_is_ours || (!is_finished() && hs_stream_awaits_frees());
}

/* Frees have been taken before: the producer does so whenever it wakes. */
static void look(void)
{
	uint64_t number = atomic_load_explicit(&hs_sequence.next, memory_order_relaxed);

	look_ns = hs_sys_monotonic_ns();
	if (number != look_number)
		active_ns = look_ns;
	look_number = number;
	check_signal();
}

int64_t hs_schedule_sleep_ns(void)
{
	uint64_t due_ns = is_look_needed() ? next_look_ns() : 0, now_ns;

	if (atomic_load_explicit(&hs_session.requests, memory_order_acquire) != 0 ||
	    hs_ask_is_waiting())
		return 1;
	if (!is_finished()) {
		due_ns = earlier(due_ns, hs_session.next_dump_ns);
		due_ns = earlier(due_ns, hs_options.oom_percent != 0 ? next_oom_look_ns : 0);
		due_ns = earlier(due_ns, inuse_retry.due_ns);
		due_ns = earlier(due_ns, hs_stream_due_ns());
	}
	if (due_ns == 0)
		return -1;
	now_ns = hs_sys_monotonic_ns();
	return due_ns > now_ns ? (int64_t)(due_ns - now_ns) : 1;
}

/* At a fixed rate: the time that writing takes does not delay the next. */
static void run_timed(void)
{
	struct hs_session *session = &hs_session;
	uint64_t interval_ns = hs_options.time_interval_s * HS_SECOND_NS;
	uint64_t now_ns = hs_sys_monotonic_ns();

	if (session->next_dump_ns == 0 || now_ns < session->next_dump_ns)
		return;
	session->next_dump_ns += interval_ns;
	if (session->next_dump_ns <= now_ns)
		session->next_dump_ns =
			now_ns + interval_ns - (now_ns - session->next_dump_ns) % interval_ns;
	hs_drain_recorded();
	hs_dump_write("interval", HS_DUMP_PERIODIC);
}

/* Memory in use at the last profile written for HEAPSAMPLE_INUSE_INTERVAL. */
static uint64_t high_water;

void hs_schedule_after_reset(void)
{
	high_water = 0;
}

static void run_by_high_water(void)
{
	uint64_t in_use = hs_producer_in_use_bytes(hs_session.producer, HS_HEAP_MALLOC);

	if (inuse_retry.due_ns != 0) {
		if (hs_sys_monotonic_ns() < inuse_retry.due_ns)
			return;
		/* The mark may have been left meanwhile. */
		inuse_retry.due_ns = 0;
	}
	if (in_use > high_water && in_use - high_water >= hs_options.inuse_interval_bytes &&
	    write_or_retry(&inuse_retry, "inuse", HS_DUMP_PERIODIC))
		high_water = in_use;
}

/* Counts from the last such profile of this process, or of its parent by fork(). */
static void run_by_bytes(void)
{
	static uint64_t allocated_before;
	uint64_t allocated = hs_stats_get(allocated_bytes);

	if (hs_options.alloc_interval_bytes != 0 &&
	    allocated - allocated_before >= hs_options.alloc_interval_bytes) {
		allocated_before = allocated;
		hs_dump_write("alloc", HS_DUMP_PERIODIC);
	}
	if (hs_options.inuse_interval_bytes != 0)
		run_by_high_water();
}

void hs_schedule_run_due(void)
{
	struct hs_session *session = &hs_session;
	/* Acquire: sees the fence of a request for the final profile. */
	uint32_t requests = atomic_exchange_explicit(&session->requests, 0, memory_order_acquire);

	if (is_look_needed() && (hs_sys_monotonic_ns() >= next_look_ns() || requests != 0))
		look();
	/* While sampling is off a signal switches it on; otherwise it writes a profile. */
	if ((requests & HS_REQUEST_SIGNAL) != 0 &&
	    (atomic_load_explicit(&hs_epoch, memory_order_relaxed) != 0 ||
	     hs_epoch_start() != 0)) {
		hs_drain_recorded();
		hs_dump_write("signal", 0);
	}
	hs_ask_serve();
	if (requests & HS_REQUEST_FINAL) {
		hs_drain_before(&session->final_fence);
		hs_dump_write("exit", 0);
		hs_started_tell();
		hs_budget_tell_stackless();
		hs_session_mark_finished();
		return;
	}
	/* The process ends: nobody would wait for another file. */
	if (is_finished())
		return;
	check_memory();
	run_timed();
	run_by_bytes();
	hs_stream_run_due();
}
