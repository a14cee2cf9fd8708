/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The books: takes unwound records and frees in any order, commits them in the order of their
 * sequence numbers, and keeps totals per callsite and labels, the rows.
 *
 * Order.  Each event has a number of hs_sequence (sample/sequence.h); the producer commits 1, 2,
 * 3, ...  What arrives early waits.  A number that does not arrive is given up and counted as a gap
 * (hs_producer_skip_gap()).  If it arrives later it is applied then, so totals stay right and
 * nothing ever stalls.
 *
 * Exactness.  Totals are 128-bit sums of weights in fixed point, in units of 1 / HS_WEIGHT_ONE.  So
 * a free subtracts from the totals in use exactly what its allocation has added.  They
 * become integers once, when a row is written: hs_row_round().
 *
 * Totals of allocations never decrease, and rows are dropped only with profiles of differences
 * (profile/delta.h).
 *
 * Called on: the producer; start-up; a fork handler that holds producer_batch.  Allocates: from the
 * arena; a sample for which there is no memory goes to the [lost] row, and is counted
 * (lost_memory).
 */
#ifndef HS_PROFILE_PRODUCER_H
#define HS_PROFILE_PRODUCER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "base/pauses.h"
#include "maps/mapping_table.h"
#include "unwind/unwound.h"

struct hs_producer;
struct hs_heap_event;

/* For an allocation or a free and its number. */
typedef void (*hs_producer_stream_fn)(uint64_t number, const struct hs_heap_event *event);

/* What a producer does for all its life.  What is pointed to must outlive it. */
struct hs_producer_setup {
	const struct hs_mapping_table *mappings; /* those that the frames of records name */
	unsigned labels;          /* bits of enum hs_label */
	enum hs_delta_kind delta; /* profiles are those of differences: see profile/delta.h */
	bool keeps_peak;          /* the books of each heap's peak are kept too */

	/*
	 * Prefixes by which frames are hidden (see profile/frame_filter.h), "" or NULL: none are;
	 * and how much memory symbol tables that are kept for this may take.
	 */
	const char *hidden;
	size_t symbol_bytes;

	/*
	 * What tells of generated code (see profile/jit_frames.h): bits of enum hs_jit_source, 0:
	 * such frames are known by their addresses alone; and how much memory that may take.
	 */
	unsigned jit_sources;
	size_t jit_bytes;

	/* The setting of map hints that may come late (see profile/hint_names.h); "" or NULL. */
	const char *hints;

	/*
	 * If not NULL no books are kept: takes all allocations and frees, in the order of their
	 * numbers, except those that arrive after their number was given up.  A fork may come
	 * during its call: everything that was taken is accounted for then.
	 */
	hs_producer_stream_fn stream;

	void (*at_file)(enum hs_at_file what); /* for files of names: as hs_pauses has it */
};

/* Start-up.  NULL: the arena is used up. */
struct hs_producer *hs_producer_create(const struct hs_producer_setup *setup);

/* Whether a compiler has told of generated code so far: then code may change at any time. */
bool hs_producer_knows_generated_code(const struct hs_producer *producer);

/* Records that follow may be newer than what was last read of generated code and threads. */
void hs_producer_begin_batch(struct hs_producer *producer);

/* While the books are full, samples with new stacks or labels are lost (lost_memory). */
void hs_producer_set_full(struct hs_producer *producer, bool is_full);

/* How many records behind the next one hs_producer_expect() may be called for. */
#define HS_PRODUCER_EXPECTED 2u

/*
 * Prefetches what a record will need that is taken soon, after others for which this was called
 * before.  Keeps only a hash of it.
 */
void hs_producer_expect(struct hs_producer *producer, const struct hs_unwound *record);

/* Takes a record of the queue, whose memory stays the queue's. */
void hs_producer_take(struct hs_producer *producer, const struct hs_unwound *record);

/* Takes all frees from the live set, and commits what is in order.  Returns how many it took. */
uint32_t hs_producer_take_freed(struct hs_producer *producer);

/* Whether frees were committed that the next hs_producer_take_freed() has yet to return. */
bool hs_producer_has_taken_frees(const struct hs_producer *producer);

/* Commits what is in order.  Whether events are left that wait for a missing number. */
bool hs_producer_commit(struct hs_producer *producer);

/*
 * Commits all events below a number that have arrived; those that have not are given up.  Events
 * from the number on may still be on their way.
 */
void hs_producer_commit_before(struct hs_producer *producer, uint64_t number);

/*
 * From now on samples of this epoch (hs_epoch) are taken, and all others are dropped and counted;
 * 0: all are dropped.  Frees of what is in the books count in any case.
 */
void hs_producer_set_epoch(struct hs_producer *producer, uint32_t epoch);

/*
 * Empties the books: rows, what is in use, peaks and losses.  What was in use is freed in the live
 * set, and the program's frees of it will have no effect.  There must be no snapshot.  0, or
 * -ENOMEM, and the books are as before.
 */
int hs_producer_reset(struct hs_producer *producer);

/*
 * Bounds the rows of the next profiles of differences; 0: no bound.  Rows that find no room are in
 * later profiles, and the profile is partial (struct hs_view).
 */
void hs_producer_bound_delta(struct hs_producer *producer, uint32_t rows);

/*
 * The next profile of differences has all that is in the books: in a forked child, whose files are
 * its own, or when the books are empty.  Neither allocates nor frees.
 */
void hs_producer_forget_written(struct hs_producer *producer);

/*
 * Drops spent rows (profile/delta.h), except those of which something was in use at the peak.
 * There must be no snapshot.  The producer can take records in the pauses.
 */
void hs_producer_drop_spent(struct hs_producer *producer, void (*pause)(void));

/* When a heap's peak was, by the wall clock; 0: it is not kept, or memory for it ran out. */
uint64_t hs_producer_peak_ns(const struct hs_producer *producer, uint32_t heap);

/* Whether memory for the peaks ran out: they are not kept any more. */
bool hs_producer_has_lost_peak(const struct hs_producer *producer);

/* Estimated bytes in use of a heap, by the events committed so far. */
uint64_t hs_producer_in_use_bytes(const struct hs_producer *producer, uint32_t heap);

/* The number waited for. */
uint64_t hs_producer_next_number(const struct hs_producer *producer);

/*
 * If an event waits for a missing number: sweeps the live set for frees with a number below
 * stuck_before (0: none) that were never put on the freed list; if the missing number is not among
 * them, gives up all numbers below the first that has arrived.  Then commits on.
 */
void hs_producer_skip_gap(struct hs_producer *producer, uint64_t stuck_before);

#endif
