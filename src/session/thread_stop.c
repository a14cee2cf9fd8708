/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends the two profiler threads when the program must be without them: glibc ends a process with
 * its last thread, and would wait for ours; and some system calls require that there is one thread.
 *
 * Runs on the program's threads.
 */
#include <errno.h>
#include <pthread.h>

#include "base/signal_mask.h"
#include "base/sys.h"
#include "sample/recorder.h"
#include "sample/thread_state.h"
#include "session/cpu_guard.h"
#include "session/session_state.h"
#include "session/threads.h"

/* How long a thread waits for the profiler's that are already ending, on a busy machine. */
#define END_LIMIT_NS 2000000000u

/* How long the kernel may still show a thread that has ended. */
#define LEAVE_LIMIT_NS 100000000u

void hs_threads_begin_undisturbed(struct hs_undisturbed *before)
{
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before->cancel_type);
	before->masked = hs_signal_mask_block(HS_SIGNALS_ALL, &before->mask);
}

void hs_threads_end_undisturbed(const struct hs_undisturbed *before)
{
	if (before->masked)
		hs_signal_mask_set(before->mask);
	pthread_setcanceltype(before->cancel_type, NULL);
}

static void wake_both(void)
{
	hs_ring_wake_reader(&hs_session.ring);
	hs_event_signal(&hs_session.worker_event);
	hs_event_signal(&hs_session.producer_event);
}

/*
 * is_joining is a lock: its holder may use the handles, and moves the phase to STOPPING and
 * onwards.  It is held with signals blocked, so that no handler on the holder's thread waits for it
 * or jumps out; for a moment, or while the threads are waited for.
 */
static bool try_joining(void)
{
	return !atomic_exchange(&hs_session.is_joining, true);
}

static void end_joining(void)
{
	atomic_store(&hs_session.is_joining, false);
}

/* Whether a thread is gone.  No system call while it is not. */
static bool is_gone(enum hs_profiler_thread which)
{
	struct hs_session *session = &hs_session;

	if (!session->joined[which])
		session->joined[which] = pthread_tryjoin_np(session->handles[which], NULL) == 0;
	return session->joined[which];
}

/* Uses little stack: called by threads that wait for room in the ring. */
bool hs_threads_died(void)
{
	struct hs_session *session = &hs_session;
	uint64_t before;
	bool died = false, masked;

	if (atomic_load(&session->threads) != HS_THREADS_RUNNING)
		return false;
	if (!hs_fork_is_own_process())
		return true;
	masked = hs_signal_mask_block(UINT64_MAX, &before);
	if (try_joining()) {
		died = atomic_load(&session->threads) == HS_THREADS_RUNNING &&
		       (is_gone(HS_WORKER) || is_gone(HS_PRODUCER));
		if (died)
			atomic_store(&hs_recorder.reader_runs, false);
		end_joining();
	}
	if (masked)
		hs_signal_mask_set(before);
	return died;
}

/* Waits until end_ns for the threads that were told to end.  Returns whether they are gone. */
static bool join_both(uint64_t end_ns)
{
	while (!is_gone(HS_PRODUCER) || !is_gone(HS_WORKER)) {
		/* If it was killed it has not agreed to stop. */
		if (is_gone(HS_PRODUCER))
			atomic_store(&hs_session.stop, HS_STOP_REQUEST_AGREED);
		/* In each round: it may have been about to sleep. */
		wake_both();
		if (hs_sys_monotonic_ns() >= end_ns)
			return false;
		hs_sys_futex_wait(&hs_session.threads, atomic_load(&hs_session.threads),
				  HS_THREADS_LOOK_NS);
	}
	return true;
}

/* The kernel counts a thread that was joined as one of the process's for a moment longer. */
static void wait_until_left(enum hs_profiler_thread which)
{
	uint64_t start_ns = hs_sys_monotonic_ns();
	pid_t tid = atomic_exchange(&hs_session.tids[which], 0);

	while (tid != 0 && !hs_sys_thread_is_gone(tid) &&
	       hs_sys_monotonic_ns() - start_ns < LEAVE_LIMIT_NS)
		hs_sys_let_others_run(start_ns);
}

/* STOPPING -> NONE, when they are gone. */
static void note_gone(void)
{
	struct hs_session *session = &hs_session;

	wait_until_left(HS_WORKER);
	wait_until_left(HS_PRODUCER);
	hs_cpu_guard_after_stop();
	atomic_store(&session->stop, HS_STOP_REQUEST_NONE);
	atomic_store(&session->threads, HS_THREADS_NONE);
}

