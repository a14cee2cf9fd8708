/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts the two profiler threads, and ends them where the program must be without: glibc ends
 * a process with its last thread and would wait for ours, and the kernel has calls for
 * processes with one thread only.
 *
 * Runs on the program's threads.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "base/log.h"
#include "base/sys.h"
#include "sample/recorder.h"
#include "sample/thread_state.h"
#include "session/cpu_guard.h"
#include "session/session_state.h"

/* Room for the demangler with names that were made to exhaust it. */
#define THREAD_STACK_BYTES ((size_t)4 << 20)

/* Between two looks at what nobody wakes for. */
#define LOOK_NS 1000000

/* How long a thread waits for the profiler's to end. */
#define STOP_LIMIT_NS 2000000000u

/* A thread that cannot be woken has not been asleep if it has begun by then. */
#define ASLEEP_LIMIT_NS 500000000u

/* The same for those that are ending, where the machine has much to do. */
#define END_LIMIT_NS 2000000000u

/* How long a thread waits for another one that starts or ends them. */
#define AWAIT_LIMIT_NS 5000000000u

/* How long one that has ended may still be seen. */
#define LEAVE_LIMIT_NS 100000000u

static int start_thread(pthread_t *thread, void *(*start)(void *))
{
	struct sched_param none = {.sched_priority = 0};
	pthread_attr_t attributes;
	int error = pthread_attr_init(&attributes);

	if (error != 0)
		return error;
	pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
	pthread_attr_setschedparam(&attributes, &none);
	error = hs_session.next.pthread_create(thread, &attributes, start, NULL);
	if (error != 0) {
		/* Not every thread may choose (SCHED_IDLE without privilege): as its creator. */
		pthread_attr_setinheritsched(&attributes, PTHREAD_INHERIT_SCHED);
		error = hs_session.next.pthread_create(thread, &attributes, start, NULL);
	}
	pthread_attr_destroy(&attributes);
	return error;
}

static int start_in_order(void)
{
	struct hs_session *session = &hs_session;
	int error = hs_threads_would_live() ? 0 : EPERM;

	session->joined[0] = session->joined[1] = false;
	if (error == 0)
		error = start_thread(&session->handles[0], hs_threads_worker);
	if (error == 0)
		error = start_thread(&session->handles[1], hs_threads_producer);
	return error;
}

/*
 * The creating thread allocates from the arena meanwhile: it may be inside an allocation
 * of the program (or a signal handler that interrupted one), and what pthread_create()
 * allocates must not be sampled or wait for the program's allocator.  Signals are blocked.
 */
static int start_both(void)
{
	struct hs_thread_state saved = hs_thread;
	int error;

	hs_thread.kind = HS_THREAD_PROFILER;
	hs_thread.bytes_until_sample = 0;
	error = start_in_order();
	hs_thread.kind = saved.kind;
	hs_thread.bytes_until_sample = saved.bytes_until_sample;
	return error;
}

/*
 * While threads are started or joined no handler may jump out, and no cancellation end the
 * thread: locks of the C library and of the arena are held.  Cancellation is deferred, not
 * disabled: no point of it is passed, and glibc 2.36 forgets PTHREAD_CANCELED in
 * pthread_setcancelstate().
 */
struct undisturbed {
	sigset_t mask;
	int cancel_type;
	bool masked; /* else the program's handlers would run on our threads */
};

static void begin_undisturbed(struct undisturbed *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before->cancel_type);
	before->masked = pthread_sigmask(SIG_SETMASK, &all, &before->mask) == 0;
}

static void end_undisturbed(const struct undisturbed *before)
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

/* Whether a thread is gone; a look into memory, as long as it is not. */
static bool is_gone(int which)
{
	struct hs_session *session = &hs_session;

	if (!session->joined[which])
		session->joined[which] = pthread_tryjoin_np(session->handles[which], NULL) == 0;
	return session->joined[which];
}

bool hs_threads_died(void)
{
	struct hs_session *session = &hs_session;
	bool died;

	if (atomic_load(&session->threads) != HS_THREADS_RUNNING ||
	    atomic_exchange(&session->is_joining, true))
		return false;
	died = atomic_load(&session->threads) == HS_THREADS_RUNNING &&
	       (is_gone(WORKER) || is_gone(PRODUCER));
	if (died)
		atomic_store(&hs_recorder.reader_runs, false);
	atomic_store(&session->is_joining, false);
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
		hs_sys_futex_wait(&hs_session.threads, HS_THREADS_STOPPING, LOOK_NS);
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

/* STOPPING -> NONE, if they are gone by then. */
static bool end_stop(uint64_t end_ns)
{
	struct hs_session *session = &hs_session;
	bool gone;

	if (atomic_load(&session->threads) != HS_THREADS_STOPPING ||
	    atomic_exchange(&session->is_joining, true))
		return false;
	gone = atomic_load(&session->threads) == HS_THREADS_STOPPING && join_both(end_ns);
	if (gone) {
		wait_until_left(WORKER);
		wait_until_left(PRODUCER);
		hs_cpu_guard_after_stop();
		atomic_store(&session->stop, HS_STOP_NOT);
		atomic_store(&session->threads, HS_THREADS_NONE);
	}
	atomic_store(&session->is_joining, false);
	return gone;
}

/* None of the program's threads is left, or is about to be; it does not end by exit() either. */
static bool is_deserted(void)
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
	uint32_t asked = HS_STOP_ASKED, stopping = HS_THREADS_STOPPING;

	if (is_deserted())
		return false;
	if (!atomic_compare_exchange_strong(&session->stop, &asked, HS_STOP_NOT))
		return end_stop(hs_sys_monotonic_ns() + END_LIMIT_NS);
	atomic_compare_exchange_strong(&session->threads, &stopping, HS_THREADS_RUNNING);
	return false;
}

