/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of addresses. */
#include "maps/address_set.h"

#include <stddef.h>

void hs_address_set_fini(struct hs_address_set *set)
{
	hs_address_range_map_fini(&set->ranges);
}

void hs_address_set_clear(struct hs_address_set *set)
{
	hs_address_range_map_clear(&set->ranges);
}

int hs_address_set_add(struct hs_address_set *set, uint64_t start, uint64_t end)
{
	const struct hs_address_range *low, *high;

	if (start >= end)
		return 0;
	/* Those that hold the addresses right before and right behind it, if any. */
	low = hs_address_range_map_find(&set->ranges, start > 0 ? start - 1 : 0);
	high = hs_address_range_map_find(&set->ranges, end);
	if (low != NULL && low->start < start)
		start = low->start;
	if (high != NULL)
		end = high->end;
	return hs_address_range_map_trim_overlaps_and_emplace(&set->ranges, start, end, 0);
}

bool hs_address_set_contains(const struct hs_address_set *set, uint64_t address, uint64_t bytes)
{
	/* With too many bytes the end is below the address: an empty range. */
	return hs_address_range_map_find_containing(&set->ranges, address, address + bytes) != NULL;
}

bool hs_address_set_equal(const struct hs_address_set *a, const struct hs_address_set *b)
{
	return hs_address_range_map_equal(&a->ranges, &b->ranges);
}
