/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the mapping table as new as the stacks that are unwound: no pc is resolved by mappings
 * of an earlier or a later time.
 *
 * The maps are read again before a stack is looked at that was captured since they were read,
 * and after a library was closed or while one was; and when a pc is in no mapping, unless that has
 * been in vain several times in a row: then not before twenty times as long has gone by as it took,
 * or a library has been opened.  As often they are read where code was found that the program has
 * mapped by itself: no close tells when that goes.
 *
 * Generated code that is gone, but was there when the maps were read before, is found
 * nevertheless: the stack may be older.
 *
 * Threads: the unwinding worker.  Memory: the table's.  Reads /proc/self/maps.
 */
#ifndef HS_UNWIND_MAP_WATCH_H
#define HS_UNWIND_MAP_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/libraries.h"
#include "maps/mapping_table.h"

/* All zero but for the table. */
struct hs_map_watch {
	struct hs_mapping_table *table;
	uint64_t numbers_before;    /* stacks with these were captured before the maps were read */
	uint64_t number;            /* of the stack that is unwound; 0: not known */
	uint64_t refresh_again_ns;  /* monotonic time before which a miss does not refresh */
	unsigned refreshes_in_vain; /* on a miss, in a row */
	bool has_code_by_hand;      /* HS_MAPPING_FLAT, not by a hint */
	uint32_t closes_over;       /* of the stack that is unwound */
	uint32_t closes_unwaited;
};

struct hs_captured;

/* A stack is about to be unwound. */
void hs_map_watch_follow(struct hs_map_watch *watch, const struct hs_captured *captured);

/* The id of the mapping of an address of the stack, or HS_MAPPING_NONE. */
uint32_t hs_map_watch_find(struct hs_map_watch *watch, uint64_t address);

/*
 * Whether mapping id, found by hs_map_watch_find() or before, was there when the stack was
 * taken.  False if the maps could not be read since a library was closed; or if a close did not
 * wait for the stack, and the mapping was first seen after it.
 */
bool hs_map_watch_is_of_stack(const struct hs_map_watch *watch, uint32_t id);

#endif
