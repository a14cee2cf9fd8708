/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of locations from all sources: map hints that came late, what compilers have told of
 * generated code, symbol tables.
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
 * Names them.  ids: of locations of one mapping, in ascending order of their addresses.  count: at
 * least 1.
 */
void hs_location_names_fill(struct hs_producer *producer, const uint32_t *ids, uint32_t count,
			    struct hs_pauses *pauses);

#endif
