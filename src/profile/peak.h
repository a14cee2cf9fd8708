/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The books as they were when the estimated memory in use was highest, for each heap by itself.
 *
 * At a new peak only the rows that changed since the last one are copied, so each change costs the
 * same however many rows there are.  It is exact: the copy is taken right after the event that made
 * the peak, in the order of the events.
 *
 * Called on: the producer.  Allocates: from the arena, 72 bytes a row.
 */
#ifndef HS_PROFILE_PEAK_H
#define HS_PROFILE_PEAK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/interner.h"
#include "sample/heap_id.h"

/* Sums of weights, and of weight * size, in units of 1 / HS_WEIGHT_ONE. */
struct hs_totals {
	unsigned __int128 objects;
	unsigned __int128 bytes;
};

struct hs_row_totals {
	struct hs_totals allocated;
	struct hs_totals freed;
};

struct hs_heap_peak {
	unsigned __int128 bytes; /* in use at the peak */
	uint64_t time_ns;        /* of the peak, by the wall clock; 0: none yet */
	uint32_t changed;        /* first row of the list of those that changed since + 1; or 0 */
};

/* A row's place in its heap's list of rows that changed since the peak. */
struct hs_peak_link {
	uint32_t next;     /* row + 2; 1: it is the last; 0: the row is not in the list */
	uint32_t previous; /* row + 1; 0: it is the first */
};

/* All zero: no peak yet. */
struct hs_peak {
	struct hs_row_totals *rows;   /* by row number: totals at its heap's peak */
	struct hs_peak_link *changed; /* by row number */
	uint32_t capacity;            /* of both arrays, in rows */
	bool is_spoiled;              /* memory ran out: nothing is kept any more */
	struct hs_heap_peak heaps[HS_HEAP_LIMIT];
};

void hs_peak_fini(struct hs_peak *peak);

/* A row of a heap changes. */
void hs_peak_note(struct hs_peak *peak, uint32_t heap, uint32_t row);

/* A row of a heap is dropped, and its number may become another row's. */
void hs_peak_forget(struct hs_peak *peak, uint32_t heap, uint32_t row);

/* The totals of a row at its heap's peak; NULL if it did not exist then. */
const struct hs_row_totals *hs_peak_row(const struct hs_peak *peak, uint32_t row);

/*
 * An event was applied.  in_use: bytes in use of the heap.  If that is more than ever it is a new
 * peak: the totals of rows that changed are copied.  now_ns: by the wall clock.  rows: all, of
 * struct hs_row.
 */
void hs_peak_follow(struct hs_peak *peak, uint32_t heap, unsigned __int128 in_use, uint64_t now_ns,
		    const struct hs_interner *rows);

#endif
