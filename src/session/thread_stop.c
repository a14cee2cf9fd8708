/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends the two profiler threads where the program must be without: glibc ends a process with its
 * last thread and would wait for ours, and the kernel has calls for processes with one thread only.
 *
 * Runs on the program's threads.
 */
#include "session/thread_stop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include "base/alone.h"
#include "base/sys.h"
#include "sample/recorder.h"
#include "sample/thread_state.h"
#include "session/cpu_guard.h"
#include "session/session_state.h"

/* How long a thread waits for the profiler's to end. */
#define STOP_LIMIT_NS 2000000000u

/* The same for those that are ending, where the machine has much to do. */
#define END_LIMIT_NS 2000000000u

/* How long one that has ended may still be seen. */
#define LEAVE_LIMIT_NS 100000000u

void hs_threads_begin_undisturbed(struct hs_undisturbed *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before->cancel_type);
	before->masked = pthread_sigmask(SIG_SETMASK, &all, &before->mask) == 0;
}

void hs_threads_end_undisturbed(const struct hs_undisturbed *before)
{
	if (before->masked)
		pthread_sigmask(SIG_SETMASK, &before->mask, NULL);
	pthread_setcanceltype(before->cancel_type, NULL);
}

static void wake_both(void)
{
	hs_ring_wake_reader(&hs_session.ring);
	hs_event_signal(&hs_session.worker_event);
	hs_event_signal(&hs_session.producer_event);
}

enum { WORKER, PRODUCER };

/*
 * Who has is_joining may look at the handles, and moves the threads to STOPPING and on from there.
 * It is held with the signals blocked, for a moment or while they are waited for: no handler over
 * the holder waits for it or jumps out.
 */
static bool try_joining(void)
{
	return !atomic_exchange(&hs_session.is_joining, true);
}

static void end_joining(void)
{
	atomic_store(&hs_session.is_joining, false);
}

/* Whether a thread is gone; a look into memory, as long as it is not. */
static bool is_gone(int which)
{
	struct hs_session *session = &hs_session;

	if (!session->joined[which])
		session->joined[which] = pthread_tryjoin_np(session->handles[which], NULL) == 0;
	return session->joined[which];
}

/* With little stack: a thread that waits for room in the ring comes here. */
bool hs_threads_died(void)
{
	struct hs_session *session = &hs_session;
	uint64_t all = UINT64_MAX, before;
	bool died = false, masked;

	if (atomic_load(&session->threads) != HS_THREADS_RUNNING)
		return false;
	if (!hs_fork_is_own_process())
		return true;
	masked = hs_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof all,
			    0, 0) == 0;
	if (try_joining()) {
		died = atomic_load(&session->threads) == HS_THREADS_RUNNING &&
		       (is_gone(WORKER) || is_gone(PRODUCER));
		if (died)
			atomic_store(&hs_recorder.reader_runs, false);
		end_joining();
	}
	if (masked)
		hs_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
	return died;
}

/* Wait until end_ns for the threads that were told to end.  Whether they are gone. */
static bool join_both(uint64_t end_ns)
{
	while (!is_gone(PRODUCER) || !is_gone(WORKER)) {
		/* Killed, it has not agreed. */
		if (is_gone(PRODUCER))
			atomic_store(&hs_session.stop, HS_STOP_AGREED);
		/* Again and again: it may be about to sleep. */
		wake_both();
		if (hs_sys_monotonic_ns() >= end_ns)
			return false;
		hs_sys_futex_wait(&hs_session.threads, atomic_load(&hs_session.threads),
				  HS_THREADS_LOOK_NS);
	}
	return true;
}

