/* SPDX-License-Identifier: BSD-2-Clause */
/* The trie of call sites and the table of locations. */
#include "profile/callsite_trie.h"

#include "base/arena.h"
#include "check.h"
#include "profile/location_table.h"

static struct hs_callsite_trie trie;
static struct hs_location_table locations;

static void equal_stacks_are_one_node(void)
{
	uint32_t a, b, c;

	CHECK_INT(hs_callsite_trie_init(&trie), 0);
	CHECK_INT(hs_callsite_trie_count(&trie), 1);
	a = hs_callsite_trie_child(&trie, HS_CALLSITE_ROOT, 0);
	b = hs_callsite_trie_child(&trie, a, 0);
	c = hs_callsite_trie_child(&trie, HS_CALLSITE_ROOT, 1);
	CHECK(a != HS_CALLSITE_ROOT && a != b && b != c && a != c);
	CHECK_INT(hs_callsite_trie_child(&trie, HS_CALLSITE_ROOT, 0), a);
	CHECK_INT(hs_callsite_trie_child(&trie, a, 0), b);
	CHECK_INT(hs_callsite_trie_count(&trie), 4);
	CHECK_INT(hs_callsite_trie_get(&trie, HS_CALLSITE_ROOT)->depth, 0);
	CHECK_INT(hs_callsite_trie_get(&trie, b)->depth, 2);
	CHECK_INT(hs_callsite_trie_get(&trie, b)->parent, a);
	hs_callsite_trie_fini(&trie);
}

static void keeps_many_nodes_apart(void)
{
	enum { PARENTS = 300, CHILDREN = 100 };

	CHECK_INT(hs_callsite_trie_init(&trie), 0);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < PARENTS; i++)
			CHECK_INT(hs_callsite_trie_child(&trie, 0, i), i + 1);
		for (uint32_t i = 0; i < PARENTS * CHILDREN; i++)
			CHECK_INT(hs_callsite_trie_child(&trie, 1 + i / CHILDREN, i % CHILDREN),
				  PARENTS + 1 + i);
	}
	CHECK_INT(hs_callsite_trie_count(&trie), 1 + PARENTS + PARENTS * CHILDREN);
	hs_callsite_trie_fini(&trie);
}

static void stays_as_it_was_without_memory(void)
{
	uint32_t i = 0;

	CHECK_INT(hs_callsite_trie_init(&trie), 0);
	hs_arena_set_budget(hs_arena_used());
	while (i < 1000 && hs_callsite_trie_child(&trie, 0, i) != HS_CALLSITE_NONE)
		i++;
	CHECK(i > 0 && i < 1000);
	CHECK_INT(hs_callsite_trie_count(&trie), i + 1);
	CHECK_INT(hs_callsite_trie_child(&trie, 0, 0), 1);
	hs_arena_set_budget((size_t)64 << 20);
	CHECK_INT(hs_callsite_trie_child(&trie, 0, i), i + 1);
	hs_callsite_trie_fini(&trie);
}

static uint32_t locate(uint32_t mapping, uint64_t address)
{
	return hs_location_table_intern(&locations, (struct hs_frame){ address, mapping }, 0);
}

static void locations_are_told_apart_by_mapping_and_address(void)
{
	uint32_t a, lost;

	CHECK_INT(hs_location_table_init(&locations), 0);
	a = locate(1, 0x1234);
	CHECK_INT(locate(1, 0x1234), a);
	CHECK(locate(2, 0x1234) != a);
	CHECK(locate(1, 0x1235) != a);
	CHECK(locate(1, 0x100001234) != a);
	CHECK(hs_location_table_get(&locations, a)->name == NULL);
	lost = locate(HS_MAPPING_NONE, HS_PSEUDO_LOST);
	CHECK_STR(hs_location_table_get(&locations, lost)->name, "[lost]");
	CHECK_INT(locate(HS_MAPPING_NONE, 99), locate(HS_MAPPING_NONE, HS_PSEUDO_UNKNOWN));
	CHECK_INT(locate(HS_MAPPING_UNKNOWN, 0x1234), locate(HS_MAPPING_NONE, HS_PSEUDO_UNKNOWN));
	hs_location_table_fini(&locations);
}

int main(void)
{
	CHECK_INT(hs_arena_init((size_t)64 << 20), 0);
	RUN(equal_stacks_are_one_node);
	RUN(keeps_many_nodes_apart);
	RUN(stays_as_it_was_without_memory);
	RUN(locations_are_told_apart_by_mapping_and_address);
	CHECK_INT(hs_arena_used(), 0);
	return CHECK_RESULT();
}
