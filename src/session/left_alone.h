/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a process whose own threads have ended without libc's knowing: it would wait for the
 * profiler's for ever.
 */
#ifndef HS_SESSION_LEFT_ALONE_H
#define HS_SESSION_LEFT_ALONE_H

#include <stdint.h>

#include "base/event.h"

/* Note which thread is the main thread: this one, or none.  Start-up; in a forked child. */
void hs_left_alone_begin(void);

/*
 * As hs_event_wait(), but where none of the program's threads is left ask for the last profile, or
 * end the process if that is written or not due.  The producer's thread, without producer_batch.
 */
void hs_left_alone_wait(struct hs_event *event, int64_t timeout_ns);

#endif