/* RUNNING -> STOPPING, once no other thread has them end. */
static bool begin_stop(uint64_t end_ns)
{
	struct hs_session *session = &hs_session;
	uint32_t phase = HS_THREADS_RUNNING;

	while (!atomic_compare_exchange_strong(&session->threads, &phase, HS_THREADS_STOPPING)) {
		if (phase != HS_THREADS_STOPPING || hs_sys_monotonic_ns() >= end_ns)
			return false;
		hs_sys_futex_wait(&session->threads, phase, LOOK_NS);
		phase = HS_THREADS_RUNNING;
	}
	atomic_store(&session->stop, HS_STOP_ASKED);
	return true;
}

bool hs_threads_stop(uint64_t limit_ns)
{
	struct hs_session *session = &hs_session;
	uint64_t end_ns = hs_sys_monotonic_ns() + limit_ns;
	int saved_errno = errno;
	struct undisturbed before;
	bool gone;

	if (hs_on_profiler_thread() || hs_sys_getpid() != session->process_id ||
	    !begin_stop(end_ns))
		return false;
	begin_undisturbed(&before);
	gone = end_stop(end_ns) || take_back_stop();
	end_undisturbed(&before);
	errno = saved_errno;
	return gone;
}

/* Whether they run; off is set if they cannot be started. */
static bool start_once(bool may_start, bool *off)
{
	struct hs_session *session = &hs_session;
	uint32_t none = HS_THREADS_NONE;

	if (!atomic_compare_exchange_strong(&session->threads, &none, HS_THREADS_STARTING))
		return none == HS_THREADS_RUNNING;
	atomic_store_explicit(&session->starter, hs_sys_gettid(), memory_order_relaxed);
	*off = !may_start || start_both() != 0;
	atomic_store_explicit(&session->threads, *off ? HS_THREADS_FAILED : HS_THREADS_RUNNING,
			      memory_order_release);
	return !*off;
}

bool hs_threads_ensure(void)
{
	struct hs_session *session = &hs_session;
	uint32_t phase = atomic_load_explicit(&session->threads, memory_order_acquire);
	int saved_errno = errno;
	struct undisturbed before;
	bool running, off = false;

	if (phase != HS_THREADS_NONE && phase != HS_THREADS_STOPPING)
		return phase == HS_THREADS_RUNNING;
	if (atomic_load_explicit(&session->phase, memory_order_acquire) != HS_SESSION_ACTIVE ||
	    hs_sys_getpid() != session->process_id || is_deserted())
		return false;
	begin_undisturbed(&before);
	end_stop(0);
	running = start_once(before.masked, &off);
	end_undisturbed(&before);
	if (off)
		hs_session_off("the profiler's threads cannot be started");
	errno = saved_errno;
	return running;
}

bool hs_threads_sleep_on(uint64_t start_ns, bool not_begun)
{
	return not_begun && hs_sys_is_wake_refused() &&
	       hs_sys_monotonic_ns() - start_ns > ASLEEP_LIMIT_NS;
}

bool hs_threads_await(void)
{
	struct hs_session *session = &hs_session;
	uint64_t end_ns = hs_sys_monotonic_ns() + AWAIT_LIMIT_NS;
	uint32_t phase;

	if (hs_threads_ensure())
		return true;
	/* In a handler over the starting thread there is nothing to wait for. */
	while ((((phase = atomic_load_explicit(&session->threads, memory_order_acquire)) ==
			 HS_THREADS_STARTING &&
		 session->starter != hs_sys_gettid()) ||
		phase == HS_THREADS_STOPPING) &&
	       hs_sys_monotonic_ns() < end_ns) {
		if (phase == HS_THREADS_STOPPING && hs_threads_ensure())
			return true;
		hs_sys_futex_wait(&session->threads, phase, LOOK_NS);
	}
	return phase == HS_THREADS_RUNNING;
}

void hs_threads_wait_reader(uint64_t timeout_ns)
{
	struct hs_session *session = &hs_session;
	uint64_t end_ns = hs_sys_monotonic_ns() + timeout_ns;

	while (atomic_load_explicit(&session->threads, memory_order_relaxed) ==
		       HS_THREADS_RUNNING &&
	       !hs_record_has_reader() && hs_sys_monotonic_ns() < end_ns)
		hs_sys_futex_wait(&session->threads, HS_THREADS_RUNNING, LOOK_NS);
}

void hs_threads_start_late(uintptr_t sp)
{
	/* Before they run: then they are a forked child's, and libunwind has been its parent's. */
	bool is_loaded = hs_session.engine_loaded;

	/* Samples that may wait for room need somebody who makes it. */
	if (hs_threads_ensure() && is_loaded && hs_recorder.block_ns != 0 && hs_record_may_wait(sp))
		hs_threads_wait_reader(HS_START_LIMIT_NS);
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

bool hs_session_alone_begins(void)
{
	return hs_threads_stop(STOP_LIMIT_NS);
}

void hs_session_alone_ends(void)
{
	hs_threads_ensure();
}
