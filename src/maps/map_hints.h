/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Map hints: the program's word on which object's code stands in a range of addresses,
 * for code that it copied there by hand.  A hint wins over what is mapped there; of hints
 * that overlap the later one wins where they do.
 *
 * They come from HEAPSAMPLE_MAP (the text of hints, or "@FILE" with such a text) and from
 * calls of the program, which win over the former.  Both outlive a fork; the setting is then
 * read again, for a hint may name the child's pid.
 *
 * A hint becomes a mapping when an address in it is first looked up, so its object need not
 * exist before.  A mapping once made stays in the store, for the samples that have it.
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
 * Make a set whose mappings go into store, with nothing in it.  setting: HEAPSAMPLE_MAP;
 * must stay.  Objects are looked for in the directory of now.  report: whether problems of
 * the setting are logged and counted (map_hints_malformed).
 * Returns NULL when the arena is used up.
 */
struct hs_map_hints *hs_map_hints_create(struct hs_mapping_store *store, const char *setting,
					 bool report);
void hs_map_hints_destroy(struct hs_map_hints *hints);

/*
 * Follow the setting: take it over the first time, and again in a forked child and when its
 * file has changed.  A file that cannot be read leaves what was there.
 */
void hs_map_hints_follow(struct hs_map_hints *hints);

/*
 * A call: [start, start + length), a range that hs_map_hint_check_range() allows, holds what
 * is in the file at offset; it holds nothing of the kind any more.  Returns 0 or -ENOMEM.
 */
int hs_map_hints_add(struct hs_map_hints *hints, const char *path, uint64_t start, uint64_t length,
		     uint64_t offset);
int hs_map_hints_remove(struct hs_map_hints *hints, uint64_t start, uint64_t length);

/* The mapping of the hint for an address, or HS_MAPPING_NONE.  O(log n). */
uint32_t hs_map_hints_find(struct hs_map_hints *hints, uint64_t address);

/* Goes up when an address may have got another hint.  Starts at 0. */
uint64_t hs_map_hints_generation(const struct hs_map_hints *hints);

#endif
