/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A futex lock.  See lock.h for the contract.
 *
 * Source: U. Drepper, "Futexes Are Tricky", mutex2.
 */
#include "base/lock.h"

#include "base/sys.h"

/* As long as a busy machine may need to run the thread that was woken. */
#define OFFER_NS 10000000

/* Looks again by itself: whoever releases it may be refused the wake, by a seccomp filter. */
#define LOOK_NS 100000000

static bool take_free(struct hs_lock *lock, uint32_t *seen)
{
	*seen = HS_LOCK_FREE;
	/* Acquire: pairs with the release in hs_lock_release() and hs_lock_hand_over(). */
	return atomic_compare_exchange_strong_explicit(&lock->state, seen, HS_LOCK_HELD,
						       memory_order_acquire, memory_order_relaxed);
}

/* Takes it, offered or not, or leaves a mark that it is waited for. */
static bool take_or_mark(struct hs_lock *lock)
{
	uint32_t seen =
		atomic_exchange_explicit(&lock->state, HS_LOCK_CONTENDED, memory_order_acquire);

	return seen == HS_LOCK_FREE || seen == HS_LOCK_OFFERED;
}

void hs_lock_acquire(struct hs_lock *lock)
{
	uint32_t seen;

	if (take_free(lock, &seen))
		return;
	/* Ends too when the one it was offered to has released it. */
	if (seen == HS_LOCK_OFFERED)
		hs_sys_futex_wait(&lock->state, HS_LOCK_OFFERED, OFFER_NS);
	while (!take_or_mark(lock))
		hs_sys_futex_wait(&lock->state, HS_LOCK_CONTENDED, LOOK_NS);
}

bool hs_lock_acquire_within(struct hs_lock *lock, uint64_t timeout_ns)
{
	uint64_t end_ns = hs_sys_monotonic_ns() + timeout_ns;
	uint32_t seen;

	if (take_free(lock, &seen))
		return true;
	while (!take_or_mark(lock)) {
		uint64_t now_ns = hs_sys_monotonic_ns();

		if (now_ns >= end_ns)
			return false; /* left as contended: costs the holder one wake */
		hs_sys_futex_wait(&lock->state, HS_LOCK_CONTENDED, (int64_t)(end_ns - now_ns));
	}
	return true;
}

void hs_lock_release(struct hs_lock *lock)
{
	/* Release: publishes what the holder wrote to the next that acquires. */
	if (atomic_exchange_explicit(&lock->state, HS_LOCK_FREE, memory_order_release) ==
	    HS_LOCK_CONTENDED)
		hs_sys_futex_wake(&lock->state, 1);
}

void hs_lock_hand_over(struct hs_lock *lock)
{
	uint32_t seen = HS_LOCK_HELD;

	/* Release: as in hs_lock_release(). */
	if (atomic_compare_exchange_strong_explicit(&lock->state, &seen, HS_LOCK_FREE,
						    memory_order_release, memory_order_relaxed))
		return;
	atomic_store_explicit(&lock->state, HS_LOCK_OFFERED, memory_order_release);
	/* Nobody was asleep (who is about to will see it): there is nobody to wait for. */
	if (hs_sys_futex_wake(&lock->state, 1) <= 0) {
		seen = HS_LOCK_OFFERED;
		atomic_compare_exchange_strong_explicit(&lock->state, &seen, HS_LOCK_FREE,
							memory_order_relaxed, memory_order_relaxed);
	}
}

bool hs_lock_is_wanted(struct hs_lock *lock)
{
	/* Relaxed: a hint. */
	return atomic_load_explicit(&lock->state, memory_order_relaxed) == HS_LOCK_CONTENDED;
}

void hs_lock_reset(struct hs_lock *lock)
{
	/* Relaxed: no other thread exists. */
	atomic_store_explicit(&lock->state, HS_LOCK_FREE, memory_order_relaxed);
}
