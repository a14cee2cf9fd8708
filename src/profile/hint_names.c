/* SPDX-License-Identifier: BSD-2-Clause */
/* Names by hints that came late.  See hint_names.h. */
#include "profile/hint_names.h"

#include <stdbool.h>

#include "base/arena.h"
#include "maps/map_hints.h"
#include "maps/mapping_store.h"
#include "profile/names.h"

struct hs_hint_names {
	struct hs_mapping_store store; /* of the hints; its ids are not the mapping table's */
	struct hs_map_hints *hints;
	struct hs_names names;
	uint64_t generation; /* of the hints, for the last profile */
};

struct hs_hint_names *hs_hint_names_create(const char *setting)
{
	struct hs_hint_names *hint_names = hs_arena_zalloc(sizeof *hint_names);

	if (hint_names == NULL)
		return NULL;
	hs_mapping_store_init(&hint_names->store);
	hint_names->hints = hs_map_hints_create(&hint_names->store, setting, true);
	if (hint_names->hints == NULL) {
		hs_hint_names_destroy(hint_names);
		return NULL;
	}
	/* Not yet from a file, which may be written later. */
	if (setting[0] != '@')
		hs_map_hints_follow(hint_names->hints);
	return hint_names;
}

void hs_hint_names_destroy(struct hs_hint_names *hint_names)
{
	if (hint_names == NULL)
		return;
	hs_names_fini(&hint_names->names);
	hs_map_hints_destroy(hint_names->hints);
	hs_mapping_store_fini(&hint_names->store);
	hs_arena_free(hint_names);
}

/* Of all locations: not each profile has all of them. */
static void forget_offsets(const struct hs_hint_names *hint_names,
			   const struct hs_location_table *locations)
{
	for (uint32_t i = 0; i < locations->interner.count; i++) {
		struct hs_location *location = hs_location_table_get(locations, i);

		if (hs_interner_is_used(&locations->interner, i) &&
		    location->mapping != HS_MAPPING_NONE && location->system_name == NULL &&
		    hs_map_hints_find(hint_names->hints, location->address) != HS_MAPPING_NONE)
			hs_location_set_name(location, NULL);
	}
}

void hs_hint_names_follow(struct hs_hint_names *hint_names,
			  const struct hs_location_table *locations)
{
	uint64_t generation;

	hs_map_hints_follow(hint_names->hints);
	generation = hs_map_hints_generation(hint_names->hints);
	/* The hint that a name was made by may be another now. */
	if (generation != hint_names->generation)
		forget_offsets(hint_names, locations);
	hint_names->generation = generation;
}

/* The mapping of the hint for the i-th location, or HS_MAPPING_NONE. */
static uint32_t find(const struct hs_hint_names *hint_names, const struct hs_location_run *run,
		     uint32_t i)
{
	return hs_map_hints_find(hint_names->hints, hs_location_run_get(run, i)->address);
}

void hs_hint_names_fill(struct hs_hint_names *hint_names, const struct hs_location_run *run,
			struct hs_pauses *pauses)
{
	uint32_t end;

	for (uint32_t from = 0; from < run->count; from = end) {
		uint32_t id = find(hint_names, run, from);
		struct hs_location_run hinted;

		end = from + 1;
		while (end < run->count && find(hint_names, run, end) == id)
			end++;
		if (id == HS_MAPPING_NONE)
			continue;
		hinted = (struct hs_location_run){run->table, run->ids + from, end - from};
		hs_names_fill(&hint_names->names, &hinted,
			      hs_mapping_store_get(&hint_names->store, id), id, pauses);
	}
}

void hs_hint_names_after_fork(struct hs_hint_names *hint_names, bool is_whole)
{
	hs_names_after_fork(&hint_names->names, is_whole);
}

void hs_hint_names_end_fill(struct hs_hint_names *hint_names)
{
	hs_names_end_fill(&hint_names->names);
}

const char *hs_hint_names_path(const struct hs_hint_names *hint_names, uint64_t address)
{
	uint32_t id = hs_map_hints_find(hint_names->hints, address);

	return id != HS_MAPPING_NONE ? hs_mapping_store_get(&hint_names->store, id)->path : NULL;
}
