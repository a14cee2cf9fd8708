/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorted ranges of addresses.  Run by the unwinding worker. */
#include "maps/range_list.h"

#include <errno.h>

#include "base/arena.h"

#define FIRST_CAPACITY 256

void hs_range_list_fini(struct hs_range_list *list)
{
	hs_arena_free(list->ranges);
	*list = (struct hs_range_list){ NULL, 0, 0 };
}

static int grow(struct hs_range_list *list)
{
	size_t capacity = list->capacity == 0 ? FIRST_CAPACITY : list->capacity * 2;
	struct hs_range *ranges = hs_arena_realloc(list->ranges, capacity * sizeof *ranges);

	if (ranges == NULL)
		return -ENOMEM;
	list->ranges = ranges;
	list->capacity = capacity;
	return 0;
}

int hs_range_list_append(struct hs_range_list *list, uint64_t start, uint64_t end, uint32_t value)
{
	struct hs_range *last = list->count > 0 ? &list->ranges[list->count - 1] : NULL;

	if (start >= end || (last != NULL && start < last->end))
		return -EINVAL;
	if (last != NULL && start == last->end && value == last->value) {
		last->end = end;
		return 0;
	}
	if (list->count == list->capacity && grow(list) < 0)
		return -ENOMEM;
	list->ranges[list->count++] = (struct hs_range){ start, end, value };
	return 0;
}

const struct hs_range *hs_range_list_find(const struct hs_range_list *list, uint64_t address)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct hs_range *range = &list->ranges[middle];
		if (address < range->start)
			high = middle;
		else if (address >= range->end)
			low = middle + 1;
		else
			return range;
	}
	return NULL;
}

bool hs_range_list_equal(const struct hs_range_list *a, const struct hs_range_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (a->ranges[i].start != b->ranges[i].start ||
		    a->ranges[i].end != b->ranges[i].end ||
		    a->ranges[i].value != b->ranges[i].value)
			return false;
	}
	return true;
}
