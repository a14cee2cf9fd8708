/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names locations, by all sources: map hints that came late, what JIT compilers tell, symbol
 * tables.  Threads: the producer, while it makes a snapshot.  Blocks: reads files.
 */
#ifndef HS_PROFILE_LOCATION_NAMES_H
#define HS_PROFILE_LOCATION_NAMES_H

#include "base/pauses.h"
#include "maps/mapping_table.h"
#include "profile/producer.h"

/* Name the count (at least 1) locations in ids, which are of one mapping and in ascending order. */
void hs_location_names_fill(struct hs_producer *producer, const struct hs_mapping_table *table,
			    const uint32_t *ids, uint32_t count, struct hs_pauses *pauses);

#endif
