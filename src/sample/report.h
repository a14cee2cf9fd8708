/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sampling of the heaps that the program reports.
 *
 * One countdown per thread serves all of them, drawn with the smallest of their intervals; the byte
 * at which it ends is chosen for that interval.  In a heap with a larger interval it is kept with
 * the probability smallest / own interval, so that each byte is chosen with that of its own.
 * A countdown drawn before the smallest interval changed is thrown away, which is right because the
 * distribution has no memory.
 *
 * Called on: the program's threads.  Allocates: never.  Blocks, errno, signals: as
 * sample/recorder.h.
 */
#ifndef HS_SAMPLE_REPORT_H
#define HS_SAMPLE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/regs.h"
#include "sample/heap.h"
#include "sample/live_set.h"
#include "sample/recorder.h"
#include "sample/thread_state.h"

static inline bool hs_report_is_heap(uint32_t heap)
{
	return heap >= HS_HEAP_FIRST_REPORTED && heap < HS_HEAP_LIMIT &&
	       atomic_load_explicit(&hs_heaps[heap].state, memory_order_acquire) ==
		       HS_HEAP_REGISTERED;
}

/*
 * The fast path: counts an allocation down.  True: not sampled, done.  False: the slow path
 * decides; the countdown is untouched.
 */
static inline bool hs_report_passes(uint32_t heap, uint64_t size)
{
	uint64_t least = atomic_load_explicit(&hs_heap_least_interval, memory_order_relaxed);
	uint64_t left = hs_thread.reported_countdown, bytes = size + (size == 0);

	if (least == 0 || !hs_report_is_heap(heap))
		return true;
	if (hs_thread.reported_interval != least || bytes >= left)
		return false;
	/* From the value compared: if a handler reports in between, it must not wrap. */
	hs_thread.reported_countdown = left - bytes;
	return true;
}

/* A heap has allocated id.  Returns whether it is sampled. */
bool hs_report_allocation(uint32_t heap, uint64_t id, uint64_t size, const struct hs_regs *regs);

/*
 * A heap that samples by itself has chosen an allocation.  stands_for: the bytes it represents.
 * Returns whether it counts.
 */
bool hs_report_sample(uint32_t heap, uint64_t id, uint64_t size, uint64_t stands_for,
		      const struct hs_regs *regs);

/* A heap is about to free id, which need not be a sample. */
static inline void hs_report_free(uint32_t heap, uint64_t id)
{
	if (heap >= HS_HEAP_FIRST_REPORTED && heap < HS_HEAP_LIMIT &&
	    hs_live_set_may_hold_key(hs_live_key(heap, id)))
		hs_record_free_id(heap, id);
}

#endif
