/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The index of a mapping table: from addresses to what is there.
 *
 * Threads: the unwinding worker.  Memory: the arena.
 */
#ifndef HS_MAPS_MAP_INDEX_H
#define HS_MAPS_MAP_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "maps/address_range_map.h"

struct hs_map_index {
	struct hs_address_range_map code;     /* executable; the value is a mapping's id */
	struct hs_address_range_map images;   /* of these, what an ELF image describes */
	struct hs_address_range_map readable; /* the value is as of hs_mapping_table_page_tag() */
	struct hs_address_range_map writable; /* of these; the value is 0 */
	char *name; /* while it is built: of the current line, NUL-terminated */
	size_t name_capacity;
};

void hs_map_index_clear(struct hs_map_index *index);
void hs_map_index_fini(struct hs_map_index *index);

/* Whether each address means the same, whether it can be written to or not. */
bool hs_map_index_equal(const struct hs_map_index *a, const struct hs_map_index *b);

#endif
