/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of libraries that come and go.  See libraries.h. */
#include "base/libraries.h"

_Atomic hs_closes hs_library_closes;
_Atomic uint64_t hs_library_opens;

void hs_close_ends(bool unloaded)
{
	hs_closes now = atomic_load_explicit(&hs_library_closes, memory_order_relaxed), next;

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
