/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Half-open ranges of addresses [start, end), disjoint and ordered, with a value each.
 *
 * Ranges that touch stay apart, even if their values are equal.  An empty range holds no address
 * and overlaps nothing; UINT64_MAX is in no range.  A map of zero bytes is an empty one.
 *
 * Changes and look-ups take O(log n) steps, and O(1) for each range deleted.  Ranges move
 * in memory: a pointer to one is valid until the next change of the map.  After -ENOMEM the
 * map is as before.
 *
 * Threads: one owner.  Memory: the arena, 32 bytes a range.
 */
#ifndef HS_MAPS_ADDRESS_RANGE_MAP_H
#define HS_MAPS_ADDRESS_RANGE_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct hs_address_range {
	uint64_t start;
	uint64_t end;
	uint32_t value;
};

/* Index 0 is no node. */
struct hs_address_range_node {
	struct hs_address_range range;
	uint32_t child[2]; /* the ranges below, those above; a free node: [0] is the next one */
};

struct hs_address_range_map {
	struct hs_address_range_node *nodes;
	uint32_t root;
	uint32_t free;     /* list of nodes given back */
	uint32_t used;     /* the nodes from 1 up to here have been in use since _clear() */
	uint32_t capacity; /* nodes after the first */
	uint32_t count;    /* ranges */
};

/* Called with ranges in ascending order; it must not change the map. */
typedef void hs_address_range_visit(void *context, const struct hs_address_range *range);

/* Drops all ranges and the memory. */
void hs_address_range_map_fini(struct hs_address_range_map *map);

/* Drops all ranges, and keeps the memory for as many new ones. */
void hs_address_range_map_clear(struct hs_address_range_map *map);

/* The range that holds address, or NULL. */
const struct hs_address_range *hs_address_range_map_find(const struct hs_address_range_map *map,
							 uint64_t address);

/* The one range that holds all of [start, end), or NULL; NULL if that is empty. */
const struct hs_address_range *
hs_address_range_map_find_containing(const struct hs_address_range_map *map, uint64_t start,
				     uint64_t end);

/*
 * The range that holds address or the next one above it, or NULL.  To walk the map:
 * begin with address 0 and go on with the end of each range.
 */
const struct hs_address_range *hs_address_range_map_from(const struct hs_address_range_map *map,
							 uint64_t address);

/*
 * Adds [start, end).  Ascending ranges are added fastest.
 * Returns 0, -EINVAL (empty), -EEXIST (overlaps a range) or -ENOMEM.
 */
int hs_address_range_map_emplace(struct hs_address_range_map *map, uint64_t start, uint64_t end,
				 uint32_t value);

/*
 * Adds [start, end) in place of what was there: ranges inside it are deleted, one that
 * reaches in is cut to what lies outside, one that encloses it is split into two
 * with the same value.
 * Returns 0, -EINVAL (empty) or -ENOMEM.
 */
int hs_address_range_map_trim_overlaps_and_emplace(struct hs_address_range_map *map, uint64_t start,
						   uint64_t end, uint32_t value);

/*
 * Deletes whole all ranges that overlap [start, end), none if that is empty; deleted (may be
 * NULL) is called for each.
 */
void hs_address_range_map_delete_overlaps(struct hs_address_range_map *map, uint64_t start,
					  uint64_t end, hs_address_range_visit *deleted,
					  void *context);

/*
 * Trims [start, end) out of the map, as _trim_overlaps_and_emplace() does.
 * Returns 0 (also if it is empty) or -ENOMEM (a range was to be split).
 */
int hs_address_range_map_remove_overlaps(struct hs_address_range_map *map, uint64_t start,
					 uint64_t end);

/* Whether both hold the same ranges with the same values.  O(n log n). */
bool hs_address_range_map_equal(const struct hs_address_range_map *a,
				const struct hs_address_range_map *b);

#endif
