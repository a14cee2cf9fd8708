/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When profiles are written: on a signal or a request, every so many seconds or bytes, near a
 * memory limit, at the end.  And waiting until what belongs in a profile is in the books.
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
#include "session/epoch.h"
#include "session/oom_watch.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/threads.h"

/* How long a producer that was told to end goes on emptying the ring. */
#define EMPTY_LIMIT_NS 1000000000u

/* Whether our handler was installed, and was there at the last check. */
static bool signal_is_ours;

/* As the kernel has it: on_signal(), or another's that a replaced sigaction() made of it. */
static uintptr_t installed_handler;

static uint64_t next_signal_look_ns;

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

	sigfillset(&action.sa_mask);
	if (sigaction(number, NULL, &old) != 0 || old.sa_handler != SIG_DFL) {
		hs_log(HS_LOG_WARN,
		       "HEAPSAMPLE_SIGNAL: signal %d is taken already: no profile on it", number);
		return;
	}
	signal_is_ours = sigaction(number, &action, NULL) == 0 &&
			 hs_sys_signal_handler(number, &installed_handler) == 0;
}

/* Warns, once, if the program has replaced our handler. */
static void check_signal(void)
{
	uintptr_t handler;

	next_signal_look_ns = hs_sys_monotonic_ns() + HS_SECOND_NS;
	if (!signal_is_ours ||
	    hs_sys_signal_handler(hs_options.signal_number, &handler) != 0 ||
	    handler == installed_handler)
		return;
	signal_is_ours = false;
	hs_log(HS_LOG_WARN,
	       "HEAPSAMPLE_SIGNAL: %s has taken signal %d over: no more profiles on it",
	       hs_session.program, hs_options.signal_number);
}

/*
 * Waits until the records that the ring has before the fence are in the books.  Returns how many
 * are not.  Gives up, and returns 0, if the final profile is requested, which waits for them again.
 */
static uint32_t wait_for_books(uint32_t fence, uint64_t end_ns)
{
	struct hs_session *session = &hs_session;
	uint32_t left, queued;

	do {
		left = hs_ring_unread_before(&session->ring, fence);
		/* Read after the ring: what the worker has taken out of it is in the queue. */
		queued = hs_ring_head_ticket(&session->queue);
		/* Not until the queue is empty, which it may never be. */
		while (hs_threads_process() &&
		       hs_ring_unread_before(&session->queue, queued) > 0 &&
		       hs_sys_monotonic_ns() < end_ns) {
			hs_lock_hand_over(&session->producer_batch);
			hs_lock_acquire(&session->producer_batch);
		}
		if (left == 0 && hs_ring_unread_before(&session->queue, queued) == 0)
			break;
		if (atomic_load_explicit(&session->requests, memory_order_relaxed) &
		    HS_REQUEST_FINAL)
			return 0;
		hs_lock_hand_over(&session->producer_batch);
		hs_ring_wake_reader(&session->ring);
		hs_event_wait(&session->producer_event, HS_SECOND_NS / 1000);
		hs_lock_acquire(&session->producer_batch);
	} while (hs_sys_monotonic_ns() < end_ns);
	return left;
}

static void process_before(uint32_t fence, uint64_t end_ns)
{
	uint32_t left = wait_for_books(fence, end_ns);

	if (left > 0)
		hs_log(HS_LOG_WARN,
		       "%u samples were not processed in time and are not in the profile", left);
}

/*
 * Before a profile that nobody waits for: processes what was recorded.  Numbers that are missing
 * are not given up, unlike in drain(): they may still arrive, for a later profile.
 */
static void process_recorded(void)
{
	process_before(hs_ring_head_ticket(&hs_session.ring),
		       hs_sys_monotonic_ns() + HS_DRAIN_LIMIT_NS);
}

/* Memory limits are checked each second, and each time so much was allocated. */
#define OOM_LOOK_BYTES ((uint64_t)16 << 20)
static uint64_t next_oom_look_ns, next_oom_look_allocated;

