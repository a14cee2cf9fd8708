/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A futex lock.  See lock.h for the contract.
 *
 * Source: U. Drepper, "Futexes Are Tricky", mutex2.
 */
#include "base/lock.h"

#include "base/sys.h"

void hs_lock_acquire(struct hs_lock *lock)
{
	uint32_t seen = 0;

	/* Acquire: pairs with the release in hs_lock_release(). */
	if (atomic_compare_exchange_strong_explicit(&lock->state, &seen, 1, memory_order_acquire,
						    memory_order_relaxed))
		return;
	while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) != 0)
		hs_sys_futex_wait(&lock->state, 2, -1);
}

bool hs_lock_acquire_within(struct hs_lock *lock, uint64_t timeout_ns)
{
	uint64_t end_ns = hs_sys_monotonic_ns() + timeout_ns;
	uint32_t seen = 0;

	if (atomic_compare_exchange_strong_explicit(&lock->state, &seen, 1, memory_order_acquire,
						    memory_order_relaxed))
		return true;
	while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) != 0) {
		uint64_t now_ns = hs_sys_monotonic_ns();

		if (now_ns >= end_ns)
			return false; /* left as "perhaps waited for": costs the holder one wake */
		hs_sys_futex_wait(&lock->state, 2, (int64_t)(end_ns - now_ns));
	}
	return true;
}

void hs_lock_release(struct hs_lock *lock)
{
	/* Release: publishes what the holder wrote to the next hs_lock_acquire(). */
	if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2)
		hs_sys_futex_wake(&lock->state, 1);
}

void hs_lock_reset(struct hs_lock *lock)
{
	/* Relaxed: no other thread exists. */
	atomic_store_explicit(&lock->state, 0, memory_order_relaxed);
}
