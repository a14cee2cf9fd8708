/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile that one of the program's threads asks for and waits for; and the one before
 * an exec.
 */
#include <errno.h>
#include <limits.h>

#include "base/log.h"
#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/recorder.h"
#include "sample/thread_state.h"
#include "session/session_state.h"

static _Atomic(const char *) asked_reason;

static bool is_done(uint32_t ask)
{
	/* Acquire: pairs with the release in hs_dump_serve(): the file is there. */
	return (int32_t)(atomic_load_explicit(&hs_session.dumps_done, memory_order_acquire) -
			 ask) >= 0;
}

bool hs_dump_ask(const char *reason)
{
	struct hs_session *session = &hs_session;
	uint64_t end_ns = hs_sys_monotonic_ns() + HS_DRAIN_LIMIT_NS + HS_WRITE_LIMIT_NS;
	uint32_t ask;

	atomic_store_explicit(&asked_reason, reason, memory_order_relaxed);
	/* Release: the reason, and what this thread has sampled. */
	ask = atomic_fetch_add_explicit(&session->dumps_asked, 1, memory_order_release) + 1;
	hs_ring_wake_reader(&session->ring);
	hs_event_signal(&session->producer_event);
	while (!is_done(ask)) {
		uint32_t done = atomic_load_explicit(&session->dumps_done, memory_order_relaxed);
		uint64_t now_ns = hs_sys_monotonic_ns();

		if (now_ns >= end_ns)
			return false;
		if (!is_done(ask))
			hs_sys_futex_wait(&session->dumps_done, done, (int64_t)(end_ns - now_ns));
	}
	return true;
}

void hs_dump_serve(void)
{
	struct hs_session *session = &hs_session;
	uint32_t asked = atomic_load_explicit(&session->dumps_asked, memory_order_acquire);

	if (asked == atomic_load_explicit(&session->dumps_done, memory_order_relaxed))
		return;
	hs_schedule_drain(hs_ring_head_ticket(&session->ring),
			  hs_sys_monotonic_ns() + HS_DRAIN_LIMIT_NS);
	hs_dump_write(atomic_load_explicit(&asked_reason, memory_order_relaxed));
	atomic_store_explicit(&session->dumps_done, asked, memory_order_release);
	hs_sys_futex_wake(&session->dumps_done, INT_MAX);
}

void hs_session_exec_begins(void)
{
	struct hs_session *session = &hs_session;
	uint64_t samples = hs_stats_get(samples);
	bool streams = hs_options.stream[0] != '\0'; /* then frees may be left to write */
	int saved_errno = errno;

	/* Without the threads nothing was sampled, or not by this process. */
	if (atomic_load_explicit(&session->phase, memory_order_acquire) != HS_SESSION_ACTIVE ||
	    atomic_load_explicit(&session->threads, memory_order_acquire) != HS_THREADS_RUNNING ||
	    hs_on_profiler_thread() || (!hs_options.final_dump && !streams) ||
	    hs_sys_getpid() != session->process_id ||
	    samples == (session->forked ? session->samples_before : 0) ||
	    (atomic_exchange_explicit(&session->exec_samples, samples, memory_order_relaxed) ==
		     samples &&
	     !streams))
		return;
	hs_record_settle();
	if (!hs_dump_ask("exec"))
		hs_log(HS_LOG_ERROR, "the profile of %s was not complete before its exec",
		       session->program);
	errno = saved_errno;
}
