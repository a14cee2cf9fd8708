/* SPDX-License-Identifier: BSD-2-Clause */
/* What starting the profiler threads has in common with ending them. */
#ifndef HS_SESSION_THREAD_STOP_H
#define HS_SESSION_THREAD_STOP_H

#include <stdbool.h>

#include "session/session.h"

/* The time between two looks at something that wakes nobody. */
#define HS_THREADS_LOOK_NS 1000000

/*
 * While threads are started or joined, locks of the C library and of the arena are held: no handler
 * may jump out, and no cancellation end the thread.  Signals are blocked.  Cancellation is
 * deferred, not disabled: there is no cancellation point in between, and glibc 2.36 loses a pending
 * one in pthread_setcancelstate().
 */
void hs_threads_begin_undisturbed(struct hs_undisturbed *before);
void hs_threads_end_undisturbed(const struct hs_undisturbed *before);

/* Phase STARTING: ends the worker, because the producer cannot be started.  Undisturbed. */
void hs_threads_end_worker(void);

/* STOPPING -> NONE if they have ended and nobody waits for that any more.  Undisturbed. */
void hs_threads_end_left_stop(void);

/* Whether the program's last thread has ended, or is about to, and not by exit(). */
bool hs_threads_is_deserted(void);

#endif
