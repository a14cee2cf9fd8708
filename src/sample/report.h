/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sample path of the heaps that the program reports.
 *
 * One countdown per thread serves all of them, drawn with the smallest of their intervals;
 * where it ends, a byte is chosen for that interval.  For a heap with a larger one the byte
 * is chosen again, so that each of its bytes is with the probability of its own interval.
 * A countdown of another interval than the smallest of now is thrown away, which is right
 * because the distribution has no memory.
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
 * The fast path: count an allocation down.  True: not sampled, done.  False: the slow path
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
	/* What was compared: a handler's report in between must not make it wrap. */
	hs_thread.reported_countdown = left - bytes;
	return true;
}

/* A heap has allocated id.  Returns whether it was chosen. */
bool hs_report_allocation(uint32_t heap, uint64_t id, uint64_t size, const struct hs_regs *regs);

/* A heap has chosen an allocation, which stands for so many bytes.  Returns whether it counts. */
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
