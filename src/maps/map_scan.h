/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the text of /proc/self/maps to the index of a mapping table.
 *
 * Threads: the unwinding worker.  Memory: the arena.
 */
#ifndef HS_MAPS_MAP_SCAN_H
#define HS_MAPS_MAP_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "maps/map_index.h"
#include "maps/mapping_store.h"

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
