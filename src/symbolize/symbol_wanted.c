/* SPDX-License-Identifier: BSD-2-Clause */
/* Which functions of a symbol list are wanted.  See symbol_list.h for the contract. */
#include <string.h>

#include "symbolize/symbol_list.h"

/* Of a function's addresses; a damaged table may have many functions with all of them. */
#define NOTED_AT_ONCE 256

static uint64_t block_bit(uint64_t block)
{
	return (uint64_t)1 << block % 64;
}

void hs_symbol_list_want(struct hs_symbol_list *list, const struct hs_wanted *wanted)
{
	list->wanted = wanted;
	memset(list->wanted_blocks, 0, sizeof list->wanted_blocks);
	for (size_t i = 0; wanted != NULL && i < wanted->count; i++) {
		uint64_t block = wanted->addresses[i] / HS_WANTED_BLOCK_BYTES;

		list->wanted_blocks[block % HS_WANTED_BLOCKS / 64] |= block_bit(block);
	}
}

/* Most symbols are not wanted, and are told by this: of 10^5, all but a few per cent. */
static bool may_want(const struct hs_symbol_list *list, uint64_t value, uint64_t bytes)
{
	uint64_t first = value / HS_WANTED_BLOCK_BYTES;
	uint64_t last = (value + bytes - 1) / HS_WANTED_BLOCK_BYTES;

	return bytes > HS_WANTED_BLOCK_BYTES ||
	       (list->wanted_blocks[first % HS_WANTED_BLOCKS / 64] & block_bit(first)) != 0 ||
	       (list->wanted_blocks[last % HS_WANTED_BLOCKS / 64] & block_bit(last)) != 0;
}

/* The first wanted address that is not below value; their count: there is none. */
static size_t first_wanted(const struct hs_wanted *wanted, uint64_t value)
{
	size_t low = 0, high = wanted->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (wanted->addresses[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool hs_symbol_list_wants(const struct hs_symbol_list *list, uint64_t value, uint64_t bytes)
{
	const struct hs_wanted *wanted = list->wanted;
	size_t first;

	if (bytes == 0)
		bytes = 1;
	if (wanted == NULL)
		return true;
	if (!may_want(list, value, bytes))
		return false;
	first = first_wanted(wanted, value);
	return first < wanted->count && wanted->addresses[first] - value < bytes;
}

void hs_symbol_list_note_named(struct hs_symbol_list *list, uint64_t value, uint64_t bytes)
{
	const struct hs_wanted *wanted = list->wanted;
	size_t i, end;

	if (list->named == NULL || list->unnamed == 0)
		return;
	i = first_wanted(wanted, value);
	end = wanted->count - i < NOTED_AT_ONCE ? wanted->count : i + NOTED_AT_ONCE;
	for (; i < end && wanted->addresses[i] - value < bytes; i++) {
		list->unnamed -= !list->named[i];
		list->named[i] = 1;
	}
}
