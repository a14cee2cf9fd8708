/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The books as they were when the estimated memory in use was highest, for each heap by itself.
 *
 * Kept row by row: only the rows that changed since the last peak are copied at the next
 * one, so that each change costs the same however many rows there are.  Exact: the copy is
 * taken after the event that made the peak, in the order of the events.
 *
 * Threads: the producer.  Memory: the arena, 72 bytes a row.
 */
#ifndef HS_PROFILE_PEAK_H
#define HS_PROFILE_PEAK_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/heap_id.h"

/* Sums of weights; bytes are weight * size.  Units of 1 / HS_WEIGHT_ONE. */
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
	uint64_t time_ns;        /* wall clock of the peak; 0: none yet */
	uint32_t changed;        /* the first of the rows that changed since, + 1; 0: none */
};

struct hs_peak_link {
	uint32_t next;     /* row + 2; 1: it is the last; 0: the row has not changed */
	uint32_t previous; /* row + 1; 0: it is the first */
};

/* All zero: no peak yet. */
struct hs_peak {
	struct hs_row_totals *rows; /* by row number, as of its heap's peak */
	struct hs_peak_link *changed; /* by row number: lists of the rows that changed since */
	uint32_t capacity;          /* of rows */
	bool is_spoiled;            /* memory ran out: the peaks kept are not the highest */
	struct hs_heap_peak heaps[HS_HEAP_LIMIT];
};

void hs_peak_fini(struct hs_peak *peak);

/* Row `row`, of a heap, has changed. */
void hs_peak_note(struct hs_peak *peak, uint32_t heap, uint32_t row);

/* Row `row`, of a heap, is dropped: its number may be another row's next. */
void hs_peak_forget(struct hs_peak *peak, uint32_t heap, uint32_t row);

/* The totals of a row at its heap's peak; NULL if it did not exist then. */
const struct hs_row_totals *hs_peak_row(const struct hs_peak *peak, uint32_t row);

/*
 * The event is applied.  in_use: of all the heap's rows together.  If that is more than ever,
 * its rows that changed are copied by read(); now_ns: wall clock.
 */
void hs_peak_follow(struct hs_peak *peak, uint32_t heap, unsigned __int128 in_use, uint64_t now_ns,
		    void (*read)(const void *context, uint32_t row, struct hs_row_totals *out),
		    const void *context);

#endif
