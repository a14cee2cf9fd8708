/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An event that one thread sleeps on and any may signal: not counted, never lost.
 * Signal-safe; a signal costs one atomic operation, and a system call only if the
 * other side sleeps.  Errno: preserved.
 */
#ifndef HS_BASE_EVENT_H
#define HS_BASE_EVENT_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * HS_EVENT_WOKEN: signalled while it was slept on.  The thread that signalled may have been killed
 * before it woke the sleeper, so each that signals until the sleeper is awake wakes it again.
 */
enum hs_event_state { HS_EVENT_QUIET, HS_EVENT_SIGNALLED, HS_EVENT_SLEPT_ON, HS_EVENT_WOKEN };

/* All zero is a quiet event. */
struct hs_event {
	_Atomic uint32_t state;
};

void hs_event_signal(struct hs_event *event);

/*
 * Sleep until signalled, at most timeout_ns (below 0: no limit); takes the signal.  Returns 0, or
 * what hs_sys_futex_wait() says if there was none.
 */
int hs_event_wait(struct hs_event *event, int64_t timeout_ns);

/*
 * The same, or until the word at shared is no longer expected: hs_sys_futex_wait_either().  Returns
 * 1 where that one was woken, signalled or not.
 */
int hs_event_wait_either(struct hs_event *event, uintptr_t shared, uint32_t expected,
			 int64_t timeout_ns);

#endif
