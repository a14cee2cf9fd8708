/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two profiler threads: starting them, and their loops.
 *
 * They run with all signals blocked (by pthread_sigmask, which leaves glibc's own ones
 * open: setuid() signals every thread), under SCHED_OTHER, on the processors that the
 * process could use when it began.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/live_set.h"
#include "sample/recorder.h"
#include "sample/sampler.h"
#include "sample/thread_state.h"
#include "session/budget.h"
#include "session/cpu_guard.h"
#include "session/session_state.h"

/* Room for the demangler with names that were made to exhaust it. */
#define THREAD_STACK_BYTES ((size_t)4 << 20)

/* Records between two moments at which a fork can come in, unless one waits already. */
#define BATCH_RECORDS 64

/*
 * When the worker has read all it looks again by itself after this long, or when the ring fills
 * up: so samples in close succession cost neither the program a wake nor us a switch each.
 */
#define NAP_NS 10000000

/* The same where what happens is to be met while it is so. */
#define SHORT_NAP_NS 1000000

#define STALL_NS 1000000

/* At most: the producer says when there is room in the queue. */
#define FULL_QUEUE_NS 2000000

/* A number that has not arrived after this long, with all older records read, is lost. */
#define GAP_NS 100000000u

/* Slots of the live set to keep ready beyond those in use. */
#define SLOT_HEADROOM (96u << 10)

static void become_profiler(const char *name)
{
	hs_thread.kind = HS_THREAD_PROFILER;
	hs_thread.bytes_until_sample = 0;
	hs_syscall(SYS_prctl, PR_SET_NAME, (long)name, 0, 0, 0, 0);
	if (hs_session.affinity_bytes > 0)
		hs_syscall(SYS_sched_setaffinity, 0, hs_session.affinity_bytes,
			   (long)hs_session.affinity, 0, 0, 0);
}

static void load_engine_once(void)
{
	if (hs_session.engine_loaded || hs_session.unwinder == NULL)
		return;
	hs_session.engine_loaded = true;
	hs_unwinder_load_engine(hs_session.unwinder);
}

/* As many records as a fork may wait for.  Returns how many there were. */
static int unwind_batch(enum hs_worker_result *result)
{
	struct hs_session *session = &hs_session;
	int done = 0;

	hs_lock_acquire(&session->worker_batch);
	do {
		*result = hs_worker_step(session->worker);
	} while (*result == HS_WORKER_DID_ONE && ++done < BATCH_RECORDS &&
		 !hs_lock_is_wanted(&session->worker_batch));
	hs_ring_give_back(&session->ring);
	hs_ring_prepare(&session->ring);
	if (*result == HS_WORKER_STALLED)
		hs_ring_close_dead(&session->ring);
	hs_cpu_note_worker();
	hs_lock_hand_over(&session->worker_batch);
	return done;
}

/*
 * How long a nap may be; 0: there is none.  A thread's name is read when its sample arrives;
 * memory and bytes are looked at then.
 */
static int64_t nap_ns(void)
{
	if ((hs_options.labels & HS_LABEL_THREAD) != 0)
		return 0;
	if (hs_options.oom_percent != 0 || hs_options.alloc_interval_bytes != 0 ||
	    hs_options.inuse_interval_bytes != 0)
		return SHORT_NAP_NS;
	return NAP_NS;
}

/*
 * Wait until there may be something to do.  worked: there was something since the last wait.
 * Returns whether it was woken.
 */
static bool worker_rest(enum hs_worker_result result, bool worked)
{
	struct hs_session *session = &hs_session;

	switch (result) {
	case HS_WORKER_DID_ONE:
		return false;
	case HS_WORKER_FULL:
		/* Told so, the producer may have made room meanwhile: once more before the wait. */
		if (atomic_exchange(&session->is_queue_full, true))
			hs_event_wait(&session->worker_event, FULL_QUEUE_NS);
		return false;
	case HS_WORKER_STALLED:
		hs_ring_reader_sleep(&session->ring, STALL_NS);
		return true;
	case HS_WORKER_IDLE:
		break;
	}
	if (worked && nap_ns() != 0)
		return hs_ring_reader_nap(&session->ring, nap_ns());
	hs_ring_reader_sleep(&session->ring, -1);
	return true;
}

