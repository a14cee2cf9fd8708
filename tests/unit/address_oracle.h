/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of address ranges: random numbers, an oracle (an array with the value of each address),
 * and memory that runs out.
 *
 * Each range that is added to a map has a value of its own.  So the oracle's runs of equal values
 * are the map's ranges: pieces of one range are never next to each other.
 */
#ifndef HS_TESTS_ADDRESS_ORACLE_H
#define HS_TESTS_ADDRESS_ORACLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "check.h"
#include "maps/address_range_map.h"

#define BUDGET ((size_t)64 << 20)
#define ORACLE_ADDRESSES 2048u

/* The value of each address from oracle_base on; 0: none. */
static uint32_t oracle[ORACLE_ADDRESSES + 1];
static uint64_t oracle_base;

static uint64_t random_state;

/* xorshift64: a seed gives the same run. */
static inline uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % limit;
}

/* A random range, mostly of at most longest, now and then a long, empty or inverted one. */
static inline void random_range(uint64_t longest, uint64_t *start, uint64_t *end)
{
	*start = random_below(ORACLE_ADDRESSES + 1);
	*end = *start + random_below(random_below(256) == 0 ? ORACLE_ADDRESSES : longest + 1);
	if (*end > ORACLE_ADDRESSES)
		*end = ORACLE_ADDRESSES;
	if (random_below(32) == 0)
		*end = random_below(*start + 1);
}

static inline void oracle_fill(uint64_t start, uint64_t end, uint32_t value)
{
	for (; start < end; start++)
		oracle[start] = value;
}

/* The bounds of the run that address lies in. */
static inline uint64_t run_start(uint64_t address)
{
	while (address > 0 && oracle[address - 1] == oracle[address])
		address--;
	return address;
}

static inline uint64_t run_end(uint64_t address)
{
	uint32_t value = oracle[address];

	while (address < ORACLE_ADDRESSES && oracle[address] == value)
		address++;
	return address;
}

/* Whether the map has exactly the oracle's runs, in their order, and its counts are right. */
static inline bool is_as_oracle(const struct hs_address_range_map *map)
{
	const struct hs_address_range *range = hs_address_range_map_from(map, 0);
	uint64_t address = 0;
	uint32_t count = 0;

	for (; address < ORACLE_ADDRESSES; address = run_end(address)) {
		if (oracle[address] == 0)
			continue;
		if (range == NULL || range->start != oracle_base + address ||
		    range->end != oracle_base + run_end(address) || range->value != oracle[address])
			return false;
		range = hs_address_range_map_from(map, range->end);
		count++;
	}
	return range == NULL && map->count == count && map->used <= map->capacity;
}

/*
 * Every second time, at random: from here to refill_memory() a map that needs a new node gets none.
 * For that the map gives up its room for nodes that were never used.
 */
static inline void maybe_drain_memory(struct hs_address_range_map *map)
{
	if (random_below(2) == 0) {
		map->capacity = map->used;
		hs_arena_set_budget(hs_arena_used());
	}
}

static inline void refill_memory(void)
{
	hs_arena_set_budget(BUDGET);
}

/* "0-10=1 10-20=2": what a map holds, in decimal. */
static inline const char *text_of(const struct hs_address_range_map *map)
{
	static char text[512];
	size_t used = 0;
	uint64_t address = 0;
	const struct hs_address_range *range;

	text[0] = '\0';
	while ((range = hs_address_range_map_from(map, address)) != NULL && used < 400) {
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%llu-%llu=%u",
					 used > 0 ? " " : "", (unsigned long long)range->start,
					 (unsigned long long)range->end, range->value);
		address = range->end;
	}
	return text;
}

#endif
