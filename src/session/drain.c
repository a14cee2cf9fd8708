/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits until what belongs in a profile is in the books.  See profiles.h.
 *
 * Runs on the producer's thread with producer_batch held, except where a function says otherwise.
 */
#include "base/sys.h"
#include "sample/sequence.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/threads.h"
#include "session/unlocked.h"

/* How long a producer that was told to end goes on emptying the ring. */
#define EMPTY_LIMIT_NS 1000000000u

/* A number that has not arrived after this long, with all older records read, is lost. */
#define GAP_NS 100000000u

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
			hs_unlocked_begins();
			hs_unlocked_ends();
		}
		left += hs_ring_unread_before(&session->queue, queued);
		if (left == 0)
			break;
		if (atomic_load_explicit(&session->requests, memory_order_relaxed) &
		    HS_REQUEST_FINAL)
			return 0;
		hs_unlocked_begins();
		hs_ring_wake_reader(&session->ring);
		hs_event_wait(&session->producer_event, HS_SECOND_NS / 1000);
		hs_unlocked_ends();
	} while (hs_sys_monotonic_ns() < end_ns);
	return left;
}

static void process_before(uint32_t fence)
{
	uint32_t left = wait_for_books(fence, hs_sys_monotonic_ns() + HS_DRAIN_LIMIT_NS);

	if (left == 0)
		return;
	hs_unlocked_log(HS_LOG_WARN,
			"%u samples were not processed in time and are not in the profile", left);
}

struct hs_fence hs_drain_fence(void)
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

/*
 * Takes the numbers before one, as far as they are there: frees may all be in the journal, of which
 * some are taken at a time.
 */
static void take_numbers_before(uint64_t end, uint64_t end_ns)
{
	const struct hs_producer *producer = hs_session.producer;
	uint64_t before, next = hs_producer_next_number(producer);

	do {
		before = next;
		if (before >= end || hs_sys_monotonic_ns() >= end_ns)
			return;
		hs_threads_process();
		hs_unlocked_begins();
		hs_unlocked_ends();
		next = hs_producer_next_number(producer);
	} while (next != before);
}

void hs_drain_recorded(void)
{
	const struct hs_fence fence = hs_drain_fence();
	uint64_t end_ns = hs_sys_monotonic_ns() + HS_DRAIN_LIMIT_NS;

	process_before(fence.ticket);
	take_numbers_before(fence.number, end_ns);
}

void hs_drain_before(const struct hs_fence *fence)
{
	process_before(fence->ticket);
	hs_producer_commit_before(hs_session.producer, fence->number);
}

void hs_drain_now(void)
{
	const struct hs_fence fence = hs_drain_fence();

	hs_drain_before(&fence);
}

void hs_drain_ring(void)
{
	wait_for_books(hs_ring_head_ticket(&hs_session.ring),
		       hs_sys_monotonic_ns() + EMPTY_LIMIT_NS);
}

void hs_drain_watch_gap(bool waiting)
{
	static uint64_t number, since_ns;
	static struct hs_fence fence; /* at since_ns */
	static uint32_t queue_fence;
	static bool is_unwound; /* what was in the ring; queue_fence is behind it */
	static bool has_swept;
	struct hs_session *session = &hs_session;
	uint64_t now_ns;

	if (!waiting) {
		number = 0;
		return;
	}
	now_ns = hs_sys_monotonic_ns();
	if (hs_producer_next_number(session->producer) != number) {
		number = hs_producer_next_number(session->producer);
		/* One that was there already has waited as long. */
		if (!has_swept || number >= fence.number) {
			since_ns = now_ns;
			fence = hs_drain_fence();
			is_unwound = has_swept = false;
		}
	}
	if (!is_unwound && hs_ring_unread_before(&session->ring, fence.ticket) == 0) {
		is_unwound = true;
		/* After the ring is read: what the worker has taken from it is in the queue now. */
		queue_fence = hs_ring_head_ticket(&session->queue);
	}
	if (is_unwound && hs_ring_unread_before(&session->queue, queue_fence) == 0 &&
	    now_ns - since_ns > GAP_NS) {
		/* Once for all gaps before the fence: a sweep looks at every slot. */
		hs_producer_skip_gap(session->producer, has_swept ? 0 : fence.number);
		has_swept = true;
	}
}

int64_t hs_drain_gap_sleep_ns(void)
{
	return hs_ring_unread(&hs_session.ring) == 0 ? GAP_NS / 10 : GAP_NS;
}
