/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interner: numbering, keys that share a half, growth, memory.
 */
#include "base/interner.h"

#include "base/arena.h"
#include "check.h"

#define BUDGET ((size_t)16 << 20)

struct pair {
	uint32_t name;
	uint32_t system_name;
};

static struct hs_interner table;

static uint32_t number_of(uint32_t name, uint32_t system_name)
{
	struct pair pair = { .name = name, .system_name = system_name };
	uint32_t number = hs_interner_add(&table, &pair);

	CHECK_INT(hs_interner_find(&table, &pair), number);
	return number;
}

/* All pairs of so many names that neighbours in the slots share a half somewhere. */
static void both_names_count(void)
{
	enum { NAMES = 200 };
	const struct pair *last;
	uint32_t next;

	CHECK_INT(hs_interner_init(&table, sizeof(struct pair), sizeof(struct pair)), 0);
	for (int round = 0; round < 2; round++) {
		next = 0;
		for (uint32_t name = 0; name < NAMES; name++) {
			for (uint32_t system_name = 0; system_name < NAMES; system_name++)
				CHECK_INT(number_of(name, system_name), next++);
		}
	}
	CHECK_INT(table.count, NAMES * NAMES);
	last = hs_interner_item(&table, NAMES - 1);
	CHECK_INT(last->name, 0);
	CHECK_INT(last->system_name, NAMES - 1);
	hs_interner_fini(&table);
}

static void many_items_keep_their_numbers(void)
{
	enum { COUNT = 20000 };
	size_t before = hs_arena_used();

	CHECK_INT(hs_interner_init(&table, sizeof(struct pair), sizeof(struct pair)), 0);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < COUNT; i++)
			CHECK_INT(number_of(i * i, i % 2), i); /* squares meet in the slots */
	}
	CHECK_INT(table.count, COUNT);
	hs_interner_fini(&table);
	CHECK_INT(hs_arena_used(), before);
}

static void used_up_memory_is_reported(void)
{
	size_t before = hs_arena_used();
	struct pair pair = { 0 };
	uint32_t number = 0;

	CHECK_INT(hs_interner_init(&table, sizeof pair, sizeof pair), 0);
	hs_arena_set_budget(hs_arena_used() + 8 * 1024);
	while (number != HS_INTERNER_NONE && pair.name < 10000) {
		pair.name++;
		number = hs_interner_add(&table, &pair);
	}
	CHECK(number == HS_INTERNER_NONE);
	hs_arena_set_budget(BUDGET);
	for (uint32_t i = 1; i <= pair.name; i++)
		CHECK_INT(number_of(i, 0), i - 1);
	hs_interner_fini(&table);
	CHECK_INT(hs_arena_used(), before);
}

int main(void)
{
	CHECK_INT(hs_arena_init(BUDGET), 0);
	RUN(both_names_count);
	RUN(many_items_keep_their_numbers);
	RUN(used_up_memory_is_reported);
	return CHECK_RESULT();
}
