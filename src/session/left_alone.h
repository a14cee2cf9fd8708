/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends a process whose own threads have all ended without libc knowing: otherwise it would live on
 * with the profiler's threads only.
 */
#ifndef HS_SESSION_LEFT_ALONE_H
#define HS_SESSION_LEFT_ALONE_H

#include <stdint.h>

#include "base/event.h"

/* Notes whether this is the main thread.  Start-up; in a forked child. */
void hs_left_alone_begin(void);

/*
 * As hs_event_wait().  If none of the program's threads is left, requests the last profile, or, if
 * that is written or not due, ends the process.  The producer's thread, without producer_batch.
 */
void hs_left_alone_wait(struct hs_event *event, int64_t timeout_ns);

#endif
