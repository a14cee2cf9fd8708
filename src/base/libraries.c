/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of libraries that come and go.  See libraries.h. */
#include "base/libraries.h"

#include "base/hot.h"

HS_SAMPLE_WORDS _Atomic hs_closes hs_library_closes;
HS_SAMPLE_WORDS _Atomic uint32_t hs_library_closes_unwaited;
HS_SAMPLE_WORDS _Atomic uint64_t hs_library_opens;

/* Changes both halves in one step: no record sees one of them only.  The lower half wraps. */
static void change(int under_way, uint32_t over)
{
	hs_closes now = atomic_load_explicit(&hs_library_closes, memory_order_relaxed), next;

	do {
		next = ((now >> 32) + (hs_closes)under_way) << 32;
		next |= (uint32_t)(hs_closes_over(now) + over);
	} while (!atomic_compare_exchange_weak_explicit(
		&hs_library_closes, &now, next, memory_order_acq_rel, memory_order_relaxed));
}

void hs_close_ends(bool unloaded)
{
	change(-1, unloaded);
}

void hs_close_goes_on(void)
{
	/* First: whoever sees the close that is over sees that it was not waited for. */
	atomic_fetch_add_explicit(&hs_library_closes_unwaited, 1, memory_order_release);
	change(0, 1);
}

void hs_closes_after_fork(uint32_t this_thread)
{
	hs_closes now = atomic_load_explicit(&hs_library_closes, memory_order_relaxed);
	/* Those of other threads never end here, and may have unloaded something. */
	bool others = now >> 32 != this_thread;

	atomic_store_explicit(&hs_library_closes,
			      (hs_closes)this_thread << 32 | (uint32_t)(now + others),
			      memory_order_relaxed);
}
