/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A futex event.  See event.h.
 */
#include "base/event.h"

#include <stdbool.h>

#include "base/sys.h"

static bool swap(struct hs_event *event, uint32_t *was, uint32_t now)
{
	/* Release: the sleeper, which acquires, sees what was done before the signal. */
	return atomic_compare_exchange_weak_explicit(&event->state, was, now, memory_order_acq_rel,
						     memory_order_relaxed);
}

void hs_event_signal(struct hs_event *event)
{
	uint32_t was = atomic_load_explicit(&event->state, memory_order_relaxed), now;

	/* Bounded: it fails only if another has signalled, or the sleeper begins or ends. */
	do
		now = was >= HS_EVENT_SLEPT_ON ? HS_EVENT_WOKEN : HS_EVENT_SIGNALLED;
	while (!swap(event, &was, now));
	if (now == HS_EVENT_WOKEN)
		hs_sys_futex_wake(&event->state, 1);
}

/* False: it is signalled already. */
static bool begin_sleep(struct hs_event *event)
{
	uint32_t quiet = HS_EVENT_QUIET;

	return atomic_compare_exchange_strong_explicit(&event->state, &quiet, HS_EVENT_SLEPT_ON,
						       memory_order_acq_rel, memory_order_acquire);
}

/* Whether it was signalled. */
static bool end_sleep(struct hs_event *event)
{
	return atomic_exchange_explicit(&event->state, HS_EVENT_QUIET, memory_order_acq_rel) !=
	       HS_EVENT_SLEPT_ON;
}

int hs_event_wait(struct hs_event *event, int64_t timeout_ns)
{
	int result = 0;

	if (begin_sleep(event))
		result = hs_sys_futex_wait(&event->state, HS_EVENT_SLEPT_ON, timeout_ns);
	return end_sleep(event) ? 0 : result;
}

int hs_event_wait_either(struct hs_event *event, uintptr_t shared, uint32_t expected,
			 int64_t timeout_ns)
{
	int result = 0;

	if (begin_sleep(event))
		result = hs_sys_futex_wait_either(&event->state, HS_EVENT_SLEPT_ON, shared,
						  expected, timeout_ns);
	return end_sleep(event) && result != 1 ? 0 : result;
}

void hs_event_reset(struct hs_event *event)
{
	/* Relaxed: no other thread exists. */
	atomic_store_explicit(&event->state, HS_EVENT_QUIET, memory_order_relaxed);
}
