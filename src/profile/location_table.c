/* SPDX-License-Identifier: BSD-2-Clause */
/* Locations.  Runs on the producer. */
#include "profile/location_table.h"

#include <stddef.h>

static const char *const pseudo_names[HS_PSEUDO_COUNT] = {
#define PSEUDO_NAME(name, text) [name] = text,
	HS_PSEUDO_FRAMES(PSEUDO_NAME)
#undef PSEUDO_NAME
};

int hs_location_table_init(struct hs_location_table *table)
{
	return hs_interner_init(&table->interner, sizeof(struct hs_location),
				offsetof(struct hs_location, name));
}

void hs_location_table_fini(struct hs_location_table *table)
{
	hs_interner_fini(&table->interner);
}

uint32_t hs_location_table_intern(struct hs_location_table *table, struct hs_frame frame,
				  uint32_t code)
{
	struct hs_location location = {
		.address = frame.address,
		.mapping = frame.mapping,
		.code = code,
	};

	if (frame.mapping == HS_MAPPING_UNKNOWN)
		location = (struct hs_location){ HS_PSEUDO_UNKNOWN, .mapping = HS_MAPPING_NONE };
	if (location.mapping == HS_MAPPING_NONE) {
		if (location.address >= HS_PSEUDO_COUNT)
			location.address = HS_PSEUDO_UNKNOWN;
		location.name = pseudo_names[location.address];
	}
	return hs_interner_add(&table->interner, &location);
}
