/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small lock of one word, for profiler threads among themselves and for start-up; for a program's
 * thread only within a time, or if it is held for moments.  Not recursive.
 *
 * Errno: preserved.  After a fork the child may reset it with hs_lock_reset().
 */
#ifndef HS_BASE_LOCK_H
#define HS_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All zero is a free lock. */
struct hs_lock {
	_Atomic uint32_t state; /* enum hs_lock_state; futex */
};

enum hs_lock_state {
	HS_LOCK_FREE,
	HS_LOCK_HELD,
	HS_LOCK_CONTENDED, /* held, and perhaps waited for */
	HS_LOCK_OFFERED,   /* free, but for one that was asleep and has been woken */
};

void hs_lock_acquire(struct hs_lock *lock);

/* Acquires, but gives up after timeout_ns.  The one for a program's thread. */
bool hs_lock_acquire_within(struct hs_lock *lock, uint64_t timeout_ns);

void hs_lock_release(struct hs_lock *lock);

/*
 * Releases where the same thread is soon to acquire again: if another one waits, the next
 * hs_lock_acquire() lets it in first (or has waited 10 ms for it to come).
 */
void hs_lock_hand_over(struct hs_lock *lock);

/* The holder: whether another thread waits, perhaps.  Then hs_lock_hand_over() is due. */
bool hs_lock_is_wanted(struct hs_lock *lock);

/* Forgets a holder that does not exist (in a forked child, single-threaded). */
void hs_lock_reset(struct hs_lock *lock);

#endif
