/* SPDX-License-Identifier: BSD-2-Clause */
/* Merge sort of locations, bottom-up.  See location_sort.h. */
#include "profile/location_sort.h"

#include <stddef.h>
#include <string.h>

#include "profile/books.h"

/* Main binaries come before all others; HS_MAPPING_NONE, the highest id, comes last. */
static uint64_t rank(const struct hs_producer *producer, const struct hs_location *location)
{
	const struct hs_mapping *mapping =
		hs_mapping_table_get(producer->mappings, location->mapping);
	bool is_main = mapping != NULL && (mapping->flags & HS_MAPPING_MAIN) != 0;

	return (uint64_t)!is_main << 32 | location->mapping;
}

static bool is_after(const struct hs_producer *producer, uint32_t a, uint32_t b)
{
	const struct hs_location *first = hs_location_table_get(&producer->locations, a);
	const struct hs_location *second = hs_location_table_get(&producer->locations, b);
	uint64_t first_rank = rank(producer, first), second_rank = rank(producer, second);

	return first_rank != second_rank ? first_rank > second_rank
					 : first->address > second->address;
}

/* Merges from[0, middle) and from[middle, end) into to. */
static void merge(const struct hs_producer *producer, const uint32_t *from, uint32_t *to,
		  uint32_t middle, uint32_t end)
{
	uint32_t left = 0, right = middle;

	for (uint32_t i = 0; i < end; i++) {
		bool take_right = left == middle ||
				  (right < end && is_after(producer, from[left], from[right]));

		to[i] = take_right ? from[right++] : from[left++];
	}
}

static uint32_t at_most(uint64_t value, uint32_t limit)
{
	return value < limit ? (uint32_t)value : limit;
}

void hs_location_sort(const struct hs_producer *producer, uint32_t *ids, uint32_t *spare,
		      uint32_t count, struct hs_pauses *pauses)
{
	for (uint64_t run = 1; run < count; run *= 2) {
		for (uint64_t start = 0; start < count; start += 2 * run) {
			uint32_t middle = at_most(run, count - (uint32_t)start);
			uint32_t end = at_most(2 * run, count - (uint32_t)start);

			merge(producer, ids + start, spare + start, middle, end);
		}
		memcpy(ids, spare, count * sizeof *ids);
		hs_pauses_take(pauses);
	}
}
