/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An event that one thread sleeps on and any may signal: not counted, never lost.
 * Signal-safe; a signal costs one atomic exchange, and a system call only if the
 * other side sleeps.  Errno: preserved.
 */
#ifndef HS_BASE_EVENT_H
#define HS_BASE_EVENT_H

#include <stdatomic.h>
#include <stdint.h>

/* 0 quiet, 1 signalled, 2 slept on.  All zero is a quiet event. */
struct hs_event {
	_Atomic uint32_t state;
};

void hs_event_signal(struct hs_event *event);

/* Sleep until signalled, at most timeout_ns (below 0: no limit); takes the signal. */
void hs_event_wait(struct hs_event *event, int64_t timeout_ns);

#endif
