/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sorts locations into the order that a profile has: by mapping (the main binary first, then by id,
 * pseudo frames last), and within one by address; equal ones stay as they are.
 *
 * Called on: the producer.  Allocates: never.
 */
#ifndef HS_PROFILE_LOCATION_SORT_H
#define HS_PROFILE_LOCATION_SORT_H

#include "base/pauses.h"
#include "profile/location_table.h"

struct hs_producer;

/* Sorts the numbers in ids.  Pauses between passes.  spare: room for count numbers. */
void hs_location_sort(const struct hs_producer *producer, uint32_t *ids, uint32_t *spare,
		      uint32_t count, struct hs_pauses *pauses);

#endif
