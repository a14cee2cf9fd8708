/* SPDX-License-Identifier: BSD-2-Clause */
/* What a profile of the present books takes of the arena.  See snapshot.h. */
#include "output/profile_view.h"
#include "profile/books.h"
#include "profile/snapshot.h"

/* Of an array: the arena's blocks are up to a quarter larger than what is in them. */
#define ITEM_BYTES(type) (sizeof(type) * 5 / 4)

/* Of a name that is read for a profile, as long as C++ ones are; it stays in the books. */
#define NAME_BYTES 128

/* Buffers, mappings, texts of labels; and what the next records add to the books. */
#define OTHER_BYTES ((size_t)1 << 20)

/* Places for all nodes and locations, and what there is of each location. */
static size_t location_bytes(const struct hs_producer *producer)
{
	const struct hs_interner *locations = &producer->locations.interner;

	return (size_t)producer->trie.interner.count * 5 / 4 +
	       (size_t)locations->count * 3 * ITEM_BYTES(uint32_t) +
	       (size_t)locations->used * (ITEM_BYTES(struct hs_view_location) + NAME_BYTES +
					  HS_VIEW_LOCATION_BYTES);
}

/* The rows' next bases; and a larger table of bases, if there are rows that it has no room for. */
static size_t delta_bytes(const struct hs_producer *producer)
{
	const struct hs_interner *rows = &producer->tracker.rows;
	const struct hs_delta *delta = &producer->delta;
	size_t bytes = (size_t)rows->used * ITEM_BYTES(struct hs_shown_row);

	if (delta->kind == HS_DELTA_NONE)
		return 0;
	if (rows->count > delta->base_capacity)
		bytes += (size_t)rows->capacity * ITEM_BYTES(struct hs_shown);
	return bytes;
}

size_t hs_snapshot_bytes(const struct hs_producer *producer)
{
	size_t rows = producer->tracker.rows.used;
	size_t later = location_bytes(producer);

	/* Freed before there are locations. */
	if (hs_frame_filter_is_on(&producer->filter) && later < rows * HS_FILTERED_ROW_BYTES)
		later = rows * HS_FILTERED_ROW_BYTES;
	return rows * ITEM_BYTES(struct hs_view_row) + delta_bytes(producer) + later +
	       (size_t)producer->threads.names.used * HS_VIEW_TEXT_BYTES + OTHER_BYTES;
}
