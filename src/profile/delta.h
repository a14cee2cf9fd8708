/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_DELTA: each profile shows what happened since the one before.
 *
 * What is written of a row is the difference between its values of now, rounded, and those
 * that whole files have shown of it: its base.  So the files add up to what one profile at
 * their end would have, whatever was rounded, and one that cannot be written is in the next.
 *
 * A row of which nothing is in use and that is shown to the last is spent: nobody needs it
 * any more, and it goes, with its stack (hs_producer_drop_spent()).  Should it come again, it
 * begins at 0, and rounding with it; what that leaves over is carried to rows that are new, so
 * that sums over all rows stay right.
 *
 * Where memory is short a profile has room for some of the rows that differ only; the others wait
 * for the next one, as what could not be written does.
 *
 * Threads: the producer's.  Memory: the arena, 32 bytes a row, and 40 for each that a
 * profile has while it is written.
 */
#ifndef HS_PROFILE_DELTA_H
#define HS_PROFILE_DELTA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/interner.h"
#include "output/profile_view.h"
#include "sample/heap_id.h"

/* As a profile has them: alloc_objects, alloc_space, inuse_objects, inuse_space. */
struct hs_shown {
	int64_t values[HS_VIEW_VALUES];
};

/* A row that differs in the profile under way, and its values of then. */
struct hs_shown_row {
	uint32_t row;
	struct hs_shown shown;
};

/* All zero: profiles are not of differences. */
struct hs_delta {
	bool is_on;
	uint32_t most_rows; /* that differ, in a profile; 0: all */
	bool is_partial;    /* the profile under way has no room for some */
	struct hs_shown *base; /* by row number; of rows from base_count on: nothing was shown */
	uint32_t base_count;
	uint32_t base_capacity;
	struct hs_shown lost_base[HS_HEAP_LIMIT]; /* of the [lost] rows */
	struct hs_shown_row *pending;
	uint32_t pending_count;
	uint32_t pending_room; /* one less than there is */
	struct hs_shown lost_pending[HS_HEAP_LIMIT];
	/* Of the rows that were dropped, objects and bytes; units of 1 / HS_WEIGHT_ONE. */
	unsigned __int128 dropped[HS_HEAP_LIMIT][2]; /* all that was allocated */
	int64_t carry[2];         /* what of it no file has, below 0: what is too much in them */
	int64_t carry_pending[2]; /* the same, once the profile under way is whole */
};

void hs_delta_fini(struct hs_delta *delta);

/* How many differing rows a profile has room for. */
uint32_t hs_delta_rows(const struct hs_delta *delta, const struct hs_interner *rows);

/* A profile of these rows begins.  Returns false when the arena is used up. */
bool hs_delta_begin(struct hs_delta *delta, const struct hs_interner *rows);

/*
 * Turns a row's values into differences.  Returns whether the profile shows the row: one of them is
 * not 0, and there is room; otherwise it is in the next.
 */
bool hs_delta_subtract(struct hs_delta *delta, uint32_t row, int64_t values[HS_VIEW_VALUES]);
bool hs_delta_subtract_lost(struct hs_delta *delta, uint32_t heap, int64_t values[HS_VIEW_VALUES]);

/* Adds the values of dropped rows to the heaps' sums.  heaps: by number. */
void hs_delta_add_dropped(const struct hs_delta *delta, struct hs_view_heap *heaps);

/* The profile was written completely: adds what it shows to the base. */
void hs_delta_written(struct hs_delta *delta);

/* The profile's end, whether it was written or not. */
void hs_delta_end(struct hs_delta *delta);

/* The table of rows was trimmed. */
void hs_delta_trim(struct hs_delta *delta, const struct hs_interner *rows);

#endif