void hs_threads_end_worker(void)
{
	hs_session.joined[HS_PRODUCER] = true;
	join_both(hs_sys_monotonic_ns() + END_LIMIT_NS);
	wait_until_left(HS_WORKER);
}

void hs_threads_finish_stop(void)
{
	struct hs_session *session = &hs_session;

	if (atomic_load(&session->threads) != HS_THREADS_STOPPING || !try_joining())
		return;
	if (atomic_load(&session->threads) == HS_THREADS_STOPPING && join_both(0))
		note_gone();
	end_joining();
}

/*
 * They have not ended in time: lets them go on, because nobody might start them again for long.
 * Returns whether they are gone after all: once the producer has agreed to stop, they do end.
 */
static bool take_back_stop(void)
{
	struct hs_session *session = &hs_session;
	uint32_t asked = HS_STOP_REQUEST_MADE;

	if (hs_threads_is_deserted())
		return false;
	if (!atomic_compare_exchange_strong(&session->stop, &asked, HS_STOP_REQUEST_NONE))
		return join_both(hs_sys_monotonic_ns() + END_LIMIT_NS);
	atomic_store(&session->threads, HS_THREADS_RUNNING);
	return false;
}

/* Tells them to end.  False: they neither run nor are ending.  Under is_joining. */
static bool ask_to_stop(void)
{
	struct hs_session *session = &hs_session;

	if (atomic_load(&session->threads) != HS_THREADS_RUNNING)
		return atomic_load(&session->threads) == HS_THREADS_STOPPING;
	atomic_store(&session->stop, HS_STOP_REQUEST_MADE);
	atomic_store(&session->threads, HS_THREADS_STOPPING);
	return true;
}

/*
 * RUNNING -> STOPPING, after waiting for other threads that are ending them; handlers may run
 * meanwhile.  True: is_joining is held, and the caller is undisturbed.
 */
static bool begin_stop(uint64_t end_ns, struct hs_undisturbed *before)
{
	struct hs_session *session = &hs_session;
	uint32_t phase;

	/* STARTING: by another thread, for which this one waits. */
	while ((phase = atomic_load(&session->threads)) == HS_THREADS_RUNNING ||
	       phase == HS_THREADS_STARTING || phase == HS_THREADS_STOPPING) {
		hs_threads_begin_undisturbed(before);
		if (try_joining()) {
			if (ask_to_stop())
				return true;
			end_joining();
		}
		hs_threads_end_undisturbed(before);
		if (hs_sys_monotonic_ns() >= end_ns)
			break;
		hs_sys_futex_wait(&session->threads, phase, HS_THREADS_LOOK_NS);
	}
	return false;
}

/* Ends them.  Whether they are gone; if so, the caller is undisturbed. */
static bool stop_undisturbed(uint64_t limit_ns, struct hs_undisturbed *before)
{
	uint64_t end_ns = hs_sys_monotonic_ns() + limit_ns;
	bool gone = false;
	int saved_errno;

	/* The process first, then errno: as in hs_session_finish(). */
	if (!hs_fork_is_own_process() || hs_on_profiler_thread())
		return false;
	saved_errno = errno;
	/* This may be a handler that has interrupted fork(), whose locks would keep them alive. */
	hs_fork_let_go();
	if (begin_stop(end_ns, before)) {
		gone = join_both(end_ns) || take_back_stop();
		if (gone)
			note_gone();
		end_joining();
		if (!gone)
			hs_threads_end_undisturbed(before);
	}
	errno = saved_errno;
	return gone;
}

bool hs_threads_stop(uint64_t limit_ns)
{
	struct hs_undisturbed before;
	bool gone = stop_undisturbed(limit_ns, &before);

	if (gone)
		hs_threads_end_undisturbed(&before);
	return gone;
}

bool hs_session_stop_threads(struct hs_undisturbed *before)
{
	if (!stop_undisturbed(HS_PROFILE_LIMIT_NS, before))
		return false;
	if (before->masked)
		hs_signal_mask_set(HS_SIGNALS_ASYNCHRONOUS | before->mask);
	return true;
}

void hs_session_restart_threads(const struct hs_undisturbed *before)
{
	hs_threads_ensure();
	hs_threads_end_undisturbed(before);
	/* They have been started; this waits, with signals as they were. */
	hs_threads_start_for_sample((uintptr_t)__builtin_frame_address(0));
}
