/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Brings location numbers into the order in which a profile has them: mappings with
 * the main binary first and then by id, pseudo frames last; within one by address.
 * Threads: the producer.
 */
#ifndef HS_PROFILE_LOCATION_SORT_H
#define HS_PROFILE_LOCATION_SORT_H

#include "base/pauses.h"
#include "maps/mapping_table.h"
#include "profile/location_table.h"

/*
 * The mapping that a location is written under: its own (it may be one made up for
 * generated code), or HS_MAPPING_NONE (pseudo frames; one that the table does not know).
 */
uint32_t hs_location_mapping(const struct hs_mapping_table *table,
			     const struct hs_location *location);

/* Pauses between passes.  spare: room for count numbers. */
void hs_location_sort(uint32_t *ids, uint32_t *spare, uint32_t count,
		      const struct hs_location_table *locations,
		      const struct hs_mapping_table *table, struct hs_pauses *pauses);

#endif
