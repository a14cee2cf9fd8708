/* SPDX-License-Identifier: BSD-2-Clause */
/* A mapping table's index.  Run by the unwinding worker. */
#include "maps/map_index.h"

#include "base/arena.h"

void hs_map_index_fini(struct hs_map_index *index)
{
	hs_address_range_map_fini(&index->code);
	hs_address_range_map_fini(&index->images);
	hs_address_range_map_fini(&index->readable);
	hs_address_range_map_fini(&index->writable);
	hs_arena_free(index->name);
}

void hs_map_index_clear(struct hs_map_index *index)
{
	hs_address_range_map_clear(&index->code);
	hs_address_range_map_clear(&index->images);
	hs_address_range_map_clear(&index->readable);
	hs_address_range_map_clear(&index->writable);
}

bool hs_map_index_equal(const struct hs_map_index *a, const struct hs_map_index *b)
{
	return hs_address_range_map_equal(&a->code, &b->code) &&
	       hs_address_range_map_equal(&a->readable, &b->readable);
}
