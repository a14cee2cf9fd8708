/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the tests of the books: samples, which are in the real live set. */
#ifndef HS_TESTS_PROFILE_TESTING_H
#define HS_TESTS_PROFILE_TESTING_H

#include <stdint.h>

#include "base/arena.h"
#include "base/options.h"
#include "base/stats.h"
#include "check.h"
#include "profile/books.h"
#include "profile/producer.h"
#include "sample/free_journal.h"
#include "sample/heap.h"
#include "sample/live_map.h"
#include "sample/live_set.h"
#include "sample/recorder.h"
#include "sample/sampler.h"
#include "sample_testing.h"

#define MIB ((size_t)1 << 20)
#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { FRAMES_MAX = 8 };

union test_record {
	struct hs_unwound head;
	unsigned char room[sizeof(struct hs_unwound) + FRAMES_MAX * sizeof(struct hs_frame)];
};

static inline void set_up(void)
{
	CHECK_INT(hs_arena_init(256 * MIB), 0);
#ifdef MAP_BYTES
	CHECK_INT(hs_live_map_init(MAP_BYTES), 0);
#endif
#ifdef JOURNAL
	CHECK_INT(hs_free_journal_init(JOURNAL), 0);
#endif
	CHECK_INT(live_init(1 << 17, 1 << 14), 0);
}

/* Creates a producer.  Numbers begin with 1 again. */
static inline struct hs_producer *new_producer_with(const struct hs_producer_setup *setup)
{
	struct hs_producer *producer = hs_producer_create(setup);

	hs_sequence.next = 1;
	hs_heap_forget_lost(HS_HEAP_MALLOC);
	if (producer == NULL)
		exit(99);
	return producer;
}

/* One of books alone.  mappings: NULL if no profile is made. */
static inline struct hs_producer *new_producer(const struct hs_mapping_table *mappings,
					       unsigned labels)
{
	return new_producer_with(&(struct hs_producer_setup){
		.mappings = mappings,
		.labels = labels,
	});
}

/* Makes a sample of a heap.  Its stack has two frames; the inner one is different for each site. */
static inline union test_record allocate_in(uint32_t heap, uint64_t id, uint64_t size,
					     uint64_t interval, uint64_t site)
{
	union test_record record = {.head = {
		.size = size,
		.interval_bytes = interval,
		.epoch = 1,
		.kind = HS_RECORD_ALLOCATION,
		.heap = (uint8_t)heap,
		.frame_count = 2,
	}};
	struct hs_taken_slot taken = { 0 };

	CHECK(hs_live_set_take(&taken));
	CHECK(hs_live_set_insert_id(&taken, heap, id));
	record.head.slot = taken.slot;
	record.head.generation = taken.generation;
	record.head.sequence = hs_sequence.next++;
	record.head.frames[0] = (struct hs_frame){ 0x1000 + site, 0 };
	record.head.frames[1] = (struct hs_frame){ 0x500, 0 };
	return record;
}

static inline union test_record allocate(uint64_t address, uint64_t size, uint64_t interval,
					  uint64_t site)
{
	return allocate_in(HS_HEAP_MALLOC, address, size, interval, site);
}

static inline void take(struct hs_producer *producer, const union test_record *record)
{
	hs_producer_take(producer, &record->head);
}

static inline void release(uint64_t address)
{
	CHECK(live_free((void *)(uintptr_t)address));
}

/* Sums of all rows, in units of 1 / HS_WEIGHT_ONE. */
struct sums {
	unsigned __int128 objects, bytes, inuse_objects, inuse_bytes;
};

static inline struct sums sum_rows(const struct hs_producer *producer)
{
	struct sums sums = { 0 };

	for (uint32_t i = 0; i < hs_heap_tracker_row_count(&producer->tracker); i++) {
		const struct hs_row *row = hs_heap_tracker_row(&producer->tracker, i);

		sums.objects += row->totals.allocated.objects;
		sums.bytes += row->totals.allocated.bytes;
		sums.inuse_objects += row->totals.allocated.objects - row->totals.freed.objects;
		sums.inuse_bytes += row->totals.allocated.bytes - row->totals.freed.bytes;
	}
	return sums;
}

/*
 * Checks the counts of holders: a node is held by its children, by the rows of its stack and by
 * being pinned; a location by its nodes and its verdict.  To be called when no event is on its way
 * and there is no snapshot.
 */
static inline void check_holders(const struct hs_producer *producer)
{
	const struct hs_interner *nodes = &producer->trie.interner;
	const struct hs_interner *places = &producer->locations.interner;
	const struct hs_interner *rows = &producer->tracker.rows;
	uint32_t *node_holders = calloc(nodes->count, sizeof *node_holders);
	uint32_t *place_holders = calloc(places->count, sizeof *place_holders);

	node_holders[producer->tracker.lost_callsite]++;
	if (hs_frame_filter_is_on(&producer->filter))
		node_holders[producer->filter.callsite]++;
	for (uint32_t i = 0; i < rows->count; i++) {
		if (hs_interner_is_used(rows, i))
			node_holders[hs_heap_tracker_row(&producer->tracker, i)->key.callsite]++;
	}
	for (uint32_t i = 1; i < nodes->count; i++) {
		const struct hs_callsite *site = hs_callsite_trie_get(&producer->trie, i);

		if (hs_interner_is_used(nodes, i)) {
			node_holders[site->parent]++;
			place_holders[site->location]++;
		}
	}
	for (uint32_t i = 0; i < nodes->count; i++) {
		CHECK_INT(i != HS_CALLSITE_ROOT && hs_interner_is_used(nodes, i),
			  i != HS_CALLSITE_ROOT && node_holders[i] != 0);
		if (hs_interner_is_used(nodes, i))
			CHECK_INT(hs_callsite_trie_get(&producer->trie, i)->holders,
				  node_holders[i]);
	}
	for (uint32_t i = 0; i < places->count; i++) {
		const struct hs_location *place = hs_location_table_get(&producer->locations, i);
		bool used = hs_interner_is_used(places, i);

		place_holders[i] += used && place->verdict == HS_VERDICT_HIDDEN;
		CHECK_INT(used, place_holders[i] != 0);
		if (used)
			CHECK_INT(place->holders, place_holders[i]);
	}
	free(node_holders);
	free(place_holders);
}

static inline void check_sums(const struct hs_producer *producer, uint64_t objects, uint64_t bytes,
			      uint64_t inuse_objects, uint64_t inuse_bytes)
{
	struct sums sums = sum_rows(producer);

	CHECK(sums.objects == (unsigned __int128)objects << HS_WEIGHT_SHIFT);
	CHECK(sums.bytes == (unsigned __int128)bytes << HS_WEIGHT_SHIFT);
	CHECK(sums.inuse_objects == (unsigned __int128)inuse_objects << HS_WEIGHT_SHIFT);
	CHECK(sums.inuse_bytes == (unsigned __int128)inuse_bytes << HS_WEIGHT_SHIFT);
}

#endif
