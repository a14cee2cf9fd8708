/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Map hints: the program says which object's code is in a range of addresses, because it has copied
 * the code there by hand.  A hint takes precedence over what is mapped there, and a later hint over
 * an earlier one where they overlap.
 *
 * They come from HEAPSAMPLE_MAP (the text of hints, or "@FILE" with such a text) and from
 * calls of the program, which win over the former.  Both outlive a fork; the setting is then
 * read again, for a hint may name the child's pid.
 *
 * A hint becomes a mapping when an address in it is first looked up, so its object need not
 * exist before.  One that cannot be read then, for want of a descriptor or because it is still
 * missing, is tried again each second, and the hint becomes another mapping.  A mapping once made
 * stays in the store, for the samples that have it.
 *
 * Threads: one owner.  Memory: the arena.  Blocks: reads files.
 */
#ifndef HS_MAPS_MAP_HINTS_H
#define HS_MAPS_MAP_HINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "maps/mapping_store.h"

struct hs_map_hints;

/*
 * Makes an empty set whose mappings go into store.  setting: HEAPSAMPLE_MAP, must stay valid.
 * Relative names of objects are relative to the current directory of this moment.  report: whether
 * problems of the setting are logged and counted (map_hints_malformed).
 * Returns NULL when the arena is used up.
 */
struct hs_map_hints *hs_map_hints_create(struct hs_mapping_store *store, const char *setting,
					 bool report);
void hs_map_hints_destroy(struct hs_map_hints *hints);

/*
 * Applies the setting the first time, and again in a forked child and when its file has changed.
 * If the file cannot be read, the hints stay as they are.  Tries objects again.
 */
void hs_map_hints_follow(struct hs_map_hints *hints);

/*
 * A call of the program: [start, start + length), which hs_map_hint_check_range() must allow, holds
 * the file's contents from offset on; or does not any more.  Returns 0 or -ENOMEM.
 */
int hs_map_hints_add(struct hs_map_hints *hints, const char *path, uint64_t start, uint64_t length,
		     uint64_t offset);
int hs_map_hints_remove(struct hs_map_hints *hints, uint64_t start, uint64_t length);

/* The mapping of the hint for an address, or HS_MAPPING_NONE.  O(log n). */
uint32_t hs_map_hints_find(struct hs_map_hints *hints, uint64_t address);

/* Goes up when an address may have got another hint.  Starts at 0. */
uint64_t hs_map_hints_generation(const struct hs_map_hints *hints);

#endif
