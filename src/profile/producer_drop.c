/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes rows out of the books, with what they hold: spent ones, or all.  See producer.h.  Runs on
 * the producer.
 */
#include <string.h>

#include "profile/books.h"
#include "sample/heap.h"
#include "sample/live_set.h"

/* Releases what a row holds, which is about to be dropped. */
static void release_row(struct hs_producer *producer, uint32_t row)
{
	const struct hs_row_key *key = &hs_heap_tracker_row(&producer->tracker, row)->key;

	hs_callsite_trie_release(&producer->trie, key->callsite);
	hs_thread_names_release(&producer->threads, key->thread);
}

/* Trims all tables (base/interner.h).  There must be no snapshot. */
static void trim(struct hs_producer *producer)
{
	hs_commit_order_trim(&producer->order);
	hs_interner_trim(&producer->tracker.rows);
	hs_interner_trim(&producer->trie.interner);
	hs_interner_trim(&producer->locations.interner);
	hs_interner_trim(&producer->threads.names);
	hs_interner_trim(&producer->threads.tids);
	hs_stack_cache_empty(&producer->known_stacks);
	hs_delta_trim(&producer->delta, &producer->tracker.rows);
}

/* Whether nothing of a row is in use, and files have shown all of it. */
static bool is_spent(const struct hs_producer *producer, uint32_t number)
{
	const struct hs_row *row = hs_heap_tracker_row(&producer->tracker, number);
	const struct hs_row_totals *totals = &row->totals;
	struct hs_shown now;

	if (totals->allocated.objects != totals->freed.objects ||
	    number >= producer->delta.base_count)
		return false;
	hs_row_round(&row->key, totals, now.values);
	return memcmp(&now, &producer->delta.base[number], sizeof now) == 0;
}

/* Whether something of a row was in use at the peak: the peak's profile needs the row. */
static bool is_of_peak(const struct hs_producer *producer, uint32_t number)
{
	const struct hs_row_totals *totals = hs_peak_row(&producer->tracker.peak, number);

	return totals != NULL && totals->allocated.objects != totals->freed.objects;
}

static void drop(struct hs_producer *producer, uint32_t number)
{
	const struct hs_row *row = hs_heap_tracker_row(&producer->tracker, number);
	const struct hs_totals *totals = &row->totals.allocated;
	const unsigned __int128 allocated[2] = {totals->objects, totals->bytes};
	struct hs_delta *delta = &producer->delta;

	for (int i = 0; i < 2; i++) {
		int64_t shown = delta->base[number].values[i];

		delta->dropped[row->key.heap][i] += allocated[i];
		/* Unless files could not show it, the difference is small; its parts may not be. */
		if (shown != INT64_MAX)
			delta->carry[row->key.heap][i] += (int64_t)(
				(uint64_t)allocated[i] - (uint64_t)shown * HS_WEIGHT_ONE);
	}
	delta->base[number] = (struct hs_shown){{0}};
	release_row(producer, number);
	hs_heap_tracker_drop(&producer->tracker, number);
}

void hs_producer_drop_spent(struct hs_producer *producer, void (*pause)(void))
{
	struct hs_pauses pauses = {.pause = pause};
	uint32_t count = hs_heap_tracker_row_count(&producer->tracker);

	/* The lowest last: numbers dropped last are given out first, until the next trim. */
	for (uint32_t i = count; i-- > 0;) {
		if (hs_heap_tracker_has_row(&producer->tracker, i) && is_spent(producer, i) &&
		    !is_of_peak(producer, i))
			drop(producer, i);
		hs_pauses_count(&pauses);
	}
	hs_thread_names_forget_gone(&producer->threads, &pauses);
	trim(producer);
}

void hs_producer_forget_written(struct hs_producer *producer)
{
	struct hs_delta *delta = &producer->delta;

	delta->base_count = 0;
	delta->pending_count = 0;
	memset(delta->lost_base, 0, sizeof delta->lost_base);
	memset(delta->dropped, 0, sizeof delta->dropped);
	memset(delta->carry, 0, sizeof delta->carry);
}

static void release_rows(struct hs_producer *producer)
{
	uint32_t count = hs_heap_tracker_row_count(&producer->tracker);

	for (uint32_t row = 0; row < count; row++) {
		if (hs_heap_tracker_has_row(&producer->tracker, row))
			release_row(producer, row);
	}
}

int hs_producer_reset(struct hs_producer *producer)
{
	struct hs_pauses no_pauses = {.pause = NULL};
	struct hs_heap_tracker empty;
	int error = hs_heap_tracker_init(&empty, (producer->labels & HS_LABEL_SIZE) != 0);

	if (error != 0)
		return error;
	hs_live_set_clear_books(true);
	empty.keeps_peak = producer->tracker.keeps_peak;
	empty.lost_callsite = producer->tracker.lost_callsite;
	release_rows(producer);
	hs_heap_tracker_fini(&producer->tracker);
	producer->tracker = empty;
	hs_producer_forget_written(producer);
	for (uint32_t heap = 0; heap < HS_HEAP_LIMIT; heap++)
		hs_heap_forget_lost(heap);
	hs_thread_names_forget_gone(&producer->threads, &no_pauses);
	/* Twice: the first call keeps the room that was needed before. */
	trim(producer);
	trim(producer);
	return 0;
}
