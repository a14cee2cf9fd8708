/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the program has one thread, not counting the profiler's.
 *
 * While it has, words that only the program's threads write are changed without a lock prefix,
 * which would be a quarter of a sample's cost.  They are still changed in one instruction, because
 * a signal handler of the thread may change them too.  Profiler threads do not write such words,
 * except by plain stores, before hs_alone_has_ended().
 *
 * The flag is libc's (__libc_single_threaded), written by libc and by session/libc_threads.c.
 * hs_alone_end() is called on the program's threads.  Any thread reads.
 */
#ifndef HS_BASE_ALONE_H
#define HS_BASE_ALONE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/fast_path.h"
#include "base/likely.h"
#include "base/visibility.h"

/* Points to libc's __libc_single_threaded, or to a 0. */
extern HS_HIDDEN const uint8_t *_Atomic hs_alone_flag;

static inline bool hs_is_alone(void)
{
	return hs_arch_is_set(atomic_load_explicit(&hs_alone_flag, memory_order_relaxed));
}

/* single_threaded: libc's flag, or NULL where it has none: never alone then.  Start-up. */
void hs_alone_begin(const char *single_threaded);

/* Never alone from now on: profiler threads may change those words too. */
void hs_alone_end(void);
bool hs_alone_has_ended(void);

/* atomic_fetch_add of such a word.  The code of a program with threads is the one without jump. */
static inline uint64_t hs_alone_fetch_add(_Atomic uint64_t *word, uint64_t n)
{
	return hs_unlikely(hs_is_alone())
		       ? hs_arch_fetch_add_unlocked(word, n)
		       : atomic_fetch_add_explicit(word, n, memory_order_acq_rel);
}

/* atomic_compare_exchange_strong of such a word. */
static inline bool hs_alone_compare_exchange(_Atomic uint64_t *word, uint64_t *expected,
					     uint64_t desired)
{
	return hs_arch_compare_exchange(word, expected, desired, !hs_is_alone());
}

#endif
