/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set of addresses, kept as the fewest disjoint ranges [start, end): what is added
 * merges with what it overlaps or touches.
 *
 * UINT64_MAX cannot be a member.  A set of zero bytes is an empty one; its ranges may
 * be walked, compared and cut.
 *
 * Threads: one owner.  Memory: the arena.  All functions take O(log n) steps, and O(1)
 * for each range that goes.  After -ENOMEM the set is as before.
 */
#ifndef HS_MAPS_ADDRESS_SET_H
#define HS_MAPS_ADDRESS_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "maps/address_range_map.h"

struct hs_address_set {
	struct hs_address_range_map ranges; /* all values are 0 */
};

/* Drop all members and the memory. */
void hs_address_set_fini(struct hs_address_set *set);

/* Drop all members, and keep the memory. */
void hs_address_set_clear(struct hs_address_set *set);

/* Add [start, end).  Returns 0 (also if that is empty: nothing to do) or -ENOMEM. */
int hs_address_set_add(struct hs_address_set *set, uint64_t start, uint64_t end);

/* Whether all of [address, address + bytes) are members; false for no bytes. */
bool hs_address_set_contains(const struct hs_address_set *set, uint64_t address, uint64_t bytes);

bool hs_address_set_equal(const struct hs_address_set *a, const struct hs_address_set *b);

#endif
