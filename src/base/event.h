/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An event that one thread sleeps on and any thread may signal.  Several signals before a wait are
 * one; none is lost.  Signalling costs one atomic operation, and a system call only if the other
 * side sleeps; it may be done in a signal handler.  Errno: preserved.
 */
#ifndef HS_BASE_EVENT_H
#define HS_BASE_EVENT_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * HS_EVENT_WOKEN: signalled during a sleep.  The signalling thread may be killed before it wakes
 * the sleeper, so every further signal wakes it again until it is awake.
 */
enum hs_event_state { HS_EVENT_QUIET, HS_EVENT_SIGNALLED, HS_EVENT_SLEPT_ON, HS_EVENT_WOKEN };

/* All zero is a quiet event. */
struct hs_event {
	_Atomic uint32_t state;
};

void hs_event_signal(struct hs_event *event);

/*
 * Sleeps until signalled, at most timeout_ns (below 0: no limit), and resets the event.  Returns 0,
 * or the error of hs_sys_futex_wait() if there was no signal.
 */
int hs_event_wait(struct hs_event *event, int64_t timeout_ns);

/*
 * The same, but sleeps only while the word at shared has its expected value too: see
 * hs_sys_futex_wait_either().  Returns 1 if that word was woken, signalled or not.
 */
int hs_event_wait_either(struct hs_event *event, uintptr_t shared, uint32_t expected,
			 int64_t timeout_ns);

/* Forgets signals, and a sleeper that does not exist (in a forked child, single-threaded). */
void hs_event_reset(struct hs_event *event);

#endif
