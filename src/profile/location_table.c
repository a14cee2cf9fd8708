/* SPDX-License-Identifier: BSD-2-Clause */
/* Locations.  See location_table.h. */
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
				offsetof(struct hs_location, verdict));
}

void hs_location_table_fini(struct hs_location_table *table)
{
	for (uint32_t i = 0; i < table->interner.count; i++) {
		if (hs_interner_is_used(&table->interner, i))
			hs_location_set_name(hs_location_table_get(table, i), NULL);
	}
	hs_interner_fini(&table->interner);
}

uint32_t hs_location_table_intern(struct hs_location_table *table, struct hs_frame frame,
				  uint32_t code)
{
	struct hs_location location = {.code = code};

	frame = hs_location_frame(frame);
	location.address = frame.address;
	location.mapping = frame.mapping;
	if (location.mapping == HS_MAPPING_NONE)
		location.name = pseudo_names[location.address];
	return hs_interner_add(&table->interner, &location);
}

bool hs_location_table_learn_code(struct hs_location_table *table, struct hs_frame frame,
				  uint32_t code)
{
	const struct hs_location key = {.address = frame.address, .mapping = frame.mapping};
	uint32_t number = hs_interner_find(&table->interner, &key);
	struct hs_location *location;

	if (number == HS_INTERNER_NONE)
		return false;
	location = hs_location_table_get(table, number);
	if (location->later_code == 0)
		location->later_code = code;
	return location->later_code == code;
}

void hs_location_table_hold(struct hs_location_table *table, uint32_t location)
{
	hs_location_table_get(table, location)->holders++;
}

void hs_location_table_release(struct hs_location_table *table, uint32_t location)
{
	hs_location_table_get(table, location)->holders--;
	hs_location_table_settle(table, location);
}

void hs_location_table_settle(struct hs_location_table *table, uint32_t location)
{
	struct hs_location *settled = hs_location_table_get(table, location);

	if (settled->holders != 0)
		return;
	hs_location_set_name(settled, NULL);
	hs_interner_remove(&table->interner, location);
}

void hs_location_set_name(struct hs_location *location, struct hs_shared_name *name)
{
	hs_shared_name_hold(name);
	hs_shared_name_release(location->held_name);
	location->held_name = name;
	location->name = name != NULL ? name->name : NULL;
	location->system_name = name != NULL ? name->system_name : NULL;
}

void hs_location_set_lasting_name(struct hs_location *location, const char *name)
{
	hs_location_set_name(location, NULL);
	location->name = name;
}
