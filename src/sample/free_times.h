/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When each slot of the live set was freed, for a stream of events.  Beside the slots and not
 * in them: two of those share a cache line without room to spare, and only a stream asks.
 *
 * Written by: the thread that takes the number of the free, before the slot is on the freed
 * list.  Read by: the producer, after it has taken the slot off that list, which orders both.
 */
#ifndef HS_SAMPLE_FREE_TIMES_H
#define HS_SAMPLE_FREE_TIMES_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "base/likely.h"
#include "base/sys.h"
#include "base/visibility.h"

/* A time per slot, of CLOCK_MONOTONIC_COARSE in nanoseconds; NULL: not kept. */
extern HS_HIDDEN _Atomic uint64_t *hs_free_times;

/* Keeps the times of the live set's slots, which exists by then.  Start-up.  0 or -ENOMEM. */
int hs_free_times_init(void);

/* Slot is being freed now.  Any thread, signal handlers too.  Blocks: never. */
static inline void hs_free_times_note(uint32_t slot)
{
	if (hs_unlikely(hs_free_times != NULL))
		atomic_store_explicit(&hs_free_times[slot], hs_sys_clock_ns(CLOCK_MONOTONIC_COARSE),
				      memory_order_relaxed);
}

/* 0 where times are not kept. */
static inline uint64_t hs_free_times_get(uint32_t slot)
{
	return hs_free_times == NULL
		       ? 0
		       : atomic_load_explicit(&hs_free_times[slot], memory_order_relaxed);
}

#endif
