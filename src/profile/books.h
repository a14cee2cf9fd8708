/* SPDX-License-Identifier: BSD-2-Clause */
/* The producer's parts, for the files of this folder that work on the books. */
#ifndef HS_PROFILE_BOOKS_H
#define HS_PROFILE_BOOKS_H

#include "profile/callsite_trie.h"
#include "profile/commit_order.h"
#include "profile/delta.h"
#include "profile/frame_filter.h"
#include "profile/heap_tracker.h"
#include "profile/hint_names.h"
#include "profile/jit_frames.h"
#include "profile/location_table.h"
#include "profile/names.h"
#include "profile/producer.h"
#include "profile/stack_cache.h"
#include "profile/thread_names.h"
#include "profile/waiting_frees.h"
#include "sample/live_set.h"
#include "sample/sampler.h"

/* Freed slots whose rows are prefetched at a time. */
#define HS_FETCHED_FREES 64

/* A power of two. */
#define HS_PRODUCER_WEIGHERS 4u

/* Records that hs_producer_expect() keeps a hash of; a power of two. */
#define HS_EXPECTED_STACKS 4u

/* number: of the record; 0: none, or its stack may have generated code and is not hashed yet. */
struct hs_expected_stack {
	uint64_t number;
	struct hs_stack_hash hash;
};

struct hs_producer {
	struct hs_commit_order order;
	struct hs_waiting_frees frees;        /* frees that are too far ahead for `order` */
	uint64_t numbers_end;                 /* numbers below are known to be given out */
	uint64_t slots_fetched, rows_fetched; /* see fetch_journaled() */
	struct hs_heap_tracker tracker;
	const struct hs_mapping_table *mappings; /* the worker's */
	struct hs_callsite_trie trie;
	struct hs_location_table locations;
	struct hs_stack_cache known_stacks;
	struct hs_expected_stack expected[HS_EXPECTED_STACKS];
	uint32_t expected_count; /* so far; modulo HS_EXPECTED_STACKS the next one's place */
	struct hs_thread_names threads;
	struct hs_names names;
	struct hs_jit_frames *jit_frames; /* NULL: generated code is not told apart */
	struct hs_hint_names *hint_names; /* NULL: no hints can come late */
	struct hs_frame_filter filter;
	struct hs_delta delta;
	struct hs_snapshot *snapshot; /* the one being made or written; NULL: none */
	struct hs_weigher weighers[HS_PRODUCER_WEIGHERS]; /* by the interval's hash */
	unsigned labels; /* bits of enum hs_label */
	uint32_t epoch;  /* samples of other epochs are dropped; 0: all are */

	/*
	 * Slots taken off the freed list: first those of `fetched` from fetched_from on, then the
	 * rest in `freed`.  A fork may come between any two, so they are kept here.
	 */
	struct hs_freed_slots freed;
	uint32_t fetched[HS_FETCHED_FREES];
	uint32_t fetched_from, fetched_end;

	uint32_t journaled; /* frees of the journal since the last hs_producer_take_freed() */
	uint32_t uncounted; /* frees of the journal that are not in the heap's count yet */
	bool has_given_up;  /* a number, at any time: the journal may have late entries */
	bool has_to_sweep;  /* the last sweep could not give a number to some freed slots */
	hs_producer_stream_fn stream; /* NULL: the events go into the books */
	void (*at_file)(enum hs_at_file what); /* as hs_pauses has it */
};

/* Commits an event in its turn; at once if that is over, or the number was not given out. */
void hs_producer_put(struct hs_producer *producer, uint64_t number,
		     const struct hs_heap_event *event);

/* Commits the journal's entry at the number waited for.  False: there is none. */
bool hs_producer_commit_journaled(struct hs_producer *producer);

/*
 * Applies entries that were written into the journal after their numbers had been given up.  Looks
 * at a whole lap.
 */
void hs_producer_apply_late(struct hs_producer *producer);

/*
 * Gives up the sample of an abandoned record.  If the program has freed its address nevertheless,
 * the slot is on the freed list, or soon will be, and comes back from there.
 */
void hs_producer_give_up_slot(uint32_t slot, uint32_t generation);

#endif
