/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the program has one thread: then what none but its threads write needs no locked
 * instructions, which are a quarter of what a sample costs it; but single ones, for its signal
 * handlers.  libc knows; the profiler's threads do not count (session/libc_threads.c).  What they
 * change otherwise than by a store they leave alone until this has ended for good.
 *
 * libc's flag is written by: libc, session/libc_threads.c.  hs_alone_end(): the program's threads.
 * Read by: any thread.
 */
#ifndef HS_BASE_ALONE_H
#define HS_BASE_ALONE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/fast_path.h"
#include "base/likely.h"
#include "base/visibility.h"

/* libc's __libc_single_threaded; or a 0. */
extern HS_HIDDEN const uint8_t *_Atomic hs_alone_flag;

static inline bool hs_is_alone(void)
{
	return hs_arch_is_set(atomic_load_explicit(&hs_alone_flag, memory_order_relaxed));
}

/* single_threaded: libc's; NULL: it does not say, and nobody is ever alone.  Start-up. */
void hs_alone_begin(const char *single_threaded);

/* For good: from now on profiler threads may change what is changed alone.  Whether it has. */
void hs_alone_end(void);
bool hs_alone_has_ended(void);

/*
 * atomic_fetch_add, of what a handler over this thread may change too.  Laid out for programs with
 * threads: the others are spared the locked instruction for their jump.
 */
static inline uint64_t hs_alone_fetch_add(_Atomic uint64_t *word, uint64_t n)
{
	return hs_unlikely(hs_is_alone())
		       ? hs_arch_fetch_add_unlocked(word, n)
		       : atomic_fetch_add_explicit(word, n, memory_order_acq_rel);
}

/* atomic_compare_exchange_strong, the same. */
static inline bool hs_alone_compare_exchange(_Atomic uint64_t *word, uint64_t *expected,
					     uint64_t desired)
{
	return hs_arch_compare_exchange(word, expected, desired, !hs_is_alone());
}

#endif
