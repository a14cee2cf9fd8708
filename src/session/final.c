/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The final profile: requested when the process ends, and waited for.
 *
 * Runs on the program's threads, except where a function says otherwise.
 */
#include <errno.h>
#include <limits.h>

#include "base/alone.h"
#include "base/log.h"
#include "base/options.h"
#include "base/sys.h"
#include "sample/heap.h"
#include "sample/recorder.h"
#include "sample/sampler.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/threads.h"

/* Why the final profile will not come; NULL: it still may. */
static const char *why_not_finished(uint64_t start_ns, uint64_t waited_ns)
{
	struct hs_session *session = &hs_session;

	if (waited_ns >= HS_PROFILE_LIMIT_NS)
		return "it was not complete after 62 s";
	if (hs_threads_died())
		return "a thread of the profiler was killed";
	if (hs_threads_cannot_wake(start_ns,
				(atomic_load(&session->requests) & HS_REQUEST_FINAL) != 0))
		return "futex() is refused";
	return NULL;
}

/* Waits until the final profile is written, or will not come.  start_ns: when it was requested. */
static void wait_until_finished(uint64_t start_ns)
{
	struct hs_session *session = &hs_session;
	uint64_t waited_ns = hs_sys_monotonic_ns() - start_ns;
	const char *reason;

	while (atomic_load_explicit(&session->finished, memory_order_acquire) == 0) {
		reason = why_not_finished(start_ns, waited_ns);
		if (reason != NULL) {
			hs_log(HS_LOG_ERROR, "no profile of %s: %s", session->program, reason);
			break;
		}
		waited_ns += hs_threads_wait_slice(&session->finished, 0);
	}
}

void hs_session_mark_finished(void)
{
	/* Release: whoever sees it finds the file. */
	atomic_store_explicit(&hs_session.finished, 1, memory_order_release);
	hs_sys_futex_wake(&hs_session.finished, INT_MAX);
}

static bool is_final_due(void)
{
	return (hs_options.final_dump || hs_options_streams(&hs_options)) &&
	       (!hs_session.forked || hs_heap_total(samples) > hs_session.samples_before_fork);
}

/*
 * Ends the recording, and requests the final profile if it is due; returns whether it is.  Frees
 * and samples that threads are in the middle of are left to the producer.
 */
static bool end_recording(void)
{
	struct hs_session *session = &hs_session;

	hs_alone_end();
	hs_sampler_end();
	hs_recorder.block_ns = 0;
	if (!is_final_due())
		return false;
	session->final_fence = hs_drain_fence();
	/* Release: the producer sees it. */
	atomic_fetch_or_explicit(&session->requests, HS_REQUEST_FINAL, memory_order_release);
	return true;
}

bool hs_session_finish_left_alone(void)
{
	uint32_t first = 0;

	return hs_session_is_active() &&
	       atomic_compare_exchange_strong(&hs_session.finishing, &first, 1) &&
	       end_recording();
}

/*
 * The first time ends the recording, and requests the final profile if it is due.  Undisturbed: a
 * handler that ends the process only waits for what it has interrupted.
 */
static void request_final_once(void)
{
	struct hs_undisturbed before;
	uint32_t first = 0;

	hs_threads_begin_undisturbed(&before);
	if (atomic_compare_exchange_strong(&hs_session.finishing, &first, 1)) {
		hs_record_stop_thread();
		if (end_recording()) {
			hs_ring_wake_reader(&hs_session.ring);
			hs_event_signal(&hs_session.producer_event);
		} else {
			hs_session_mark_finished();
		}
	}
	hs_threads_end_undisturbed(&before);
}

void hs_session_finish(void)
{
	uint64_t start_ns;
	int saved_errno;

	if (!hs_session_is_active() || !hs_fork_is_own_process() || hs_on_profiler_thread())
		return;
	/* Only now: a child in the process's memory may have no thread-local storage, see errno. */
	saved_errno = errno;
	/* If this handler has interrupted fork() the producer would wait for its locks. */
	hs_fork_let_go();
	start_ns = hs_sys_monotonic_ns();
	request_final_once();
	if (atomic_load(&hs_session.finished) == 0 && !hs_threads_await()) {
		hs_log(HS_LOG_ERROR, "no profile of %s: the profiler's threads cannot be started",
		       hs_session.program);
		hs_session_mark_finished();
	}
	wait_until_finished(start_ns);
	errno = saved_errno;
}
