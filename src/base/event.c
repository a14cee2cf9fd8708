/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A futex event.  See event.h.
 */
#include "base/event.h"

#include "base/sys.h"

void hs_event_signal(struct hs_event *event)
{
	/* Release: what was done before, for the sleeper's acquire. */
	if (atomic_exchange_explicit(&event->state, 1, memory_order_acq_rel) == 2)
		hs_sys_futex_wake(&event->state, 1);
}

void hs_event_wait(struct hs_event *event, int64_t timeout_ns)
{
	uint32_t quiet = 0;

	if (atomic_compare_exchange_strong_explicit(&event->state, &quiet, 2, memory_order_acq_rel,
						    memory_order_acquire))
		hs_sys_futex_wait(&event->state, 2, timeout_ns);
	atomic_exchange_explicit(&event->state, 0, memory_order_acq_rel);
}
