/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ascending, disjoint ranges of addresses with a value each, for binary search.
 *
 * Threads: one owner.  Memory: the arena.
 */
#ifndef HS_MAPS_RANGE_LIST_H
#define HS_MAPS_RANGE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_range {
	uint64_t start;
	uint64_t end;
	uint32_t value;
};

struct hs_range_list {
	struct hs_range *ranges;
	size_t count;
	size_t capacity;
};

void hs_range_list_fini(struct hs_range_list *list);

/*
 * Append [start, end), which must not lie below the last range (else -EINVAL: it is
 * left out).  Joined with the last range if it touches it and has the same value.
 * Returns 0, -EINVAL or -ENOMEM.
 */
int hs_range_list_append(struct hs_range_list *list, uint64_t start, uint64_t end, uint32_t value);

/* The range that holds address, or NULL.  O(log n). */
const struct hs_range *hs_range_list_find(const struct hs_range_list *list, uint64_t address);

bool hs_range_list_equal(const struct hs_range_list *a, const struct hs_range_list *b);

#endif
