/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting and waking: the reader waits for records, writers for room.  See ring.h. */
#include "sample/ring.h"

#include <errno.h>

#include "base/likely.h"
#include "base/sys.h"

/* A reader that was woken and still does not run is woken again after so many records. */
#define WAKE_AGAIN_RECORDS 64u

/* A waiting writer looks again after this: a slot of the live set comes free without a wake. */
#define SLICE_NS 1000000

/* seen: reader_asleep, not HS_RING_AWAKE.  If it has changed, another thread wakes the reader. */
static HS_RARE void wake(struct hs_ring *ring, uint32_t seen)
{
	if (seen == HS_RING_WOKEN ||
	    atomic_compare_exchange_strong_explicit(&ring->reader_asleep, &seen, HS_RING_WOKEN,
						    memory_order_relaxed, memory_order_relaxed))
		hs_sys_futex_wake(&ring->reader_asleep, 1);
}

/*
 * A reader that is woken already may only be waiting for a processor.  It is woken again, in case
 * the first to do so was killed, but not by every record.
 */
static bool is_time_to_wake(const struct hs_ring *ring, uint32_t asleep)
{
	return asleep != HS_RING_WOKEN || hs_ring_head_ticket(ring) % WAKE_AGAIN_RECORDS == 0;
}

void hs_ring_tell_reader(struct hs_ring *ring)
{
	/*
	 * The commit before and this load must not be reordered: the reader sets the flag and looks
	 * at the ring again (hs_ring_reader_sleep()), so one of us sees the other.  All four are
	 * sequentially consistent.
	 */
	uint32_t asleep = atomic_load(&ring->reader_asleep);

	if (hs_unlikely(asleep == HS_RING_ASLEEP) ||
	    (asleep != HS_RING_AWAKE && hs_unlikely(hs_ring_is_filling(ring)) &&
	     is_time_to_wake(ring, asleep)))
		wake(ring, asleep);
}

void hs_ring_wake_reader(struct hs_ring *ring)
{
	uint32_t asleep = atomic_load(&ring->reader_asleep);

	if (asleep != HS_RING_AWAKE)
		wake(ring, asleep);
}

bool hs_ring_wait_for_space(struct hs_ring *ring, uint32_t seen_space, int64_t timeout_ns)
{
	int result;

	/* Sequentially consistent, as the reader's look at it in hs_ring_give_back(). */
	atomic_fetch_add(&ring->space_waiters, 1);
	result = hs_sys_futex_wait(&ring->space, seen_space, timeout_ns);
	atomic_fetch_sub(&ring->space_waiters, 1);
	return result != -ETIMEDOUT;
}

bool hs_ring_wait_slice(struct hs_ring *ring, uint32_t seen_space, uint64_t end_ns)
{
	int64_t left_ns = (int64_t)(end_ns - hs_sys_monotonic_ns());

	if (left_ns <= 0)
		return false;
	hs_ring_wake_reader(ring);
	hs_ring_wait_for_space(ring, seen_space, left_ns < SLICE_NS ? left_ns : SLICE_NS);
	return true;
}

void hs_ring_reader_sleep(struct hs_ring *ring, int64_t timeout_ns)
{
	struct hs_ring_item item;

	/* Sequentially consistent, before the look at the ring: see hs_ring_tell_reader(). */
	atomic_store(&ring->reader_asleep, HS_RING_ASLEEP);
	hs_ring_read(ring, &item);
	if (item.state == HS_RING_EMPTY || (item.state == HS_RING_OPEN && timeout_ns >= 0))
		hs_sys_futex_wait(&ring->reader_asleep, HS_RING_ASLEEP, timeout_ns);
	atomic_store_explicit(&ring->reader_asleep, HS_RING_AWAKE, memory_order_relaxed);
}

bool hs_ring_reader_nap(struct hs_ring *ring, int64_t timeout_ns)
{
	/*
	 * As in hs_ring_reader_sleep(): either a writer that has moved the head sees this, or the
	 * look at the head sees the writer.
	 */
	atomic_store(&ring->reader_asleep, HS_RING_NAPPING);
	if (!hs_ring_is_filling(ring))
		hs_sys_futex_wait(&ring->reader_asleep, HS_RING_NAPPING, timeout_ns);
	return atomic_exchange_explicit(&ring->reader_asleep, HS_RING_AWAKE,
					memory_order_relaxed) == HS_RING_WOKEN;
}

void hs_ring_after_fork(struct hs_ring *ring)
{
	/* Relaxed: no other thread exists. */
	atomic_store_explicit(&ring->reader_asleep, HS_RING_AWAKE, memory_order_relaxed);
	atomic_store_explicit(&ring->space_waiters, 0, memory_order_relaxed);
}
