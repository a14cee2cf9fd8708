/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The header of an .eh_frame_hdr section.
 * Source: Linux Standard Base, Core, "Exception Frame Header".
 *
 * Allocates: never.  Errno: preserved.
 */
#ifndef HS_UNWIND_EH_FRAME_HDR_H
#define HS_UNWIND_EH_FRAME_HDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maps/mapping_table.h"
#include "unwind/eh_frame_table.h"
#include "unwind/memory_cache.h"

/* The longest header: four bytes and two encoded numbers. */
#define HS_EH_FRAME_HDR_BYTES 20

/*
 * Parses the first bytes of a section that is at address 0.  bytes: how many of them are in header;
 * section_bytes: how long the section is.
 * Returns false if there is no search table of the usual forms (sorted pairs of 32-bit or 64-bit
 * numbers relative to the section).
 */
bool hs_eh_frame_hdr_parse(const uint8_t *header, size_t bytes, uint64_t section_bytes,
			   struct hs_search_table *table);

/* The same of a mapping's section, where it is.  Returns false also if it cannot be read. */
bool hs_eh_frame_hdr_read(struct hs_memory_cache *memory, const struct hs_mapping *mapping,
			  struct hs_search_table *table);

/*
 * Of a mapping's section that says that it has no search table: where .eh_frame begins; else 0.
 * GNU ld leaves the table out if it cannot read the .eh_frame of one of its inputs.
 */
uint64_t hs_eh_frame_hdr_without_table(struct hs_memory_cache *memory,
				       const struct hs_mapping *mapping);

#endif
