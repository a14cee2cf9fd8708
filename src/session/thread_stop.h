/* SPDX-License-Identifier: BSD-2-Clause */
/* What starting the profiler threads has in common with ending them. */
#ifndef HS_SESSION_THREAD_STOP_H
#define HS_SESSION_THREAD_STOP_H

#include <stdbool.h>

#include "session/session.h"

/* Between two looks at what nobody wakes for. */
#define HS_THREADS_LOOK_NS 1000000

/*
 * While threads are started or joined no handler may jump out, and no cancellation end the
 * thread: locks of the C library and of the arena are held.  Cancellation is deferred, not
 * disabled: no point of it is passed, and glibc 2.36 forgets PTHREAD_CANCELED in
 * pthread_setcancelstate().
 */
void hs_threads_begin_undisturbed(struct hs_undisturbed *before);
void hs_threads_end_undisturbed(const struct hs_undisturbed *before);

/* STARTING: the producer cannot be started, so the worker is to end.  Undisturbed. */
void hs_threads_end_worker(void);

/* STOPPING -> NONE, where nobody waits any more for them to end, and they have.  Undisturbed. */
void hs_threads_end_left_stop(void);

/* None of the program's threads is left, or is about to be; it does not end by exit() either. */
bool hs_threads_is_deserted(void);

#endif
