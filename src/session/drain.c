/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits until what belongs in a profile is in the books.  See profiles.h.
 *
 * Runs on the producer's thread with producer_batch held, except where a function says otherwise.
 */
#include "base/log.h"
#include "base/sys.h"
#include "sample/sequence.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/threads.h"

/* How long a producer that was told to end goes on emptying the ring. */
#define EMPTY_LIMIT_NS 1000000000u

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

	if (left == 0)
		return;
	/* Unlocked: it may wait for the reader of a pipe. */
	hs_lock_hand_over(&hs_session.producer_batch);
	hs_log(HS_LOG_WARN, "%u samples were not processed in time and are not in the profile",
	       left);
	hs_lock_acquire(&hs_session.producer_batch);
}

void hs_drain_recorded(void)
{
	process_before(hs_ring_head_ticket(&hs_session.ring),
		       hs_sys_monotonic_ns() + HS_DRAIN_LIMIT_NS);
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

void hs_drain_before(const struct hs_fence *fence, uint64_t end_ns)
{
	process_before(fence->ticket, end_ns);
	hs_producer_commit_before(hs_session.producer, fence->number);
}

void hs_drain_now(void)
{
	const struct hs_fence fence = hs_drain_fence();

	hs_drain_before(&fence, hs_sys_monotonic_ns() + HS_DRAIN_LIMIT_NS);
}

void hs_drain_ring(void)
{
	wait_for_books(hs_ring_head_ticket(&hs_session.ring),
		       hs_sys_monotonic_ns() + EMPTY_LIMIT_NS);
}
