/* SPDX-License-Identifier: BSD-2-Clause */
/* See shown_mapping.h. */
#include "profile/shown_mapping.h"

#include <string.h>

/* Past all addresses that a program can have, of any machine. */
#define ADDRESS_LIMIT (UINT64_C(1) << 56)

struct hs_view_mapping hs_shown_mapping(const struct hs_mapping *mapping)
{
	struct hs_view_mapping shown = {
		.start = mapping->start,
		.limit = mapping->end,
		.offset = mapping->offset,
		.filename = mapping->path,
		.build_id = mapping->build_id,
	};

	if ((mapping->flags & HS_MAPPING_ANONYMOUS) != 0) {
		shown.start = 0;
		shown.limit = ADDRESS_LIMIT;
	}
	return shown;
}

uint32_t hs_shown_mapping_find(const struct hs_view_mapping *added, uint32_t count,
			       const struct hs_view_mapping *shown)
{
	uint32_t place = 0;

	if (shown->limit != ADDRESS_LIMIT)
		return count;
	while (place < count && (added[place].limit != ADDRESS_LIMIT ||
				 strcmp(added[place].filename, shown->filename) != 0))
		place++;
	return place;
}
