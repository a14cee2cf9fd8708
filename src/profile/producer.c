/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the books, and takes records.  See producer.h. */
#include "profile/producer.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/options.h"
#include "base/stats.h"
#include "profile/books.h"
#include "profile/intern_stack.h"
#include "sample/heap.h"
#include "sample/live_set.h"
#include "sample/sampler.h"

/* Makes a stack of one pseudo frame, which is kept for good. */
static uint32_t keep_pseudo(struct hs_producer *producer, enum hs_pseudo_frame pseudo)
{
	uint32_t callsite = hs_intern_pseudo_stack(producer, pseudo);

	if (callsite != HS_CALLSITE_NONE)
		hs_callsite_trie_hold(&producer->trie, callsite);
	return callsite;
}

static bool init_tables(struct hs_producer *producer, const struct hs_producer_setup *setup)
{
	int error = hs_commit_order_init(&producer->order);

	hs_waiting_frees_init(&producer->frees);
	hs_live_set_clear_books(false);
	if (error == 0)
		error = hs_heap_tracker_init(&producer->tracker,
					     (setup->labels & HS_LABEL_SIZE) != 0);
	if (error == 0)
		error = hs_location_table_init(&producer->locations);
	if (error == 0)
		error = hs_callsite_trie_init(&producer->trie, &producer->locations);
	if (error == 0)
		error = hs_stack_cache_init(&producer->known_stacks);
	if (error == 0)
		error = hs_thread_names_init(&producer->threads);
	if (error != 0)
		return false;
	producer->tracker.keeps_peak = setup->keeps_peak;
	/* Cannot fail: the tables have room for this. */
	producer->tracker.lost_callsite = keep_pseudo(producer, HS_PSEUDO_LOST);
	return true;
}

static bool is_set(const char *text)
{
	return text != NULL && text[0] != '\0';
}

static bool init_filter(struct hs_producer *producer, const struct hs_producer_setup *setup)
{
	struct hs_frame_filter *filter = &producer->filter;

	hs_names_set_kept(&producer->names, setup->symbol_bytes);
	filter->callsite = keep_pseudo(producer, HS_PSEUDO_FILTERED);
	if (filter->callsite == HS_CALLSITE_NONE)
		return false;
	filter->location = hs_callsite_trie_get(&producer->trie, filter->callsite)->location;
	filter->prefixes = setup->hidden;
	return true;
}

/* Where names come from, and which are hidden. */
static bool init_names(struct hs_producer *producer, const struct hs_producer_setup *setup)
{
	if (setup->jit_sources != 0) {
		producer->jit_frames = hs_jit_frames_create(setup->mappings, setup->jit_sources,
							    setup->jit_bytes);
		if (producer->jit_frames == NULL)
			return false;
	}
	if (is_set(setup->hints)) {
		producer->hint_names = hs_hint_names_create(setup->hints);
		if (producer->hint_names == NULL)
			return false;
	}
	return !is_set(setup->hidden) || init_filter(producer, setup);
}

/* Parts that were not made yet are all zero. */
static void destroy(struct hs_producer *producer)
{
	hs_commit_order_fini(&producer->order);
	hs_heap_tracker_fini(&producer->tracker);
	hs_stack_cache_fini(&producer->known_stacks);
	hs_callsite_trie_fini(&producer->trie);
	hs_location_table_fini(&producer->locations);
	hs_thread_names_fini(&producer->threads);
	hs_names_fini(&producer->names);
	hs_jit_frames_destroy(producer->jit_frames);
	hs_hint_names_destroy(producer->hint_names);
	hs_delta_fini(&producer->delta);
	hs_arena_free(producer);
}

struct hs_producer *hs_producer_create(const struct hs_producer_setup *setup)
{
	struct hs_producer *producer = hs_arena_zalloc(sizeof *producer);

	if (producer == NULL)
		return NULL;
	producer->mappings = setup->mappings;
	producer->labels = setup->labels;
	producer->delta.kind = setup->delta;
	producer->stream = setup->stream;
	producer->at_file = setup->at_file;
	producer->epoch = atomic_load_explicit(&hs_epoch, memory_order_relaxed);
	if (init_tables(producer, setup) && init_names(producer, setup))
		return producer;
	destroy(producer);
	return NULL;
}

bool hs_producer_knows_generated_code(const struct hs_producer *producer)
{
	return producer->jit_frames != NULL && hs_jit_frames_has_code(producer->jit_frames);
}

