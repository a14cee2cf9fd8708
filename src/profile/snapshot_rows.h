/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies the books' rows for a profile.  Called on: the producer.  Allocates: from the arena. */
#ifndef HS_PROFILE_SNAPSHOT_ROWS_H
#define HS_PROFILE_SNAPSHOT_ROWS_H

#include "output/profile_view.h"
#include "profile/producer.h"

/*
 * The present rows (peak_heap HS_HEAP_NONE), or those of a heap at its peak; with [lost] rows.
 * Each holds its stack.  With HEAPSAMPLE_DELTA the present rows are differences.
 * heaps: by number, all zero; get the sums of all values since the start.
 * NULL: the arena is used up.
 */
struct hs_view_row *hs_snapshot_rows_copy(struct hs_producer *producer, uint32_t peak_heap,
					  uint32_t *count, struct hs_view_heap *heaps);

#endif
