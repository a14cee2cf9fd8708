/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies the books' rows for a profile.  Threads: the producer.  Memory: the arena. */
#ifndef HS_PROFILE_SNAPSHOT_ROWS_H
#define HS_PROFILE_SNAPSHOT_ROWS_H

#include "output/profile_view.h"
#include "profile/producer.h"

/*
 * Copies the current rows, or those of a heap at its peak (peak_heap, else HS_HEAP_NONE), with what
 * was lost; each holds its stack.  With HEAPSAMPLE_DELTA current rows are differences.
 * heaps: by number, all zero; gets the sums of all values since the start.  NULL when the arena is
 * used up.
 */
struct hs_view_row *hs_snapshot_rows_copy(struct hs_producer *producer, uint32_t peak_heap,
					  uint32_t *count, struct hs_view_heap *heaps);

#endif