static void *worker_main(void *unused)
{
	struct hs_session *session = &hs_session;
	bool worked = false; /* since it last slept */
	bool woken = false;

	(void)unused;
	become_profiler("heapsample-unw");
	hs_lock_acquire(&session->worker_batch);
	load_engine_once();
	hs_lock_hand_over(&session->worker_batch);
	atomic_store_explicit(&hs_recorder.reader_runs, true, memory_order_release);
	for (;;) {
		enum hs_worker_result result;

		worked |= unwind_batch(&result) > 0;
		/*
		 * When there is a pause, or much to take.  Woken for nothing: the live set is full,
		 * and frees wait for the producer.
		 */
		if (result == HS_WORKER_DID_ONE ? hs_ring_is_filling(&session->queue)
						: worked || woken)
			hs_event_signal(&session->producer_event);
		woken = worker_rest(result, worked);
		worked &= result == HS_WORKER_DID_ONE || result == HS_WORKER_FULL;
	}
	return NULL;
}

/* A number is missing: give it time, then go on without it. */
static void watch_gap(bool waiting)
{
	static uint64_t number, since_ns;
	static uint32_t fence;
	struct hs_session *session = &hs_session;
	uint64_t now_ns;

	if (!waiting) {
		number = 0;
		return;
	}
	now_ns = hs_sys_monotonic_ns();
	if (hs_producer_next_number(session->producer) != number) {
		number = hs_producer_next_number(session->producer);
		since_ns = now_ns;
		fence = hs_ring_head_ticket(&session->ring);
	} else if (now_ns - since_ns > GAP_NS &&
		   hs_ring_unread_before(&session->ring, fence) == 0) {
		hs_producer_skip_gap(session->producer);
		number = 0;
	}
}

static bool is_ring_empty(void)
{
	const struct hs_ring *ring = &hs_session.ring;

	return hs_ring_unread_before(ring, hs_ring_head_ticket(ring)) == 0;
}

bool hs_threads_produce(void)
{
	static bool is_live_set_short;
	struct hs_session *session = &hs_session;
	uint64_t start_ns = hs_sys_monotonic_ns();
	struct hs_ring_item item;
	uint32_t freed;
	bool waiting;
	int done = 0;

	/*
	 * Frees first: the allocation of a free taken here is in the ring or the queue by
	 * now, the free of an allocation taken below may come later.
	 */
	freed = hs_producer_take_freed(session->producer);
	for (; done < BATCH_RECORDS; done++) {
		/* After one at least: without any there is nothing left to do. */
		if (done > 0 && hs_lock_is_wanted(&session->producer_batch))
			break;
		hs_ring_read(&session->queue, &item);
		if (item.state != HS_RING_COMMITTED)
			break;
		hs_producer_take(session->producer, item.data);
		hs_ring_pass(&session->queue);
	}
	hs_ring_give_back(&session->queue);
	waiting = hs_producer_commit(session->producer);
	watch_gap(waiting);
	if (!hs_ring_is_filling(&session->queue) && atomic_exchange(&session->is_queue_full, false))
		hs_event_signal(&session->worker_event);
	if (done > 0 || freed > 0) {
		is_live_set_short = hs_live_set_maintain(SLOT_HEADROOM) != 0 ||
				    hs_live_set_used() >= hs_live_set_limit();
		hs_budget_follow();
		hs_stats_add(bookkeeping_ns, hs_sys_monotonic_ns() - start_ns);
	}
	atomic_store_explicit(&hs_live_set_exhausted,
			      is_live_set_short && !waiting && done == 0 && freed == 0 &&
				      is_ring_empty(),
			      memory_order_relaxed);
	hs_budget_tell_losses(is_live_set_short);
	return done > 0 || freed > 0;
}

void hs_threads_pause(void *unused)
{
	(void)unused;
	hs_lock_hand_over(&hs_session.producer_batch);
	hs_lock_acquire(&hs_session.producer_batch);
	hs_cpu_note_producer(false);
	/* What is kept for writing is not for the books. */
	hs_session_set_budget(false);
	hs_threads_produce();
	hs_session_set_budget(true);
	hs_cpu_note_producer(true);
}

