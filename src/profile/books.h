/* SPDX-License-Identifier: BSD-2-Clause */
/* The producer's state, for the files of this folder that implement it.  Threads: the producer. */
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

/* So many freed slots at a time. */
#define HS_FETCHED_FREES 64

/* A power of two. */
#define HS_PRODUCER_WEIGHERS 4u

/* How many records may be looked at ahead; a power of two. */
#define HS_EXPECTED_STACKS 4u

/* number: of the record; 0: none, or one whose stack is not told by its frames alone. */
struct hs_expected_stack {
	uint64_t number;
	struct hs_stack_hash hash;
};

struct hs_producer {
	struct hs_commit_order order;
	struct hs_waiting_frees frees; /* too far ahead for `order` */
	uint64_t numbers_end;          /* numbers below have been given out */
	uint64_t slots_fetched, rows_fetched; /* numbers below were looked at in the journal */
	struct hs_heap_tracker tracker;
	struct hs_callsite_trie trie;
	struct hs_location_table locations;
	struct hs_stack_cache known_stacks;
	struct hs_expected_stack expected[HS_EXPECTED_STACKS];
	uint32_t expected_count; /* ever: the next one's place */
	struct hs_thread_names threads;
	struct hs_names names;
	struct hs_jit_frames *jit_frames; /* NULL: generated code is not told apart */
	struct hs_hint_names *hint_names; /* NULL: no hints can come late */
	struct hs_frame_filter filter;
	struct hs_delta delta;
	struct hs_snapshot_view *snapshot; /* that is being made or written; NULL: none */
	struct hs_weigher weighers[HS_PRODUCER_WEIGHERS]; /* by the interval's hash */
	unsigned labels;        /* bits of enum hs_label */
	uint32_t epoch;         /* samples of another are dropped; 0: all are */
	struct hs_freed_slots freed; /* the rest of what was taken off the freed list */
	uint32_t fetched[HS_FETCHED_FREES]; /* before that rest; a fork may come between any two */
	uint32_t fetched_from, fetched_end;
	uint32_t journaled; /* frees of the journal, to be told of by hs_producer_take_freed() */
	uint32_t uncounted; /* those that are not in the heap's count yet */
	bool has_given_up;  /* a number, at any time: the journal may have late ones */
	bool has_to_sweep;  /* freed slots that the last sweep could not give a number */
	hs_producer_stream_fn stream; /* NULL: the events go into the books */
};

/* Commits an event in its turn; at once if that has passed, or it has no number. */
void hs_producer_put(struct hs_producer *producer, uint64_t number,
		     const struct hs_heap_event *event);

/* If the next event is a free in the journal, commits it; whether it was. */
bool hs_producer_commit_journaled(struct hs_producer *producer);

/* Finds entries that were written after their numbers were given up: looks at a lap. */
void hs_producer_apply_late(struct hs_producer *producer);

/*
 * Gives up the sample of an abandoned record.  If the program has freed its address, the slot is on
 * the freed list, or soon will be, and comes back from there.
 */
void hs_producer_give_up_slot(uint32_t slot, uint32_t generation);

#endif
