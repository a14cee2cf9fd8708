/* SPDX-License-Identifier: BSD-2-Clause */
/* The books: rows and live samples.  See heap_tracker.h. */
#include "profile/heap_tracker.h"

#include <string.h>

#include "base/hash.h"
#include "base/likely.h"
#include "base/sys.h"
#include "sample/heap.h"
#include "sample/live_set.h"
#include "sample/sampler.h"

/* Larger sizes are rounded down in the size label. */
#define EXACT_SIZE_MAX 128

/* Row numbers from here on stand, in a book, for no row: one for each heap. */
#define LOST_ROWS (UINT32_MAX - HS_HEAP_LIMIT)

static uint64_t rounding_hash = 1;

int hs_heap_tracker_init(struct hs_heap_tracker *tracker, bool label_sizes)
{
	*tracker = (struct hs_heap_tracker){.label_sizes = label_sizes};
	return hs_interner_init(&tracker->rows, sizeof(struct hs_row), sizeof(struct hs_row_key));
}

void hs_heap_tracker_fini(struct hs_heap_tracker *tracker)
{
	hs_interner_fini(&tracker->rows);
	hs_peak_fini(&tracker->peak);
	*tracker = (struct hs_heap_tracker){0};
}

uint64_t hs_heap_tracker_size_bucket(uint64_t size)
{
	if (size <= EXACT_SIZE_MAX)
		return size;
	return size & ~(((uint64_t)1 << (61 - __builtin_clzll(size))) - 1);
}

static struct hs_row *row_of(const struct hs_heap_tracker *tracker, uint32_t row)
{
	return hs_interner_item(&tracker->rows, row);
}

void hs_heap_tracker_fetch_row_of(const struct hs_heap_tracker *tracker, uint32_t slot)
{
	const struct hs_book *book = hs_live_set_book(slot);

	/* Nor if the book has no sample: row is 0 then. */
	if (book->row - 1 < LOST_ROWS)
		hs_heap_tracker_fetch_row(tracker, book->row - 1);
}

void hs_heap_tracker_fetch_row(const struct hs_heap_tracker *tracker, uint32_t row)
{
	const struct hs_row *fetched;

	if (row >= hs_heap_tracker_row_count(tracker))
		return;
	fetched = row_of(tracker, row);
	__builtin_prefetch(fetched, 1);
	__builtin_prefetch(&fetched->totals.freed.bytes, 1);
}

static void add(struct hs_totals *totals, uint64_t size, uint64_t weight)
{
	totals->objects += weight;
	totals->bytes += (unsigned __int128)weight * size;
}

static struct hs_row_totals *totals_to_change(struct hs_heap_tracker *tracker, uint32_t row)
{
	struct hs_row *changed = row_of(tracker, row);

	if (tracker->keeps_peak)
		hs_peak_note(&tracker->peak, changed->key.heap, row);
	return &changed->totals;
}

static bool is_row(const struct hs_heap_tracker *tracker, uint32_t row,
		   const struct hs_row_key *key)
{
	return row < hs_heap_tracker_row_count(tracker) && hs_heap_tracker_has_row(tracker, row) &&
	       memcmp(&row_of(tracker, row)->key, key, sizeof *key) == 0;
}

/*
 * The row of a sample, which *row is a guess at, and is set to.  HS_INTERNER_NONE: there is no
 * memory for one.
 */
static uint32_t find_row(struct hs_heap_tracker *tracker, const struct hs_heap_event *event,
			 uint32_t *row)
{
	uint32_t number;
	struct hs_row sample_row = {
		.key = {
			.size = tracker->label_sizes ? hs_heap_tracker_size_bucket(event->size) : 0,
			.callsite = event->callsite,
			.tid = event->tid,
			.thread = event->thread,
			.heap = event->heap,
			.labels = event->labels,
		}};

	if (hs_likely(is_row(tracker, *row, &sample_row.key)))
		return *row;
	if (event->callsite == tracker->lost_callsite)
		return HS_INTERNER_NONE;
	number = hs_interner_add(&tracker->rows, &sample_row);
	if (number != HS_INTERNER_NONE)
		*row = number;
	return number;
}

/* Adds a sample to its row, or to its heap's losses.  Returns the row number for its book. */
static uint32_t add_to_row(struct hs_heap_tracker *tracker, const struct hs_heap_event *event,
			   uint32_t *row)
{
	uint32_t number = find_row(tracker, event, row);

	if (hs_likely(number != HS_INTERNER_NONE)) {
		add(&totals_to_change(tracker, number)->allocated, event->size, event->weight);
		return number;
	}
	hs_heap_lose(event->heap, event->size, event->weight);
	hs_heap_add(event->heap, lost_memory, 1);
	return LOST_ROWS + event->heap;
}

