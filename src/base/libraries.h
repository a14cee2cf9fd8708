/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Libraries come and go: what the hooks of dlopen() and dlclose() count, so that a pc is
 * never resolved against what was mapped at another time.
 *
 * A close is under way from before the real dlclose() until after it; meanwhile libraries
 * may be unmapped, and others mapped in their place by another thread.  A record notes the
 * state when it is taken (sample/recorder.c); the worker compares it with the state at
 * which it read the maps (unwind/map_watch.c).
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

/* How many are over: goes up when addresses may mean something else; wraps. */
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
 * A close is about to unload libraries that a record not yet unwound may have its stack in.
 * Counts as a close that is over, so that maps read from now on are newer than that record.
 */
void hs_close_goes_on(void);

/* How often that has happened.  To be read before hs_closes_now() when a record is taken. */
static inline uint32_t hs_closes_unwaited(void)
{
	/* Acquire: pairs with the release in hs_close_goes_on(). */
	return atomic_load_explicit(&hs_library_closes_unwaited, memory_order_acquire);
}

/* In a forked child: only those closes are under way that its one thread is in. */
void hs_closes_after_fork(uint32_t this_thread);

#endif
