/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies the books' rows for a profile.  Threads: the producer.  Memory: the arena. */
#ifndef HS_PROFILE_SNAPSHOT_ROWS_H
#define HS_PROFILE_SNAPSHOT_ROWS_H

#include "output/profile_view.h"
#include "profile/producer.h"

/*
 * The rows of now, or those of a heap at its peak (peak_heap; HS_HEAP_NONE: of now), with
 * what was lost; each holds its stack.  With HEAPSAMPLE_DELTA the rows of now are differences.
 * heaps, by number, zeros: get the sums of all values that there ever were.  NULL when the
 * arena is used up.
 */
struct hs_view_row *hs_snapshot_rows_copy(struct hs_producer *producer, uint32_t peak_heap,
					  uint32_t *count, struct hs_view_heap *heaps);

#endif
