/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two profiler threads, for the files of this folder only: their loops (threads.c), starting
 * them (thread_start.c, thread_trial.c), and ending them (thread_stop.c).
 */
#ifndef HS_SESSION_THREADS_H
#define HS_SESSION_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/session.h"
#include "unwind/unwinder.h"

/* How often a thread looks at something that nobody wakes it for. */
#define HS_THREADS_LOOK_NS 1000000

/* --- the loops: threads.c ------------------------------------------------------ */

void *hs_threads_run_worker(void *unused);
void *hs_threads_run_producer(void *unused);

/*
 * Processes one batch: frees, and records of the queue.  Whether there were any.  The producer's
 * thread, producer_batch held.
 */
bool hs_threads_process(void);

/*
 * Lets a fork that waits have producer_batch, and processes one batch.  For long work of the
 * producer's, on its thread, producer_batch held.
 */
void hs_threads_pause(void);

/* --- starting: thread_start.c, on the program's threads ------------------------- */

/* Starts them if they do not run; not inside the program's pthread_create().  Whether they run. */
bool hs_threads_ensure(void);

/*
 * The same, but if another thread is starting them, or ends them, waits for that, 62 s at most.
 */
bool hs_threads_await(void);

/*
 * Whether this thread may start them: not in a hook, nor in a signal handler with a stack of its
 * own, which may have interrupted pthread_create() and would wait for its locks.
 */
bool hs_threads_may_start(uintptr_t sp);

/*
 * A sample was taken and they may not run yet, or they were stopped for a call that is over: starts
 * them.  If samples may wait for ring space, waits for the worker too, except while it loads
 * libunwind.  sp: of the call site.
 */
void hs_threads_start_for_sample(uintptr_t sp);

/* Waits until the worker reads the ring, if the threads run; 5 s at most. */
void hs_threads_wait_for_reader(void);

/*
 * Waits, for a short while, until the profiler threads have changed *word, which is now `now`.
 * Starts them if they are gone: they may have been stopped after the caller asked them.
 * Returns how long that was, in nanoseconds: 100 ms at most, for a process that was stopped
 * meanwhile has not waited for them all that time.
 */
uint64_t hs_threads_wait_slice(_Atomic uint32_t *word, uint32_t now);

/*
 * Whether what was asked of the producer at start_ns will not be done: it has not begun
 * (not_begun), and it sleeps and cannot be woken, because a filter refuses futex().
 */
bool hs_threads_cannot_wake(uint64_t start_ns, bool not_begun);

/* --- trying out first: thread_trial.c -------------------------------------------- */

/* Start-up. */
void hs_thread_trial_init(void);

/*
 * Whether a thread that glibc makes would live, and could load a library (loads), despite seccomp
 * filters.  Tried on a thread that glibc does not know.  Takes a second at most.
 */
bool hs_threads_would_live(bool loads);

/* What the worker asks before it uses libunwind: see hs_unwinder_create(). */
enum hs_leave hs_threads_before_libunwind(bool is_first);

/* --- ending: thread_stop.c, on the program's threads ----------------------------- */

/*
 * Ends the profiler threads if they run: what is recorded then waits until they are started
 * again.  Waits for a profile that is being written, and for another such call, limit_ns at most;
 * after that they go on, unless the program has no threads left.
 * Whether they ran and are gone.
 */
bool hs_threads_stop(uint64_t limit_ns);

/*
 * Whether one of them is gone though nobody has ended it: killed by a seccomp filter, say.  For
 * threads that wait for one of them.
 */
bool hs_threads_died(void);

/*
 * Makes the calling thread undisturbed, while profiler threads are started or joined or the arena
 * is changed: locks of libc and of the arena are held, so no handler may jump out and no
 * cancellation end the thread.  Cancellation is deferred, not disabled: no cancellation point is
 * passed, and pthread_setcancelstate() of glibc 2.36 forgets a pending PTHREAD_CANCELED.
 */
void hs_threads_begin_undisturbed(struct hs_undisturbed *before);
void hs_threads_end_undisturbed(const struct hs_undisturbed *before);

/* STARTING, and the producer could not be started: ends the worker.  Undisturbed. */
void hs_threads_end_worker(void);

/*
 * STOPPING -> NONE, if they have ended and whoever stopped them did not wait for that.
 * Undisturbed.
 */
void hs_threads_finish_stop(void);

/* --- the program's threads: program_threads.c ------------------------------------ */

/*
 * Whether the program's last thread has ended, or is ending, without exit(): the profiler threads
 * are not started again, nor told to go on.
 */
bool hs_threads_is_deserted(void);

#endif
