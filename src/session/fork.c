/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork(): the child finds whole structures, inherits the books and what is still in
 * the ring, and starts its own profiler threads at its first sample.
 *
 * The handlers are registered in the constructor, before any of the program's, so
 * prepare runs last and the others first.
 */
#include <errno.h>
#include <pthread.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/recorder.h"
#include "sample/sampler.h"
#include "sample/thread_state.h"
#include "session/session_state.h"

/* The longest that a fork waits for the profiler threads. */
#define QUIESCE_LIMIT_NS 50000000u

static bool quiesced; /* written by prepare, read by parent and child: the forking thread */

static void prepare(void)
{
	struct hs_session *session = &hs_session;
	int saved_errno = errno;

	hs_thread.no_wait = true;
	quiesced = hs_lock_acquire_within(&session->worker_batch, QUIESCE_LIMIT_NS);
	if (quiesced && !hs_lock_acquire_within(&session->producer_batch, QUIESCE_LIMIT_NS)) {
		hs_lock_release(&session->worker_batch);
		quiesced = false;
	}
	errno = saved_errno;
}

static void parent(void)
{
	int saved_errno = errno;

	if (quiesced) {
		hs_lock_release(&hs_session.producer_batch);
		hs_lock_release(&hs_session.worker_batch);
	}
	hs_thread.no_wait = false;
	errno = saved_errno;
}

/* The threads of the parent do not exist here, nor what they were waiting for. */
static void forget_threads(void)
{
	struct hs_session *session = &hs_session;

	atomic_store(&session->threads, HS_THREADS_NONE);
	atomic_store(&hs_recorder.reader_runs, false);
	atomic_store(&session->ring.reader_asleep, 0);
	atomic_store(&session->ring.space_waiters, 0);
	atomic_store(&session->producer_event.state, 0);
	atomic_store(&session->worker_event.state, 0);
	hs_lock_reset(&session->worker_batch);
	hs_lock_reset(&session->producer_batch);
	hs_arena_after_fork();
}

static void child(void)
{
	struct hs_session *session = &hs_session;
	int saved_errno = errno;

	atomic_store(&session->process_id, hs_sys_getpid());
	atomic_store(&hs_recorder.process_id, session->process_id);
	session->forked = true;
	session->samples_before = hs_stats_get(samples);
	session->dump_number = 0;
	atomic_store(&session->requests, 0);
	atomic_store(&session->finishing, 0);
	atomic_store(&session->finished, 0);
	forget_threads();
	hs_thread.no_wait = false;
	if (!hs_record_after_fork() || !quiesced)
		hs_session_off("fork met the profiler at work for too long");
	else if ((hs_options.children & HS_CHILDREN_FORK) == 0) {
		atomic_store(&session->phase, HS_SESSION_OFF);
		atomic_store_explicit(&hs_sampler_interval, 0, memory_order_relaxed);
	}
	errno = saved_errno;
}

void hs_fork_install(void)
{
	if (pthread_atfork(prepare, parent, child) != 0)
		hs_log(HS_LOG_WARN, "no fork handlers: forked children are not profiled");
}
