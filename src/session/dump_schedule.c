/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When profiles are written: on a signal, every so many seconds or bytes, at the end.
 */
#include <signal.h>
#include <stddef.h>

#include "base/log.h"
#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/heap.h"
#include "sample/recorder.h"
#include "session/ask.h"
#include "session/epoch.h"
#include "session/oom_watch.h"
#include "session/session_state.h"

#define SECOND_NS 1000000000u

/* How long the producer, asked to end, goes on with what is in the ring. */
#define EMPTY_LIMIT_NS 1000000000u

/* Whether our handler was installed and is, as far as we know, still there. */
static bool signal_is_ours;
static uint64_t next_signal_look_ns;

/* Runs on any of the program's threads.  Async-signal-safe: an atomic and a futex. */
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
	signal_is_ours = sigaction(number, &action, NULL) == 0;
}

/* A program may install its own handler over ours: say so, once. */
static void look_at_signal(void)
{
	struct sigaction now;

	next_signal_look_ns = hs_sys_monotonic_ns() + SECOND_NS;
	if (!signal_is_ours || sigaction(hs_options.signal_number, NULL, &now) != 0 ||
	    now.sa_handler == on_signal)
		return;
	signal_is_ours = false;
	hs_log(HS_LOG_WARN,
	       "HEAPSAMPLE_SIGNAL: %s has taken signal %d over: no more profiles on it",
	       hs_session.program, hs_options.signal_number);
}

/*
 * Wait for what the ring has before the fence to be in the books; no longer when the process
 * begins to end, for its last profile waits for that again.  Returns how much is left; 0 then.
 */
static uint32_t wait_for_books(uint32_t fence, uint64_t end_ns)
{
	struct hs_session *session = &hs_session;
	uint32_t left, queued;

	do {
		left = hs_ring_unread_before(&session->ring, fence);
		/* After the ring: what the worker took out of it is in the queue by then. */
		queued = hs_ring_head_ticket(&session->queue);
		/* Not until there is nothing to do: the program may go on without a pause. */
		while (hs_threads_produce() &&
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
		hs_event_wait(&session->producer_event, SECOND_NS / 1000);
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

/* What the program did before a profile is in it.  What is missing may come yet: no gap. */
static void process_recorded(void)
{
	process_before(hs_ring_head_ticket(&hs_session.ring),
		       hs_sys_monotonic_ns() + HS_DRAIN_LIMIT_NS);
}

/* Looks at the memory limits: each second, and each time so much was allocated. */
#define OOM_LOOK_BYTES ((uint64_t)16 << 20)
static uint64_t next_oom_look_ns, next_oom_look_allocated;

static void look_at_memory(void)
{
	uint64_t now_ns = hs_sys_monotonic_ns(), allocated = hs_stats_get(allocated_bytes);

	if (hs_options.oom_percent == 0 ||
	    (now_ns < next_oom_look_ns && allocated < next_oom_look_allocated))
		return;
	next_oom_look_ns = now_ns + SECOND_NS;
	next_oom_look_allocated = allocated + OOM_LOOK_BYTES;
	if (!hs_oom_watch_is_crossed())
		return;
	/* With few large allocations it is the last ones that count. */
	process_recorded();
	hs_dump_write("oom");
}

void hs_schedule_start(void)
{
	if (hs_options.oom_percent != 0) {
		hs_oom_watch_start(hs_options.oom_percent);
		next_oom_look_ns = hs_sys_monotonic_ns() + SECOND_NS;
	}
	if (hs_options.signal_number != 0)
		install_signal(hs_options.signal_number);
	if (hs_options.time_interval_s != 0)
		hs_session.next_dump_ns =
			hs_sys_monotonic_ns() + (hs_options.time_phase_s != 0
							 ? hs_options.time_phase_s
							 : hs_options.time_interval_s) *
							SECOND_NS;
}

/* Nanoseconds until the producer has to wake by itself; below 0: never. */
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

	/* In this order: a record is reserved before it takes its number. */
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

/* A profile of which only the last few may be kept. */
static void write_periodic(const char *reason)
{
	if (hs_dump_write(reason))
		hs_keep_add(hs_dump_last_path());
}

/* On a fixed rate: how long it takes to write does not add up. */
static void run_timed(void)
{
	struct hs_session *session = &hs_session;
	uint64_t interval_ns = hs_options.time_interval_s * SECOND_NS;
	uint64_t now_ns = hs_sys_monotonic_ns();

	if (session->next_dump_ns == 0 || now_ns < session->next_dump_ns)
		return;
	session->next_dump_ns += interval_ns;
	if (session->next_dump_ns <= now_ns)
		session->next_dump_ns =
			now_ns + interval_ns - (now_ns - session->next_dump_ns) % interval_ns;
	process_recorded();
	write_periodic("interval");
}

/* Of memory in use, at the last profile that HEAPSAMPLE_INUSE_INTERVAL was the reason for. */
static uint64_t high_water;

void hs_schedule_after_reset(void)
{
	high_water = 0;
}

/* Both count from the profile before, of this process or of the one that it was forked from. */
static void run_by_bytes(void)
{
	static uint64_t allocated_before;
	uint64_t allocated = hs_stats_get(allocated_bytes);
	uint64_t in_use = hs_producer_in_use_bytes(hs_session.producer, HS_HEAP_MALLOC);

	if (hs_options.alloc_interval_bytes != 0 &&
	    allocated - allocated_before >= hs_options.alloc_interval_bytes) {
		allocated_before = allocated;
		write_periodic("alloc");
	}
	if (hs_options.inuse_interval_bytes != 0 && in_use > high_water &&
	    in_use - high_water >= hs_options.inuse_interval_bytes) {
		high_water = in_use;
		write_periodic("inuse");
	}
}

void hs_schedule_run_due(void)
{
	struct hs_session *session = &hs_session;
	/* Acquire: the fence of a final request. */
	uint32_t requests = atomic_exchange_explicit(&session->requests, 0, memory_order_acquire);

	if (signal_is_ours && (hs_sys_monotonic_ns() >= next_signal_look_ns || requests != 0))
		look_at_signal();
	/* The first switches sampling on, if it is off. */
	if ((requests & HS_REQUEST_SIGNAL) != 0 &&
	    (atomic_load_explicit(&hs_epoch, memory_order_relaxed) != 0 ||
	     hs_epoch_start() != 0)) {
		process_recorded();
		hs_dump_write("signal");
	}
	hs_ask_serve();
	if (requests & HS_REQUEST_FINAL) {
		drain(&session->final_fence,
		      atomic_load_explicit(&session->drain_end_ns, memory_order_relaxed));
		hs_dump_write("exit");
		hs_session_mark_finished();
		return;
	}
	/* The process is ending: nothing would wait for another file. */
	if (atomic_load_explicit(&session->finished, memory_order_relaxed) != 0)
		return;
	look_at_memory();
	run_timed();
	run_by_bytes();
	hs_stream_run_due();
}
