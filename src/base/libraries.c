/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of libraries that come and go.  See libraries.h. */
#include "base/libraries.h"

_Atomic hs_closes hs_library_closes;
_Atomic uint64_t hs_library_opens;

/* The closes that were over after the last one that did not wait. */
static _Atomic uint32_t last_unwaited;

void hs_close_ends(bool unloaded, bool waited)
{
	hs_closes now = atomic_load_explicit(&hs_library_closes, memory_order_relaxed), next;

	/* Before the count: at worst a close of another thread counts as unwaited too. */
	if (unloaded && !waited)
		atomic_store_explicit(&last_unwaited, hs_closes_over(now) + 1,
				      memory_order_release);

	/* In one step, so that no record is taken between the two; the lower half wraps. */
	do {
		uint32_t over = hs_closes_over(now) + unloaded;

		next = (((now >> 32) - 1) << 32) | over;
	} while (!atomic_compare_exchange_weak_explicit(
		&hs_library_closes, &now, next, memory_order_acq_rel, memory_order_relaxed));
}

void hs_closes_after_fork(bool this_thread)
{
	hs_closes now = atomic_load_explicit(&hs_library_closes, memory_order_relaxed);

	atomic_store_explicit(&hs_library_closes,
			      (hs_closes)this_thread << 32 | hs_closes_over(now),
			      memory_order_relaxed);
}

bool hs_closes_may_concern(uint32_t over)
{
	return (int32_t)(atomic_load_explicit(&last_unwaited, memory_order_acquire) - over) > 0;
}
