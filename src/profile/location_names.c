/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of locations from all sources.  See location_names.h. */
#include "profile/location_names.h"

#include "profile/books.h"

void hs_location_names_fill(struct hs_producer *producer, const uint32_t *ids, uint32_t count,
			    struct hs_pauses *pauses)
{
	const struct hs_mapping_table *table = producer->mappings;
	const struct hs_location_run run = {&producer->locations, ids, count};
	uint32_t id = hs_location_run_get(&run, 0)->mapping;
	const struct hs_mapping *mapping = hs_mapping_table_get(table, id);

	if (producer->hint_names != NULL && hs_mapping_table_is_anonymous(table, id))
		hs_hint_names_fill(producer->hint_names, &run, pauses);
	if (producer->jit_frames != NULL)
		hs_jit_frames_name(producer->jit_frames, &run, pauses);
	if (mapping != NULL)
		hs_names_fill(&producer->names, &run, mapping, id, pauses);
}
