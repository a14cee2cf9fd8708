/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of a profile.  Runs on the producer. */
#include "profile/snapshot_rows.h"

#include "base/arena.h"
#include "base/options.h"
#include "profile/books.h"
#include "sample/heap.h"
#include "sample/sampler.h"

static int64_t round_weight(unsigned __int128 weight)
{
	unsigned __int128 rounded = (weight + HS_WEIGHT_ONE / 2) >> HS_WEIGHT_SHIFT;

	return rounded > INT64_MAX ? INT64_MAX : (int64_t)rounded;
}

/* What the profile calls a heap: nothing, for malloc's. */
static const char *heap_label(uint32_t heap)
{
	return heap == HS_HEAP_MALLOC ? NULL : hs_heaps[heap].name;
}

static void copy_row(struct hs_producer *producer, const struct hs_row *row,
		     const struct hs_row_totals *totals, struct hs_view_row *out)
{
	hs_callsite_trie_hold(&producer->trie, row->key.callsite);
	*out = (struct hs_view_row){
		.values =
			{
				round_weight(totals->allocated.objects),
				round_weight(totals->allocated.bytes),
				round_weight(totals->allocated.objects - totals->freed.objects),
				round_weight(totals->allocated.bytes - totals->freed.bytes),
			},
		.callsite = row->key.callsite,
		.has_size = (producer->labels & HS_LABEL_SIZE) != 0,
		.has_tid = (producer->labels & HS_LABEL_TID) != 0,
		.size = row->key.size,
		.tid = row->key.tid,
		.thread = hs_thread_names_text(&producer->threads, row->key.thread),
		.heap = heap_label(row->key.heap),
	};
}

/* Returns whether anything was lost of a heap. */
static bool make_lost_row(struct hs_producer *producer, uint32_t heap, struct hs_view_row *out)
{
	const struct hs_lost *lost = &hs_heaps[heap].lost;
	/* Relaxed: sums that others go on with. */
	uint64_t objects = atomic_load_explicit(&lost->objects_weight, memory_order_relaxed);
	uint64_t bytes = atomic_load_explicit(&lost->bytes, memory_order_relaxed);

	*out = (struct hs_view_row){
		.values = {round_weight(objects), bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes},
		.callsite = producer->lost_callsite,
		.heap = heap_label(heap),
	};
	if (out->values[0] == 0 && out->values[1] == 0)
		return false;
	hs_callsite_trie_hold(&producer->trie, out->callsite);
	return true;
}

/* The totals to be shown of a row, or NULL. */
static const struct hs_row_totals *totals_of(const struct hs_producer *producer, uint32_t number,
					     uint32_t peak_heap)
{
	const struct hs_row *row = hs_heap_tracker_row(&producer->tracker, number);

	if (peak_heap == HS_HEAP_NONE)
		return &row->totals;
	return row->key.heap == peak_heap ? hs_peak_row(&producer->tracker.peak, number) : NULL;
}

struct hs_view_row *hs_snapshot_rows_copy(struct hs_producer *producer, uint32_t peak_heap,
					  uint32_t *count)
{
	uint32_t kept = hs_heap_tracker_row_count(&producer->tracker);
	struct hs_view_row *rows = hs_arena_alloc(((size_t)kept + HS_HEAP_LIMIT) * sizeof *rows);

	*count = 0;
	if (rows == NULL)
		return NULL;
	for (uint32_t i = 0; i < kept; i++) {
		const struct hs_row_totals *totals = totals_of(producer, i, peak_heap);

		if (totals != NULL)
			copy_row(producer, hs_heap_tracker_row(&producer->tracker, i), totals,
				 &rows[(*count)++]);
	}
	for (uint32_t heap = 0; heap < HS_HEAP_LIMIT; heap++) {
		if (peak_heap == HS_HEAP_NONE || peak_heap == heap)
			*count += make_lost_row(producer, heap, &rows[*count]);
	}
	return rows;
}