void hs_producer_begin_batch(struct hs_producer *producer)
{
	if (producer->jit_frames != NULL)
		hs_jit_frames_begin_batch(producer->jit_frames);
	hs_thread_names_begin_batch(&producer->threads);
}

void hs_producer_set_full(struct hs_producer *producer, bool is_full)
{
	producer->tracker.rows.is_full = is_full;
	producer->trie.interner.is_full = is_full;
	producer->locations.interner.is_full = is_full;
}

static void fill_labels(struct hs_producer *producer, const struct hs_unwound *record,
			struct hs_heap_event *event)
{
	if ((producer->labels & HS_LABEL_TID) != 0)
		event->tid = record->tid;
	if ((producer->labels & HS_LABEL_THREAD) != 0)
		event->thread = hs_thread_names_read(&producer->threads, record->tid);
}

static uint64_t weight_of(struct hs_producer *producer, const struct hs_unwound *record)
{
	/* Few intervals are in use at a time: each heap's, and the one that it had before. */
	uint64_t hash = record->interval_bytes * HS_HASH_FACTOR;
	struct hs_weigher *weigher = &producer->weighers[hash >> 32 & (HS_PRODUCER_WEIGHERS - 1)];

	return (record->flags & HS_RECORD_WEIGHED) != 0
		       ? record->weight
		       : hs_weigher_weight(weigher, record->size, record->interval_bytes);
}

static void take_allocation(struct hs_producer *producer, const struct hs_unwound *record)
{
	struct hs_heap_event event = {
		.kind = HS_HEAP_EVENT_ALLOCATION,
		.heap = record->heap,
		.epoch = record->epoch,
		.labels = record->labels,
		.size = record->size,
		.address = record->address,
		.time_ns = record->time_ns,
		.slot = record->slot,
		.generation = record->generation,
	};

	if (producer->stream != NULL) {
		event.weight = weight_of(producer, record);
		hs_producer_put(producer, record->sequence, &event);
		return;
	}
	if (record->frame_count > 0)
		event.callsite = hs_intern_stack(producer, record);
	else
		event.callsite = hs_intern_pseudo_stack(producer, HS_PSEUDO_UNKNOWN);
	/* Computed here, while the stack's node may be on its way into the cache. */
	event.weight = weight_of(producer, record);
	/* Without lock prefix, after which the processor would not load ahead. */
	hs_count_unshared(&hs_heaps[record->heap].sampled_bytes, record->size);
	if (event.callsite == HS_CALLSITE_NONE)
		event.callsite = producer->tracker.lost_callsite;
	hs_callsite_trie_hold(&producer->trie, event.callsite);
	hs_heap_tracker_fetch_row(&producer->tracker,
				  *hs_callsite_trie_row(&producer->trie, event.callsite));
	fill_labels(producer, record, &event);
	hs_producer_put(producer, record->sequence, &event);
}

void hs_producer_expect(struct hs_producer *producer, const struct hs_unwound *record)
{
	if (record->kind != HS_RECORD_ALLOCATION || record->sequence == 0 ||
	    producer->stream != NULL)
		return;
	hs_live_set_fetch_slot(record->slot);
	hs_intern_expect(producer, record);
}

void hs_producer_take(struct hs_producer *producer, const struct hs_unwound *record)
{
	static const struct hs_heap_event nothing = {.kind = HS_HEAP_EVENT_NOTHING};

	if (record->kind == HS_RECORD_ALLOCATION && record->sequence != 0) {
		take_allocation(producer, record);
		if (hs_frame_filter_is_on(&producer->filter))
			hs_frame_filter_took(producer);
		return;
	}
	hs_producer_give_up_slot(record->slot, record->generation);
	if (record->sequence != 0)
		hs_producer_put(producer, record->sequence, &nothing);
}

void hs_producer_set_epoch(struct hs_producer *producer, uint32_t epoch)
{
	producer->epoch = epoch;
}

void hs_producer_bound_delta(struct hs_producer *producer, uint32_t rows)
{
	producer->delta.most_rows = rows;
}

uint64_t hs_producer_peak_ns(const struct hs_producer *producer, uint32_t heap)
{
	return producer->tracker.peak.heaps[heap].time_ns;
}

bool hs_producer_has_lost_peak(const struct hs_producer *producer)
{
	return producer->tracker.peak.is_spoiled;
}

uint64_t hs_producer_in_use_bytes(const struct hs_producer *producer, uint32_t heap)
{
	return (uint64_t)(producer->tracker.in_use[heap].bytes >> HS_WEIGHT_SHIFT);
}
