/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the text of /proc/self/maps to the index of a mapping table.
 *
 * Threads: the unwinding worker.  Memory: the arena.
 */
#ifndef HS_MAPS_MAP_SCAN_H
#define HS_MAPS_MAP_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maps/address_range_map.h"
#include "maps/mapping_store.h"

struct hs_map_index {
	struct hs_address_range_map code;     /* executable; the value is a mapping's id */
	struct hs_address_range_map images;   /* of these, what an ELF image describes */
	struct hs_address_range_map readable; /* the value is as of hs_mapping_table_page_tag() */
	char *name; /* while it is built: of the current line, NUL-terminated */
	size_t name_capacity;
};

void hs_map_index_clear(struct hs_map_index *index);
void hs_map_index_fini(struct hs_map_index *index);
bool hs_map_index_equal(const struct hs_map_index *a, const struct hs_map_index *b);

/* What marks a mapping as the program's or as ours. */
struct hs_map_program {
	uint64_t device; /* of the program's file, as in the maps */
	uint64_t inode; /* 0 = unknown */
	uintptr_t own_address;
};

/*
 * Builds index (its old contents are dropped) from text; new mappings go into store,
 * known ones are looked for in the current index first; those not in it are there since
 * `closes` (hs_mapping_table_since()).  Counted: map_lines_skipped.
 * Returns 0 or -ENOMEM (index is then of no use).
 */
int hs_map_scan(struct hs_map_index *index, const char *text, size_t bytes,
		const struct hs_map_index *current, struct hs_mapping_store *store,
		const struct hs_map_program *program, uint32_t closes);

#endif