static void *producer_main(void *unused)
{
	struct hs_session *session = &hs_session;
	int64_t sleep_ns;
	bool busy;

	(void)unused;
	become_profiler("heapsample-prod");
	for (;;) {
		hs_lock_acquire(&session->producer_batch);
		busy = hs_threads_produce();
		hs_schedule_run_due();
		hs_cpu_guard_follow();
		sleep_ns = hs_schedule_sleep_ns();
		if (hs_producer_commit(session->producer) &&
		    (sleep_ns < 0 || sleep_ns > GAP_NS / 10))
			sleep_ns = GAP_NS / 10;
		hs_lock_hand_over(&session->producer_batch);
		if (!busy)
			hs_event_wait(&session->producer_event, sleep_ns);
	}
	return NULL;
}

static int start_thread(void *(*start)(void *))
{
	struct sched_param none = {.sched_priority = 0};
	pthread_attr_t attributes;
	pthread_t thread;
	int error = pthread_attr_init(&attributes);

	if (error != 0)
		return error;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
	pthread_attr_setschedparam(&attributes, &none);
	error = hs_session.next.pthread_create(&thread, &attributes, start, NULL);
	if (error != 0) {
		/* Not every thread may choose (SCHED_IDLE without privilege): as its creator. */
		pthread_attr_setinheritsched(&attributes, PTHREAD_INHERIT_SCHED);
		error = hs_session.next.pthread_create(&thread, &attributes, start, NULL);
	}
	pthread_attr_destroy(&attributes);
	return error;
}

/*
 * The creating thread allocates from the arena meanwhile: it may be inside an allocation
 * of the program (or a signal handler that interrupted one), and what pthread_create()
 * allocates must not be sampled or wait for the program's allocator.
 */
static int start_both(void)
{
	struct hs_thread_state saved = hs_thread;
	sigset_t all, mask;
	int error;

	sigfillset(&all);
	hs_thread.kind = HS_THREAD_PROFILER;
	hs_thread.bytes_until_sample = 0;
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	error = start_thread(worker_main);
	if (error == 0)
		error = start_thread(producer_main);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	hs_thread.kind = saved.kind;
	hs_thread.bytes_until_sample = saved.bytes_until_sample;
	return error;
}

bool hs_threads_ensure(void)
{
	struct hs_session *session = &hs_session;
	int saved_errno = errno, error;
	uint32_t none = HS_THREADS_NONE;

	if (atomic_load_explicit(&session->threads, memory_order_acquire) == HS_THREADS_RUNNING)
		return true;
	if (atomic_load_explicit(&session->phase, memory_order_acquire) != HS_SESSION_ACTIVE ||
	    hs_sys_getpid() != session->process_id ||
	    !atomic_compare_exchange_strong(&session->threads, &none, HS_THREADS_STARTING))
		return false;
	atomic_store_explicit(&session->starter, hs_sys_gettid(), memory_order_relaxed);
	error = start_both();
	atomic_store_explicit(&session->threads,
			      error == 0 ? HS_THREADS_RUNNING : HS_THREADS_FAILED,
			      memory_order_release);
	if (error != 0)
		hs_session_off("the profiler's threads cannot be started");
	errno = saved_errno;
	return error == 0;
}

bool hs_threads_wait_started(uint64_t timeout_ns)
{
	struct hs_session *session = &hs_session;
	uint64_t end_ns = hs_sys_monotonic_ns() + timeout_ns;
	uint32_t phase;

	/* In a handler over the starting thread there is nothing to wait for. */
	while ((phase = atomic_load_explicit(&session->threads, memory_order_acquire)) ==
		       HS_THREADS_STARTING &&
	       session->starter != hs_sys_gettid() && hs_sys_monotonic_ns() < end_ns)
		hs_sys_futex_wait(&session->threads, phase, STALL_NS);
	return phase == HS_THREADS_RUNNING;
}

void hs_threads_wait_reader(uint64_t timeout_ns)
{
	struct hs_session *session = &hs_session;
	uint64_t end_ns = hs_sys_monotonic_ns() + timeout_ns;

	while (atomic_load_explicit(&session->threads, memory_order_relaxed) ==
		       HS_THREADS_RUNNING &&
	       !atomic_load_explicit(&hs_recorder.reader_runs, memory_order_acquire) &&
	       hs_sys_monotonic_ns() < end_ns)
		hs_sys_futex_wait(&session->threads, HS_THREADS_RUNNING, STALL_NS);
}
