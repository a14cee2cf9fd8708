/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interning of functions.  Runs on the producer.
 */
#include "output/function_table.h"

#include <errno.h>
#include <stddef.h>

#include "base/arena.h"

enum { FIRST_CAPACITY = 128 }; /* functions; twice as many slots keep chains short */

/* The slot that holds wanted, or the free one where it belongs. */
static uint32_t *find_slot(const struct hs_function_table *table, struct hs_function wanted)
{
	/* Fibonacci hashing: the high half of the product is well mixed. */
	uint64_t product = ((uint64_t)wanted.name << 32 | wanted.system_name) * 0x9e3779b97f4a7c15u;
	uint32_t mask = table->slot_count - 1;
	uint32_t at = (uint32_t)(product >> 32) & mask;

	while (table->slots[at] != 0) {
		const struct hs_function *there = &table->functions[table->slots[at] - 1];
		if (there->name == wanted.name && there->system_name == wanted.system_name)
			break;
		at = (at + 1) & mask;
	}
	return &table->slots[at];
}

/* Room for one function more: both arrays double.  On failure the table stays as it was. */
static int grow(struct hs_function_table *table)
{
	uint32_t capacity = table->capacity * 2;
	struct hs_function *functions;
	uint32_t *slots;

	if (capacity > UINT32_MAX / 4)
		return -ENOMEM;
	functions = hs_arena_realloc(table->functions, capacity * sizeof *functions);
	if (functions == NULL)
		return -ENOMEM;
	table->functions = functions;
	slots = hs_arena_zalloc((size_t)capacity * 2 * sizeof *slots);
	if (slots == NULL)
		return -ENOMEM;
	hs_arena_free(table->slots);
	table->slots = slots;
	table->slot_count = capacity * 2;
	table->capacity = capacity;
	for (uint32_t i = 0; i < table->count; i++)
		*find_slot(table, functions[i]) = i + 1;
	return 0;
}

int hs_function_table_init(struct hs_function_table *table)
{
	*table = (struct hs_function_table){
		.functions = hs_arena_alloc(FIRST_CAPACITY * sizeof *table->functions),
		.slots = hs_arena_zalloc(FIRST_CAPACITY * 2 * sizeof *table->slots),
		.capacity = FIRST_CAPACITY,
		.slot_count = FIRST_CAPACITY * 2,
	};
	return table->functions == NULL || table->slots == NULL ? -ENOMEM : 0;
}

void hs_function_table_fini(struct hs_function_table *table)
{
	hs_arena_free(table->functions);
	hs_arena_free(table->slots);
	*table = (struct hs_function_table){ 0 };
}

int hs_function_table_intern(struct hs_function_table *table, struct hs_function function,
			     uint32_t *number)
{
	uint32_t *slot = find_slot(table, function);

	if (*slot == 0) {
		if (table->count == table->capacity) {
			if (grow(table) != 0)
				return -ENOMEM;
			slot = find_slot(table, function);
		}
		table->functions[table->count++] = function;
		*slot = table->count;
	}
	*number = *slot;
	return 0;
}