/* A thread that can be joined is still one of the process's to the kernel, for a moment. */
static void wait_until_left(int which)
{
	uint64_t end_ns = hs_sys_monotonic_ns() + LEAVE_LIMIT_NS;
	pid_t tid = atomic_exchange(&hs_session.tids[which], 0);

	while (tid != 0 && !hs_sys_thread_is_gone(tid) && hs_sys_monotonic_ns() < end_ns)
		hs_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

/* STOPPING -> NONE: they are gone. */
static void note_gone(void)
{
	struct hs_session *session = &hs_session;

	wait_until_left(WORKER);
	wait_until_left(PRODUCER);
	hs_cpu_guard_after_stop();
	atomic_store(&session->stop, HS_STOP_NOT);
	atomic_store(&session->threads, HS_THREADS_NONE);
}

void hs_threads_end_worker(void)
{
	hs_session.joined[PRODUCER] = true;
	join_both(hs_sys_monotonic_ns() + END_LIMIT_NS);
	wait_until_left(WORKER);
}

void hs_threads_end_left_stop(void)
{
	struct hs_session *session = &hs_session;

	if (atomic_load(&session->threads) != HS_THREADS_STOPPING || !try_joining())
		return;
	if (atomic_load(&session->threads) == HS_THREADS_STOPPING && join_both(0))
		note_gone();
	end_joining();
}

bool hs_threads_is_deserted(void)
{
	return atomic_load(&hs_session.more_threads) < 0 && atomic_load(&hs_session.finishing) == 0;
}

/*
 * They have not ended in time: they go on with what is due, for nobody might start them again for
 * long.  Returns whether they are gone all the same: once the producer has agreed, they are ending.
 */
static bool take_back_stop(void)
{
	struct hs_session *session = &hs_session;
	uint32_t asked = HS_STOP_ASKED;

	if (hs_threads_is_deserted())
		return false;
	if (!atomic_compare_exchange_strong(&session->stop, &asked, HS_STOP_NOT))
		return join_both(hs_sys_monotonic_ns() + END_LIMIT_NS);
	atomic_store(&session->threads, HS_THREADS_RUNNING);
	return false;
}

/* Whether they are to end now: they run, or were left ending.  Under is_joining. */
static bool ask_to_stop(void)
{
	struct hs_session *session = &hs_session;

	if (atomic_load(&session->threads) != HS_THREADS_RUNNING)
		return atomic_load(&session->threads) == HS_THREADS_STOPPING;
	atomic_store(&session->stop, HS_STOP_ASKED);
	atomic_store(&session->threads, HS_THREADS_STOPPING);
	return true;
}

/*
 * RUNNING -> STOPPING, once no other thread has them end; handlers may run while that is waited
 * for.  If true, is_joining is held, undisturbed.
 */
static bool begin_stop(uint64_t end_ns, struct hs_undisturbed *before)
{
	struct hs_session *session = &hs_session;
	uint32_t phase;

	while ((phase = atomic_load(&session->threads)) == HS_THREADS_RUNNING ||
	       phase == HS_THREADS_STOPPING) {
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

/* Whether they have ended; if so, the caller is undisturbed. */
static bool stop_undisturbed(uint64_t limit_ns, struct hs_undisturbed *before)
{
	uint64_t end_ns = hs_sys_monotonic_ns() + limit_ns;
	int saved_errno = errno;
	bool gone = false;

	if (hs_on_profiler_thread() || !hs_fork_is_own_process())
		return false;
	/* In a handler over fork(): its locks would keep them from ending. */
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

void hs_session_libc_knows_more(void)
{
	hs_alone_end();
	hs_libc_forget();
}

void hs_session_thread_comes(void)
{
	atomic_fetch_add(&hs_session.more_threads, 1);
}

void hs_session_thread_fails(void)
{
	atomic_fetch_sub(&hs_session.more_threads, 1);
}

void hs_session_thread_ends(void)
{
	hs_record_settle();
	/* As long as exit() would wait: glibc calls that on the last thread there is. */
	if (atomic_fetch_sub(&hs_session.more_threads, 1) == 0)
		hs_threads_stop(HS_DRAIN_LIMIT_NS + HS_WRITE_LIMIT_NS);
}

bool hs_session_program_is_one_thread(void)
{
	return atomic_load(&hs_session.more_threads) <= 0;
}

void hs_session_signals_sent(sigset_t *set)
{
	static const int raised[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

	sigfillset(set);
	for (size_t i = 0; i < sizeof raised / sizeof raised[0]; i++)
		sigdelset(set, raised[i]);
}

bool hs_session_alone_begins(struct hs_undisturbed *before)
{
	sigset_t blocked;

	if (!stop_undisturbed(STOP_LIMIT_NS, before))
		return false;
	hs_session_signals_sent(&blocked);
	sigorset(&blocked, &blocked, &before->mask);
	if (before->masked)
		pthread_sigmask(SIG_SETMASK, &blocked, NULL);
	return true;
}

void hs_session_alone_ends(const struct hs_undisturbed *before)
{
	hs_threads_ensure();
	hs_threads_end_undisturbed(before);
}
