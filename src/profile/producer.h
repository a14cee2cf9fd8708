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

/*
 * mappings: those that the frames of records name; must outlive the producer.  labels: bits of enum
 * hs_label.  NULL: the arena is used up.
 */
struct hs_producer *hs_producer_create(const struct hs_mapping_table *mappings, unsigned labels);

/*
 * Has generated code told apart (see profile/jit_frames.h).  Once, before the first record.
 * Without this such frames are known by their addresses alone.  False: the arena is used up.
 */
bool hs_producer_follow_code(struct hs_producer *producer, unsigned sources, size_t most_bytes);

/* Whether a compiler has told of generated code so far: then code may change at any time. */
bool hs_producer_knows_generated_code(const struct hs_producer *producer);

/* Records that follow may be newer than what was last read of generated code and threads. */
void hs_producer_begin_batch(struct hs_producer *producer);

/*
 * Lets map hints that come late give names (see profile/hint_names.h).  Once, at start-up.
 * False: the arena is used up.
 */
bool hs_producer_follow_hints(struct hs_producer *producer, const char *setting);

/*
 * Hides frames by prefixes (see profile/frame_filter.h), which must outlive the producer.  Once,
 * before the first record.  symbol_bytes: of symbol tables that may be kept in memory for this.
 * False: the arena is used up.
 */
bool hs_producer_filter(struct hs_producer *producer, const char *prefixes, size_t symbol_bytes);

/* While the books are full, samples with new stacks or labels are lost (lost_memory). */
void hs_producer_set_full(struct hs_producer *producer, bool is_full);

/* For an allocation or a free and its number. */
typedef void (*hs_producer_stream_fn)(uint64_t number, const struct hs_heap_event *event);

/*
 * Keeps no books: hands all allocations and frees on, in the order of their numbers, except those
 * that arrive after their number was given up.  Once, before the first record.
 * A fork may come during the call of stream(): everything that was taken is accounted for then.
 */
void hs_producer_stream_to(struct hs_producer *producer, hs_producer_stream_fn stream);

/* How files of names are read for profiles: hs_pauses.at_file. */
void hs_producer_pause_at_files(struct hs_producer *producer,
				void (*at_file)(enum hs_at_file what));

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

/* Has the books of each heap's peak kept too.  Before the first record. */
void hs_producer_keep_peak(struct hs_producer *producer);

/* Makes profiles those of differences: see profile/delta.h.  Before the first record. */
void hs_producer_write_deltas(struct hs_producer *producer, enum hs_delta_kind kind);

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
