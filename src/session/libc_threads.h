/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hides the profiler threads from libc while the program has one thread: libc_threads.c tells why.
 * For the files of this folder only.
 */
#ifndef HS_SESSION_LIBC_THREADS_H
#define HS_SESSION_LIBC_THREADS_H

#include <stdbool.h>

/* What libc knows of the profiler threads. */
enum hs_libc_view {
	HS_LIBC_VISIBLE, /* it knows them, if there are any */
	HS_LIBC_STARTED, /* the same; they begin, and the worker perhaps loads libunwind */
	HS_LIBC_LOADED,  /* the same; it has loaded it */
	HS_LIBC_HIDING,  /* they are being hidden */
	HS_LIBC_HIDDEN,  /* it takes the process for single-threaded */
	HS_LIBC_SHOWN,   /* visible during a call that libc makes on each thread */
	HS_LIBC_ASKED    /* visible, but the program's thread may not have noticed yet */
};

/* libc's flag: whether it takes the process for single-threaded.  Any thread. */
bool hs_libc_is_single_threaded(void);
void hs_libc_set_single_threaded(bool single);

/* Whether the program has one thread according to /proc; false if that cannot be read. */
bool hs_libc_program_has_one_thread(void);

/* --- the program's threads -------------------------------------------------------- */

/*
 * Around starting the profiler threads, on the thread that does it: if _before_start() returns
 * true, _after_start() must be called, and hides them.
 */
bool hs_libc_before_start(void);
void hs_libc_after_start(void);

/* The constructor ends: hides threads that were not hidden yet because the worker was loading. */
void hs_libc_constructor_ends(void);

/*
 * If the worker waits for it, confirms that this thread has noticed that they are visible.  Called
 * after a sample, and before the thread waits.
 */
void hs_libc_answer_worker(void);

/* Around a call that libc makes on each thread: _hide_again() must follow if _show() was true. */
bool hs_libc_show(void);
void hs_libc_hide_again(void);

/* libc is about to learn of a second thread anyway: they are not hidden again. */
void hs_libc_hide_no_more(void);

/* --- the worker -------------------------------------------------------------------- */

/* Whether the worker is to load libunwind when it begins, and then call the other. */
bool hs_libc_loads_at_start(void);
void hs_libc_worker_has_loaded(void);

/*
 * Before the worker calls or loads libunwind: makes the threads visible for good.  Whether that has
 * come about.  Waits for the program's thread, half a second at most.
 */
bool hs_libc_before_libunwind(void);

#endif
