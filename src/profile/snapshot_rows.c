/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of a profile.  See snapshot_rows.h. */
#include "profile/snapshot_rows.h"

#include "base/arena.h"
#include "base/options.h"
#include "profile/books.h"
#include "sample/heap.h"
#include "sample/labels.h"
#include "sample/sampler.h"

_Static_assert(HS_LABELS_MAX == HS_VIEW_LABELS, "a row has all labels");

/* A heap's label in profiles; NULL, malloc's: none. */
static const char *heap_label(uint32_t heap)
{
	return heap == HS_HEAP_MALLOC ? NULL : hs_heaps[heap].name;
}

static void copy_row(const struct hs_producer *producer, const struct hs_row *row,
		     const struct hs_row_totals *totals, struct hs_view_row *out)
{
	*out = (struct hs_view_row){
		.callsite = row->key.callsite,
		.heap_number = (uint8_t)row->key.heap,
		.has_size = (producer->labels & HS_LABEL_SIZE) != 0,
		.has_tid = (producer->labels & HS_LABEL_TID) != 0,
		.size = row->key.size,
		.tid = row->key.tid,
		.thread = hs_thread_names_text(&producer->threads, row->key.thread),
		.heap = heap_label(row->key.heap),
		.labels = hs_labels_text(row->key.labels),
	};
	hs_row_round(&row->key, totals, out->values);
}

/*
 * Makes the [lost] row of a heap.  Whether anything was lost.  In use counts only what the books
 * had no memory for: of samples that never came to them the frees are not known.  Allocated counts
 * all losses up to now, in the profile of a peak too.
 */
static bool make_lost_row(const struct hs_producer *producer, uint32_t heap, bool at_peak,
			  struct hs_view_row *out)
{
	const struct hs_heap_tracker *tracker = &producer->tracker;
	const struct hs_totals *in_use =
		at_peak ? &tracker->lost_at_peak[heap] : &tracker->lost_in_use[heap];
	/* Relaxed: sums that threads go on adding to; nothing depends on them. */
	uint64_t bytes = atomic_load_explicit(&hs_heaps[heap].lost.bytes, memory_order_relaxed);

	*out = (struct hs_view_row){
		.values = {hs_weight_round(hs_heap_lost_weight(heap)),
			   bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes,
			   hs_weight_round(in_use->objects), hs_weight_round(in_use->bytes)},
		.callsite = tracker->lost_callsite,
		.heap_number = (uint8_t)heap,
		.heap = heap_label(heap),
	};
	return out->values[0] != 0 || out->values[1] != 0;
}

/* The totals of a row that are to be in the profile; NULL: the row is not. */
static const struct hs_row_totals *totals_of(const struct hs_producer *producer, uint32_t number,
					     uint32_t peak_heap)
{
	const struct hs_row *row = hs_heap_tracker_row(&producer->tracker, number);

	if (!hs_heap_tracker_has_row(&producer->tracker, number))
		return NULL;
	if (peak_heap == HS_HEAP_NONE)
		return &row->totals;
	return row->key.heap == peak_heap ? hs_peak_row(&producer->tracker.peak, number) : NULL;
}

static void add_up(struct hs_view_heap *heaps, const struct hs_view_row *row)
{
	int64_t *sums = heaps[row->heap_number].sums;

	for (int i = 0; i < HS_VIEW_VALUES; i++)
		hs_view_add(&sums[i], row->values[i]);
}

/* differences: HEAPSAMPLE_DELTA.  rows: room for all of them.  Returns how many there are. */
static uint32_t copy_all(struct hs_producer *producer, uint32_t peak_heap, bool differences,
			 struct hs_view_row *rows, struct hs_view_heap *heaps)
{
	struct hs_delta *delta = &producer->delta;
	uint32_t numbers = hs_heap_tracker_row_count(&producer->tracker), count = 0;

	for (uint32_t i = 0; i < numbers; i++) {
		const struct hs_row_totals *totals = totals_of(producer, i, peak_heap);

		if (totals == NULL)
			continue;
		copy_row(producer, hs_heap_tracker_row(&producer->tracker, i), totals,
			 &rows[count]);
		add_up(heaps, &rows[count]);
		count += !differences ||
			 hs_delta_subtract(delta, i, rows[count].heap_number, rows[count].values);
	}
	for (uint32_t heap = 0; heap < HS_HEAP_LIMIT; heap++) {
		if ((peak_heap != HS_HEAP_NONE && peak_heap != heap) ||
		    !make_lost_row(producer, heap, peak_heap != HS_HEAP_NONE, &rows[count]))
			continue;
		add_up(heaps, &rows[count]);
		count += !differences || hs_delta_subtract_lost(delta, heap, rows[count].values);
	}
	return count;
}

struct hs_view_row *hs_snapshot_rows_copy(struct hs_producer *producer, uint32_t peak_heap,
					  uint32_t *count, struct hs_view_heap *heaps)
{
	const struct hs_interner *table = &producer->tracker.rows;
	bool differences = hs_delta_of(&producer->delta, peak_heap) != HS_DELTA_NONE;
	uint32_t most = differences ? hs_delta_rows(&producer->delta, table) : table->used;
	struct hs_view_row *rows = hs_arena_alloc(((size_t)most + HS_HEAP_LIMIT) * sizeof *rows);

	*count = 0;
	if (rows != NULL && differences &&
	    !hs_delta_begin(&producer->delta, table)) {
		hs_arena_free(rows);
		rows = NULL;
	}
	if (rows == NULL)
		return NULL;
	*count = copy_all(producer, peak_heap, differences, rows, heaps);
	if (differences)
		hs_delta_add_dropped(&producer->delta, heaps);
	for (uint32_t i = 0; i < *count; i++)
		hs_callsite_trie_hold(&producer->trie, rows[i].callsite);
	return rows;
}
