/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts of dlopen() and dlclose(), so that a pc is never resolved with mappings of another time.
 *
 * A close is under way from before the real dlclose() until after it; meanwhile libraries
 * may be unmapped, and others mapped in their place by another thread.  A record carries the
 * counts of when it was taken (sample/recorder.c); the worker compares them with the counts of
 * when it read the mappings (unwind/map_watch.c).
 *
 * Written by: the hooks, on the program's threads.  Read by: any thread.
 */
#ifndef HS_BASE_LIBRARIES_H
#define HS_BASE_LIBRARIES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/visibility.h"

/* Closes under way in the upper half, closes that are over in the lower. */
typedef uint64_t hs_closes;

extern HS_HIDDEN _Atomic hs_closes hs_library_closes;

/* See hs_close_goes_on(). */
extern HS_HIDDEN _Atomic uint32_t hs_library_closes_unwaited;

/* dlopen() calls begun: something may have been mapped where nothing was. */
extern HS_HIDDEN _Atomic uint64_t hs_library_opens;

static inline hs_closes hs_closes_now(void)
{
	/* Acquire: pairs with the release in hs_close_ends(): the unmapping has happened. */
	return atomic_load_explicit(&hs_library_closes, memory_order_acquire);
}

/* How many have unloaded something: addresses may mean something else since.  Wraps. */
static inline uint32_t hs_closes_over(hs_closes closes)
{
	return (uint32_t)closes;
}

static inline bool hs_closes_under_way(hs_closes closes)
{
	return closes >> 32 != 0;
}

static inline void hs_close_begins(void)
{
	atomic_fetch_add_explicit(&hs_library_closes, (hs_closes)1 << 32, memory_order_acq_rel);
}

/* unloaded: whether anything was. */
void hs_close_ends(bool unloaded);

/*
 * A close goes on although records taken before it may not be unwound yet.  Counts as a close that
 * is over, so that mappings read from now on are known to be newer than such a record.
 */
void hs_close_goes_on(void);

/* How often that has happened.  When a record is taken, to be read before hs_closes_now(). */
static inline uint32_t hs_closes_unwaited(void)
{
	/* Acquire: pairs with the release in hs_close_goes_on(). */
	return atomic_load_explicit(&hs_library_closes_unwaited, memory_order_acquire);
}

/* In a forked child.  this_thread: how many closes its one thread is in. */
void hs_closes_after_fork(uint32_t this_thread);

#endif