static void subtract(struct hs_totals *totals, uint64_t size, uint64_t weight)
{
	totals->objects -= weight;
	totals->bytes -= (unsigned __int128)weight * size;
}

/* The sample of a book was freed. */
static void close_book(struct hs_heap_tracker *tracker, struct hs_book *book)
{
	uint32_t row = book->row - 1, heap;

	if (hs_unlikely(row >= LOST_ROWS)) {
		heap = row - LOST_ROWS;
		subtract(&tracker->lost_in_use[heap], book->size, book->weight);
	} else {
		heap = row_of(tracker, row)->key.heap;
		add(&totals_to_change(tracker, row)->freed, book->size, book->weight);
	}
	subtract(&tracker->in_use[heap], book->size, book->weight);
	book->row = 0;
}

static void open_book(struct hs_heap_tracker *tracker, struct hs_book *book,
		      const struct hs_heap_event *event, uint32_t *row)
{
	uint32_t number = add_to_row(tracker, event, row);

	add(&tracker->in_use[event->heap], event->size, event->weight);
	if (hs_unlikely(number >= LOST_ROWS))
		add(&tracker->lost_in_use[event->heap], event->size, event->weight);
	*book = (struct hs_book){
		.size = event->size,
		.weight = event->weight,
		.generation = event->generation,
		.row = number + 1,
	};
}

/* The sample's free has been applied already, or cannot come. */
static void add_freed(struct hs_heap_tracker *tracker, const struct hs_heap_event *event,
		      uint32_t *row)
{
	uint32_t number = add_to_row(tracker, event, row);

	if (hs_likely(number < LOST_ROWS))
		add(&totals_to_change(tracker, number)->freed, event->size, event->weight);
}

static void apply_allocation(struct hs_heap_tracker *tracker, const struct hs_heap_event *event,
			     uint32_t *row)
{
	struct hs_book *book;

	if (event->slot >= hs_live_set_capacity() ||
	    hs_live_set_generation(event->slot) != event->generation) {
		add_freed(tracker, event, row);
		return;
	}
	book = hs_live_set_book(event->slot);
	if (book->row != 0) {
		if (book->generation == event->generation)
			return; /* the record came twice */
		close_book(tracker, book);
	}
	open_book(tracker, book, event, row);
}

void hs_heap_tracker_allocated(struct hs_heap_tracker *tracker, const struct hs_heap_event *event,
			       uint32_t *row)
{
	unsigned __int128 in_use;

	apply_allocation(tracker, event, row);
	in_use = tracker->in_use[event->heap].bytes;
	if (!tracker->keeps_peak || in_use <= tracker->peak.heaps[event->heap].bytes)
		return;
	hs_peak_follow(&tracker->peak, event->heap, in_use, hs_sys_realtime_ns(), &tracker->rows);
	tracker->lost_at_peak[event->heap] = tracker->lost_in_use[event->heap];
}

void hs_heap_tracker_freed(struct hs_heap_tracker *tracker, const struct hs_heap_event *event)
{
	struct hs_book *book = hs_live_set_book(event->slot);

	if (book->row != 0 && book->generation == event->generation)
		close_book(tracker, book);
	hs_live_set_recycle(event->slot, event->generation);
}

void hs_row_seed(uint64_t seed)
{
	rounding_hash = hs_hash_bytes(1, &seed, sizeof seed);
}

void hs_row_round(const struct hs_row_key *key, const struct hs_row_totals *totals,
		  int64_t values[HS_VIEW_VALUES])
{
	uint64_t bias = hs_hash_bytes(rounding_hash, key, sizeof *key) >> (64 - HS_WEIGHT_SHIFT);

	values[0] = hs_weight_cut(totals->allocated.objects, bias);
	values[1] = hs_weight_cut(totals->allocated.bytes, bias);
	values[2] = hs_weight_cut(totals->allocated.objects - totals->freed.objects, bias);
	values[3] = hs_weight_cut(totals->allocated.bytes - totals->freed.bytes, bias);
}

void hs_heap_tracker_drop(struct hs_heap_tracker *tracker, uint32_t row)
{
	if (tracker->keeps_peak)
		hs_peak_forget(&tracker->peak, row_of(tracker, row)->key.heap, row);
	hs_interner_remove(&tracker->rows, row);
}