static void check_memory(void)
{
	uint64_t now_ns = hs_sys_monotonic_ns(), allocated = hs_stats_get(allocated_bytes);

	if (hs_options.oom_percent == 0 ||
	    (now_ns < next_oom_look_ns && allocated < next_oom_look_allocated))
		return;
	next_oom_look_ns = now_ns + HS_SECOND_NS;
	next_oom_look_allocated = allocated + OOM_LOOK_BYTES;
	if (!hs_oom_watch_is_crossed())
		return;
	/* If memory was filled by few large allocations, the last ones matter most. */
	process_recorded();
	hs_dump_write("oom", false);
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

int64_t hs_schedule_sleep_ns(void)
{
	uint64_t due_ns = hs_session.next_dump_ns, now_ns;

	if (atomic_load_explicit(&hs_session.requests, memory_order_acquire) != 0 ||
	    hs_ask_is_waiting())
		return 1;
	if (signal_is_ours && (due_ns == 0 || next_signal_look_ns < due_ns))
		due_ns = next_signal_look_ns;
	if (hs_options.oom_percent != 0 && (due_ns == 0 || next_oom_look_ns < due_ns))
		due_ns = next_oom_look_ns;
	if (hs_stream_due_ns() != 0 && (due_ns == 0 || hs_stream_due_ns() < due_ns))
		due_ns = hs_stream_due_ns();
	if (due_ns == 0)
		return -1;
	now_ns = hs_sys_monotonic_ns();
	return due_ns > now_ns ? (int64_t)(due_ns - now_ns) : 1;
}

struct hs_fence hs_schedule_fence(void)
{
	struct hs_fence fence;

	/*
	 * In this order: a record is reserved before it takes its number, so all with a number
	 * below `number` are before `ticket`.
	 */
	fence.number = atomic_load_explicit(&hs_sequence.next, memory_order_acquire);
	fence.ticket = hs_ring_head_ticket(&hs_session.ring);
	return fence;
}

static void drain(const struct hs_fence *fence, uint64_t end_ns)
{
	process_before(fence->ticket, end_ns);
	hs_producer_commit_before(hs_session.producer, fence->number);
}

void hs_schedule_drain_now(void)
{
	const struct hs_fence fence = hs_schedule_fence();

	drain(&fence, hs_sys_monotonic_ns() + HS_DRAIN_LIMIT_NS);
}

void hs_schedule_empty_ring(void)
{
	wait_for_books(hs_ring_head_ticket(&hs_session.ring),
		       hs_sys_monotonic_ns() + EMPTY_LIMIT_NS);
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
	process_recorded();
	hs_dump_write("interval", true);
}

/* Memory in use at the last profile written for HEAPSAMPLE_INUSE_INTERVAL. */
static uint64_t high_water;

void hs_schedule_after_reset(void)
{
	high_water = 0;
}

/* Counts from the last such profile of this process, or of its parent by fork(). */
static void run_by_bytes(void)
{
	static uint64_t allocated_before;
	uint64_t allocated = hs_stats_get(allocated_bytes);
	uint64_t in_use = hs_producer_in_use_bytes(hs_session.producer, HS_HEAP_MALLOC);

	if (hs_options.alloc_interval_bytes != 0 &&
	    allocated - allocated_before >= hs_options.alloc_interval_bytes) {
		allocated_before = allocated;
		hs_dump_write("alloc", true);
	}
	if (hs_options.inuse_interval_bytes != 0 && in_use > high_water &&
	    in_use - high_water >= hs_options.inuse_interval_bytes) {
		high_water = in_use;
		hs_dump_write("inuse", true);
	}
}

void hs_schedule_run_due(void)
{
	struct hs_session *session = &hs_session;
	/* Acquire: sees the fence of a request for the final profile. */
	uint32_t requests = atomic_exchange_explicit(&session->requests, 0, memory_order_acquire);

	if (signal_is_ours && (hs_sys_monotonic_ns() >= next_signal_look_ns || requests != 0))
		check_signal();
	/* While sampling is off a signal switches it on; otherwise it writes a profile. */
	if ((requests & HS_REQUEST_SIGNAL) != 0 &&
	    (atomic_load_explicit(&hs_epoch, memory_order_relaxed) != 0 ||
	     hs_epoch_start() != 0)) {
		process_recorded();
		hs_dump_write("signal", false);
	}
	hs_ask_serve();
	if (requests & HS_REQUEST_FINAL) {
		drain(&session->final_fence, session->drain_end_ns);
		hs_dump_write("exit", false);
		hs_session_mark_finished();
		return;
	}
	/* The process ends: nobody would wait for another file. */
	if (atomic_load_explicit(&session->finished, memory_order_relaxed) != 0)
		return;
	check_memory();
	run_timed();
	run_by_bytes();
	hs_stream_run_due();
}
