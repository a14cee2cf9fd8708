/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function table: numbering, pairs that share a half, growth, memory.
 */
#include "output/function_table.h"

#include <errno.h>

#include "base/arena.h"
#include "check.h"

#define BUDGET ((size_t)16 << 20)

static struct hs_function_table table;

static uint32_t number_of(uint32_t name, uint32_t system_name)
{
	struct hs_function function = { .name = name, .system_name = system_name };
	uint32_t number = 0;

	CHECK_INT(hs_function_table_intern(&table, function, &number), 0);
	return number;
}

/* All pairs of so many names that neighbours in the slots share a half somewhere. */
static void both_names_count(void)
{
	enum { NAMES = 200 };
	uint32_t next = 1;

	CHECK_INT(hs_function_table_init(&table), 0);
	for (int round = 0; round < 2; round++) {
		next = 1;
		for (uint32_t name = 0; name < NAMES; name++) {
			for (uint32_t system_name = 0; system_name < NAMES; system_name++)
				CHECK_INT(number_of(name, system_name), next++);
		}
	}
	CHECK_INT(table.count, NAMES * NAMES);
	CHECK_INT(table.functions[NAMES - 1].name, 0);
	CHECK_INT(table.functions[NAMES - 1].system_name, NAMES - 1);
	hs_function_table_fini(&table);
}

static void many_functions_keep_their_numbers(void)
{
	enum { COUNT = 20000 };
	size_t before = hs_arena_used();

	CHECK_INT(hs_function_table_init(&table), 0);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < COUNT; i++)
			CHECK_INT(number_of(i * i, i % 2), i + 1); /* squares meet in the slots */
	}
	CHECK_INT(table.count, COUNT);
	hs_function_table_fini(&table);
	CHECK_INT(hs_arena_used(), before);
}

static void used_up_memory_is_reported(void)
{
	size_t before = hs_arena_used();
	struct hs_function function = { 0 };
	uint32_t number;
	int error = 0;

	CHECK_INT(hs_function_table_init(&table), 0);
	hs_arena_set_budget(hs_arena_used() + 8 * 1024);
	while (error == 0 && function.name < 10000) {
		function.name++;
		error = hs_function_table_intern(&table, function, &number);
	}
	CHECK_INT(error, -ENOMEM);
	hs_arena_set_budget(BUDGET);
	for (uint32_t i = 1; i <= function.name; i++)
		CHECK_INT(number_of(i, 0), i);
	hs_function_table_fini(&table);
	CHECK_INT(hs_arena_used(), before);
}

int main(void)
{
	CHECK_INT(hs_arena_init(BUDGET), 0);
	RUN(both_names_count);
	RUN(many_functions_keep_their_numbers);
	RUN(used_up_memory_is_reported);
	return CHECK_RESULT();
}
