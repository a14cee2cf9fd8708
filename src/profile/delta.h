/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_DELTA: each profile shows what happened since the one before; with HS_DELTA_ALLOC what
 * was allocated since, beside all that is in use.
 *
 * A row is written as the difference between its present values, rounded, and its base: the values
 * that complete files have shown of it in all.  So the files add up exactly to one profile taken at
 * their end, and what could not be written is in the next one.
 *
 * A row is spent if nothing of it is in use and files have shown all of it.  Nobody needs it any
 * more, and it is dropped with its stack (hs_producer_drop_spent()).  If it comes again it begins
 * at 0, and its rounding too.  What the rounding has left is carried over to new rows, so that sums
 * over all rows stay right.
 *
 * If memory is short a profile has only some of the rows that differ; the others are in the next.
 *
 * Called on: the producer.  Allocates: from the arena, 32 bytes a row, and 40 for each row of the
 * profile while it is written.
 */
#ifndef HS_PROFILE_DELTA_H
#define HS_PROFILE_DELTA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/interner.h"
#include "base/options.h"
#include "output/profile_view.h"
#include "sample/heap_id.h"

/*
 * Values as a profile has them: alloc_objects, alloc_space, inuse_objects, inuse_space.  The last
 * two are 0 with HS_DELTA_ALLOC: each profile shows all that is in use.
 */
struct hs_shown {
	int64_t values[HS_VIEW_VALUES];
};

/* A row of the profile under way, with its values (not differences) at the time. */
struct hs_shown_row {
	uint32_t row;
	struct hs_shown shown;
};

/* All zero: profiles are not of differences. */
struct hs_delta {
	enum hs_delta_kind kind;
	uint32_t most_rows;    /* of a profile; 0: no limit */
	bool is_partial;       /* the profile under way had no room for some rows */
	struct hs_shown *base; /* by row number; from base_count on all zero */
	uint32_t base_count;
	uint32_t base_capacity;
	struct hs_shown lost_base[HS_HEAP_LIMIT]; /* of the [lost] rows */

	/* Become the base when the profile under way is complete. */
	struct hs_shown_row *pending;
	uint32_t pending_count;
	uint32_t pending_room; /* one less than is allocated */
	struct hs_shown lost_pending[HS_HEAP_LIMIT];

	/* Of dropped rows: objects and bytes, in units of 1 / HS_WEIGHT_ONE. */
	unsigned __int128 dropped[HS_HEAP_LIMIT][2]; /* what was allocated */
	/* What of it no file has; negative: what files have too much. */
	int64_t carry[HS_HEAP_LIMIT][2];
	int64_t carry_pending[HS_HEAP_LIMIT][2]; /* when the profile under way is complete */
};

void hs_delta_fini(struct hs_delta *delta);

/* What are differences in a profile of the peak of a heap, or with HS_HEAP_NONE of now. */
static inline enum hs_delta_kind hs_delta_of(const struct hs_delta *delta, uint32_t peak_heap)
{
	return peak_heap == HS_HEAP_NONE ? delta->kind : HS_DELTA_NONE;
}

/* How many rows a profile has at most. */
uint32_t hs_delta_rows(const struct hs_delta *delta, const struct hs_interner *rows);

/* A profile of these rows begins.  False: the arena is used up. */
bool hs_delta_begin(struct hs_delta *delta, const struct hs_interner *rows);

/*
 * Turns the present values of a row, of this heap, into differences.  Whether the row is in this
 * profile: a value is not 0, and there is room for the row.
 */
bool hs_delta_subtract(struct hs_delta *delta, uint32_t row, uint32_t heap,
		       int64_t values[HS_VIEW_VALUES]);
bool hs_delta_subtract_lost(struct hs_delta *delta, uint32_t heap, int64_t values[HS_VIEW_VALUES]);

/* Adds the sums of dropped rows.  heaps: by number. */
void hs_delta_add_dropped(const struct hs_delta *delta, struct hs_view_heap *heaps);

/* The profile's file is complete: what it shows goes into the base. */
void hs_delta_written(struct hs_delta *delta);

/* The profile ends, whether it was written or not. */
void hs_delta_end(struct hs_delta *delta);

/* Follows the table of rows, which was trimmed. */
void hs_delta_trim(struct hs_delta *delta, const struct hs_interner *rows);

#endif
