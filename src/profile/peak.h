/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The books as they were when the estimated memory in use was highest.
 *
 * Kept row by row: only the rows that changed since the last peak are copied at the next
 * one, so that each change costs the same however many rows there are.  Exact: the copy is
 * taken after the event that made the peak, in the order of the events.
 *
 * Threads: the producer.  Memory: the arena, 69 bytes a row.
 */
#ifndef HS_PROFILE_PEAK_H
#define HS_PROFILE_PEAK_H

#include <stdbool.h>
#include <stdint.h>

/* Sums of weights; bytes are weight * size.  Units of 1 / HS_WEIGHT_ONE. */
struct hs_totals {
	unsigned __int128 objects;
	unsigned __int128 bytes;
};

struct hs_row_totals {
	struct hs_totals allocated;
	struct hs_totals freed;
};

/* All zero: no peak yet. */
struct hs_peak {
	struct hs_row_totals *rows; /* by row number, as of the peak */
	uint32_t *changed;          /* the rows that changed since: a list, and whether in it */
	bool *is_changed;
	uint32_t changed_count;
	uint32_t capacity;       /* of rows */
	uint32_t row_count;      /* rows from here on did not exist at the peak */
	unsigned __int128 bytes; /* in use at the peak */
	uint64_t time_ns;        /* wall clock of the peak */
	bool is_spoiled;         /* memory ran out: the peak kept is not the highest */
};

void hs_peak_fini(struct hs_peak *peak);

/* Row `row` has changed. */
void hs_peak_note(struct hs_peak *peak, uint32_t row);

/* The totals of a row at the peak; NULL if it did not exist then. */
const struct hs_row_totals *hs_peak_row(const struct hs_peak *peak, uint32_t row);

/*
 * The event is applied.  in_use: of all rows together.  If that is more than ever, the
 * rows that changed are copied by read(); now_ns: wall clock.
 */
void hs_peak_follow(struct hs_peak *peak, unsigned __int128 in_use, uint64_t now_ns,
		    void (*read)(const void *context, uint32_t row, struct hs_row_totals *out),
		    const void *context);

#endif
