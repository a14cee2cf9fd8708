/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The books: takes unwound records and frees in any order, commits them strictly in
 * the order of their numbers, and keeps the totals per call site.
 *
 * Order.  Each event has a number of hs_sequence (sample/sequence.h); the producer
 * commits 1, 2, 3, ...  What arrives early waits in a window.  A number that does not
 * arrive is declared a gap (hs_producer_skip_gap) and counted; should it arrive later
 * it is applied then, so totals stay right and nothing ever stalls.
 *
 * Exactness.  Totals are sums of weights in fixed point (units of 1 / HS_WEIGHT_ONE,
 * 128 bits), so what an allocation adds to the in-use totals its free subtracts to
 * the last bit.  They become integers once, when a row is written: hs_row_round().
 *
 * Rows are keyed by call site and labels.  Totals never go back, and rows are never
 * dropped but where profiles are of differences (profile/delta.h).
 *
 * Threads: one (the producer thread), or none while it is quiesced.  Memory: the
 * arena; a sample that does not fit goes to the [lost] row, counted (lost_memory).
 */
#ifndef HS_PROFILE_PRODUCER_H
#define HS_PROFILE_PRODUCER_H

#include <stdbool.h>
#include <stdint.h>

#include "maps/mapping_table.h"
#include "unwind/unwound.h"

struct hs_producer;

/* labels: bits of enum hs_label.  NULL when the arena is used up. */
struct hs_producer *hs_producer_create(unsigned labels);

/*
 * Distinguishes generated code (see profile/jit_frames.h): once, before the first record.  Without
 * this a frame in generated code is known by its address alone.  Returns false when the arena is
 * used up.
 */
bool hs_producer_follow_code(struct hs_producer *producer, const struct hs_mapping_table *table,
			     unsigned sources, size_t most_bytes);

/* Whether a compiler has told of generated code: what is at an address may change at any time. */
bool hs_producer_knows_generated_code(const struct hs_producer *producer);

/* Records that follow may be newer than what compilers have been asked about generated code. */
void hs_producer_begin_batch(struct hs_producer *producer);

/*
 * Has map hints that come late give names too (see profile/hint_names.h): once, at start-up.
 * Returns false when the arena is used up.
 */
bool hs_producer_follow_hints(struct hs_producer *producer, const char *setting);

/*
 * Do not show what begins with one of these prefixes (see profile/frame_filter.h): once,
 * before the first record.  prefixes: must stay.  symbol_bytes: how much of symbol tables may
 * stay in memory for that.  Returns false when the arena is used up.
 */
bool hs_producer_filter(struct hs_producer *producer, const struct hs_mapping_table *table,
			const char *prefixes, size_t symbol_bytes);

/* An allocation or a free, for a stream. */
struct hs_streamed {
	bool is_free;     /* size and weight are 0 then */
	uint64_t number;  /* in the order of events */
	uint32_t heap;
	uint64_t address;
	uint64_t size;    /* requested bytes */
	uint64_t weight;  /* units of 1 / HS_WEIGHT_ONE */
	uint64_t time_ns; /* CLOCK_MONOTONIC_COARSE */
};
typedef void (*hs_producer_stream_fn)(const struct hs_streamed *event);

/*
 * Keep no books: hand all allocations and frees on, in the order of their numbers but for
 * those that come after theirs was given up.  Once, before the first record.
 * A fork may be let in during the call: everything that was taken is accounted for then.
 */
void hs_producer_stream_to(struct hs_producer *producer, hs_producer_stream_fn stream);

/* How many records behind the next one hs_producer_expect() may be told of. */
#define HS_PRODUCER_EXPECTED 2u

/*
 * Prefetches what a record will need that is taken soon.  To be called in the order of the records.
 * Keeps nothing of it but a hash.
 */
void hs_producer_expect(struct hs_producer *producer, const struct hs_unwound *record);

/* Take a record of the frame queue (its memory is the queue's). */
void hs_producer_take(struct hs_producer *producer, const struct hs_unwound *record);

/* Take all frees that the live set holds, committing what is in order.  Returns how many. */
uint32_t hs_producer_take_freed(struct hs_producer *producer);

/* Whether frees were committed since that no hs_producer_take_freed() has counted. */
bool hs_producer_has_taken_frees(const struct hs_producer *producer);

/* Commit what is in order.  Returns whether events are left that wait for a number. */
bool hs_producer_commit(struct hs_producer *producer);

/*
 * Commit all that has arrived of the events below a number, in order; what is missing of them
 * is declared lost.  Those from the number on may still be on their way.
 */
void hs_producer_commit_before(struct hs_producer *producer, uint64_t number);

/*
 * From now on only samples of this epoch (hs_epoch) are taken; all others are dropped and counted.
 * 0: all are.  Frees of samples in the books count in any case.
 */
void hs_producer_set_epoch(struct hs_producer *producer, uint32_t epoch);

/*
 * Empties the books: rows, samples in use, peaks and losses.  Frees of those samples will have no
 * effect.  Not while there is a snapshot.  0 or -ENOMEM; then the books are as before.
 */
int hs_producer_reset(struct hs_producer *producer);

/* Keep the books of each heap's peak too.  Before the first record. */
void hs_producer_keep_peak(struct hs_producer *producer);

/* Let profiles be of differences: see profile/delta.h.  Before the first record. */
void hs_producer_write_deltas(struct hs_producer *producer);

/*
 * The next profiles of differences have so many rows at most, 0: all; the rest is in those that
 * follow, and until then a profile is partial (struct hs_view).
 */
void hs_producer_bound_delta(struct hs_producer *producer, uint32_t rows);

/*
 * Makes the next profile of differences show all that is in the books: in a forked child, which
 * writes files of its own, or when the books are empty.  Neither allocates nor frees.
 */
void hs_producer_forget_written(struct hs_producer *producer);

/*
 * Removes the rows of which nothing is in use and that files of differences have shown completely,
 * except those in use at the peak.  Not while there is a snapshot.  In the pauses the producer can
 * go on with its records.
 */
void hs_producer_drop_spent(struct hs_producer *producer, void (*pause)(void *context),
			    void *pause_context);

/*
 * When the highest memory in use of a heap so far was reached, wall clock: 0 if nothing is
 * kept, or memory for it ran out.
 */
uint64_t hs_producer_peak_ns(const struct hs_producer *producer, uint32_t heap);

/* Estimated bytes in use of a heap, as far as the books are. */
uint64_t hs_producer_in_use_bytes(const struct hs_producer *producer, uint32_t heap);

/* The number waited for next. */
uint64_t hs_producer_next_number(const struct hs_producer *producer);

/*
 * Declare the number waited for, and those after it that have not arrived before the
 * first that has, lost; sweep the live set for frees that were never put on the list;
 * commit on.
 */
void hs_producer_skip_gap(struct hs_producer *producer);

#endif
