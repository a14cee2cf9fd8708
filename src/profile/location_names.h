/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What locations are called in a profile: the mapping that they are written under, and their names
 * from all sources: map hints that came late, what compilers have told of generated code, symbol
 * tables.
 *
 * Called on: the producer, while it makes a snapshot.  Allocates: from the arena.  Blocks: reads
 * files.
 */
#ifndef HS_PROFILE_LOCATION_NAMES_H
#define HS_PROFILE_LOCATION_NAMES_H

#include "base/pauses.h"
#include "profile/location_table.h"
#include "profile/producer.h"

/*
 * The mapping that a location is written under: its own, which may be made up for generated code;
 * or HS_MAPPING_NONE, for pseudo frames and if the table does not have it.
 */
uint32_t hs_location_mapping(const struct hs_producer *producer,
			     const struct hs_location *location);

/*
 * Names them.  ids: of locations of one mapping, in ascending order of their addresses.  count: at
 * least 1.
 */
void hs_location_names_fill(struct hs_producer *producer, const uint32_t *ids, uint32_t count,
			    struct hs_pauses *pauses);

#endif
