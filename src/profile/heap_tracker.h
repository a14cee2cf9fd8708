/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The books proper: totals per row, and for each slot of the live set the sample that is in it.
 * Called in the order of the events' numbers, or later for an event whose number was given up.
 *
 * A slot goes back to the live set only here, when its free is applied.  So a sample that arrives
 * when its slot has another generation was freed before: it is added as allocated and freed.
 *
 * Called on: the producer.  Allocates: from the arena; the books of slots are the live set's.
 */
#ifndef HS_PROFILE_HEAP_TRACKER_H
#define HS_PROFILE_HEAP_TRACKER_H

#include "base/interner.h"
#include "output/profile_view.h"
#include "profile/commit_order.h"
#include "profile/peak.h"
#include "sample/heap_id.h"

struct hs_row_key {
	uint64_t size; /* size bucket; 0 without the label */
	uint32_t callsite;
	uint32_t tid;
	uint32_t thread;
	uint32_t heap;
	uint32_t labels; /* of sample/labels.h */
	uint32_t unused; /* 0, in place of padding: keys are compared by their bytes */
};

struct hs_row {
	struct hs_row_key key;
	struct hs_row_totals totals;
};

struct hs_heap_tracker {
	struct hs_interner rows;
	bool label_sizes;
	uint32_t lost_callsite; /* the stack of [lost] rows, and of events without memory for one */
	struct hs_totals in_use[HS_HEAP_LIMIT]; /* of each heap */
	/* The part of it that is of samples without a row, for want of memory. */
	struct hs_totals lost_in_use[HS_HEAP_LIMIT];
	struct hs_totals lost_at_peak[HS_HEAP_LIMIT]; /* if keeps_peak */
	bool keeps_peak;
	struct hs_peak peak; /* if keeps_peak */
};

/* Makes empty books.  Those of the slots must be cleared too.  Returns 0 or -ENOMEM. */
int hs_heap_tracker_init(struct hs_heap_tracker *tracker, bool label_sizes);
void hs_heap_tracker_fini(struct hs_heap_tracker *tracker);

/*
 * Applies an allocation.  A sample for whose row or stack there is no memory is added to its heap's
 * losses (counted: lost_memory); it too is in use until its free.
 * row: a guess at the number of the sample's row, which may be any number; set to its row if it has
 * one.
 */
void hs_heap_tracker_allocated(struct hs_heap_tracker *tracker, const struct hs_heap_event *event,
			       uint32_t *row);

/* Applies a free: subtracts exactly what was added, and gives the slot back to the live set. */
void hs_heap_tracker_freed(struct hs_heap_tracker *tracker, const struct hs_heap_event *event);

/*
 * Prefetches what an event to come will need: the row of the sample in a slot, whose book must be
 * in the caches by then; the row of a number, which may be any number.
 */
void hs_heap_tracker_fetch_row_of(const struct hs_heap_tracker *tracker, uint32_t slot);
void hs_heap_tracker_fetch_row(const struct hs_heap_tracker *tracker, uint32_t row);

/* The size label: exact up to 128, then rounded down to a quarter of its octave. */
uint64_t hs_heap_tracker_size_bucket(uint64_t size);

/*
 * A row's values as a profile has them, integers: see hs_view_row.  totals: of now or of the peak.
 *
 * Not to the nearest: rows of one object of weight 1.3 would all have 1, and their sum would be too
 * small.  They are rounded up as often as their fraction says.  The key and the seed decide: so a
 * row is rounded alike in all profiles, and has no more in use than was allocated.
 */
void hs_row_round(const struct hs_row_key *key, const struct hs_row_totals *totals,
		  int64_t values[HS_VIEW_VALUES]);

/*
 * Other rows are rounded up with another seed: sums over processes that do the same are right too.
 * Start-up; forked children keep it.
 */
void hs_row_seed(uint64_t seed);

/* Drops a row of which nothing is in use; its number is given out again. */
void hs_heap_tracker_drop(struct hs_heap_tracker *tracker, uint32_t row);

/* The numbers of all rows, and perhaps of dropped ones, are below this. */
static inline uint32_t hs_heap_tracker_row_count(const struct hs_heap_tracker *tracker)
{
	return tracker->rows.count;
}

static inline bool hs_heap_tracker_has_row(const struct hs_heap_tracker *tracker, uint32_t row)
{
	return hs_interner_is_used(&tracker->rows, row);
}

/* Valid until the next allocation is applied. */
static inline const struct hs_row *hs_heap_tracker_row(const struct hs_heap_tracker *tracker,
						       uint32_t row)
{
	return hs_interner_item(&tracker->rows, row);
}

#endif
