/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A mapping as profiles show it.
 *
 * In pprof a mapping is known by size, offset and file, and a location by its distance from the
 * mapping's start: what is equal in two profiles, or two places in one, must be equal in these.  So
 * generated code, in memory that grows and of which there may be more, is in one mapping of all
 * addresses.
 *
 * Objects are shown by their code segment.  pprof finds code in a file by the offset, but the one
 * that comes with Go by the mapping's start alone, which it takes for the code segment's.
 */
#ifndef HS_PROFILE_SHOWN_MAPPING_H
#define HS_PROFILE_SHOWN_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "maps/mapping.h"
#include "output/profile_view.h"

/* Points to the mapping's names. */
struct hs_view_mapping hs_shown_mapping(const struct hs_mapping *mapping);

/* The place among those added before of the one of the same memory; `count` if there is none. */
uint32_t hs_shown_mapping_find(const struct hs_view_mapping *added, uint32_t count,
			       const struct hs_view_mapping *shown);

#endif
