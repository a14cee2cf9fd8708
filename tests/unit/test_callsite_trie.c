/* SPDX-License-Identifier: BSD-2-Clause */
/* The trie of call sites and the table of locations. */
#include "profile/callsite_trie.h"

#include "base/arena.h"
#include "check.h"
#include "profile/location_table.h"

static struct hs_callsite_trie trie;
static struct hs_location_table locations;

static uint32_t locate(uint32_t mapping, uint64_t address)
{
	return hs_location_table_intern(&locations, (struct hs_frame){address, mapping}, 0);
}

static void begin(void)
{
	CHECK_INT(hs_location_table_init(&locations), 0);
	CHECK_INT(hs_callsite_trie_init(&trie, &locations), 0);
}

static void end(void)
{
	hs_callsite_trie_fini(&trie);
	hs_location_table_fini(&locations);
}

static void equal_stacks_are_one_node(void)
{
	uint32_t first, second, a, b, c;

	begin();
	first = locate(1, 10);
	second = locate(1, 20);
	CHECK_INT(trie.interner.used, 1);
	a = hs_callsite_trie_child(&trie, HS_CALLSITE_ROOT, first);
	b = hs_callsite_trie_child(&trie, a, first);
	c = hs_callsite_trie_child(&trie, HS_CALLSITE_ROOT, second);
	CHECK(a != HS_CALLSITE_ROOT && a != b && b != c && a != c);
	CHECK_INT(hs_callsite_trie_child(&trie, HS_CALLSITE_ROOT, first), a);
	CHECK_INT(hs_callsite_trie_child(&trie, a, first), b);
	CHECK_INT(trie.interner.used, 4);
	CHECK_INT(hs_callsite_trie_get(&trie, HS_CALLSITE_ROOT)->depth, 0);
	CHECK_INT(hs_callsite_trie_get(&trie, b)->depth, 2);
	CHECK_INT(hs_callsite_trie_get(&trie, b)->parent, a);
	end();
}

static void keeps_many_nodes_apart(void)
{
	enum { PARENTS = 300, CHILDREN = 100 };

	begin();
	for (uint32_t i = 0; i < PARENTS; i++)
		CHECK_INT(locate(1, i), i);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < PARENTS; i++)
			CHECK_INT(hs_callsite_trie_child(&trie, 0, i), i + 1);
		for (uint32_t i = 0; i < PARENTS * CHILDREN; i++)
			CHECK_INT(hs_callsite_trie_child(&trie, 1 + i / CHILDREN, i % CHILDREN),
				  PARENTS + 1 + i);
	}
	CHECK_INT(trie.interner.used, 1 + PARENTS + PARENTS * CHILDREN);
	end();
}

static void stays_as_it_was_without_memory(void)
{
	uint32_t i = 0, held;

	begin();
	held = hs_callsite_trie_child(&trie, 0, locate(1, 0));
	hs_callsite_trie_hold(&trie, held);
	for (uint32_t more = 1; more < 1000; more++)
		hs_location_table_hold(&locations, locate(1, more));
	hs_arena_set_budget(hs_arena_used());
	while (i < 1000 && hs_callsite_trie_child(&trie, 0, i) != HS_CALLSITE_NONE)
		i++;
	CHECK(i > 0 && i < 1000);
	CHECK_INT(trie.interner.used, i + 1);
	CHECK_INT(hs_callsite_trie_child(&trie, 0, 0), held);
	hs_arena_set_budget((size_t)64 << 20);
	CHECK_INT(hs_callsite_trie_child(&trie, 0, i), i + 1);
	end();
}

/* If there is no memory for a node, those that were made on the way to it are removed. */
static void half_a_stack_goes(void)
{
	uint32_t node = HS_CALLSITE_ROOT, below = HS_CALLSITE_ROOT, depth = 0;

	begin();
	hs_arena_set_budget(hs_arena_used());
	while (below != HS_CALLSITE_NONE && depth < 1000) {
		uint32_t location = locate(1, depth++);

		/* As the producer does. */
		if (location == HS_LOCATION_NONE) {
			hs_callsite_trie_settle(&trie, node);
			break;
		}
		node = below;
		below = hs_callsite_trie_child(&trie, node, location);
		node = below != HS_CALLSITE_NONE ? below : node;
	}
	CHECK(depth > 1 && depth < 1000);
	CHECK_INT(trie.interner.used, 1);
	CHECK_INT(locations.interner.used, 0);
	hs_arena_set_budget((size_t)64 << 20);
	end();
}

/*
 * Random stacks that come and go, compared with a model in plain arrays.  There must be a node
 * for each prefix of a present stack, and no other, and a location for each that is in a present
 * stack.
 */
enum { HELD = 40, DEPTH_MAX = 6, PLACES = 5, STEPS = 200000 };

struct held_stack {
	uint32_t node; /* HS_CALLSITE_NONE: none is held here */
	uint32_t depth;
	unsigned char places[DEPTH_MAX]; /* from the root */
};

static struct held_stack stacks[HELD];

static bool has_prefix_of(const struct held_stack *stack, const struct held_stack *other,
			  uint32_t depth)
{
	return stack->node != HS_CALLSITE_NONE && stack->depth >= depth &&
	       memcmp(stack->places, other->places, depth) == 0;
}

/* How many of a stack's prefixes no stack before it has. */
static uint32_t prefixes_first_seen(uint32_t number)
{
	uint32_t count = 0;

	for (uint32_t depth = 1; depth <= stacks[number].depth; depth++) {
		uint32_t other = 0;

		while (other < number && !has_prefix_of(&stacks[other], &stacks[number], depth))
			other++;
		count += other == number;
	}
	return count;
}

static void check_path(const struct held_stack *stack)
{
	uint32_t node = stack->node;

	CHECK_INT(hs_callsite_trie_get(&trie, node)->depth, stack->depth);
	for (uint32_t depth = stack->depth; depth > 0; depth--) {
		const struct hs_callsite *site = hs_callsite_trie_get(&trie, node);

		CHECK(hs_interner_is_used(&trie.interner, node));
		CHECK(hs_interner_is_used(&locations.interner, site->location));
		CHECK_INT(hs_location_table_get(&locations, site->location)->address,
			  stack->places[depth - 1]);
		node = site->parent;
	}
	CHECK_INT(node, HS_CALLSITE_ROOT);
}

static void compare_with_model(void)
{
	uint32_t nodes = 1, places = 0;

	for (uint32_t i = 0; i < HELD; i++) {
		if (stacks[i].node == HS_CALLSITE_NONE)
			continue;
		check_path(&stacks[i]);
		nodes += prefixes_first_seen(i);
		for (uint32_t depth = 0; depth < stacks[i].depth; depth++)
			places |= 1u << stacks[i].places[depth];
	}
	CHECK_INT(trie.interner.used, nodes);
	CHECK_INT(locations.interner.used, __builtin_popcount(places));
}

static void hold_random_stack(struct held_stack *stack, uint64_t random)
{
	uint32_t node = HS_CALLSITE_ROOT;

	stack->depth = 1 + (uint32_t)random % DEPTH_MAX;
	for (uint32_t i = 0; i < stack->depth; i++) {
		random /= 8;
		stack->places[i] = (unsigned char)(random % PLACES);
		node = hs_callsite_trie_child(&trie, node, locate(1, stack->places[i]));
	}
	stack->node = node;
	hs_callsite_trie_hold(&trie, node);
}

static void nodes_and_locations_go_with_their_holders(void)
{
	uint64_t state = 3;
	size_t used;

	begin();
	used = hs_arena_used();
	for (uint32_t i = 0; i < HELD; i++)
		stacks[i].node = HS_CALLSITE_NONE;
	for (uint32_t step = 0; step < STEPS; step++) {
		struct held_stack *stack;

		state = state * 6364136223846793005u + 1442695040888963407u;
		/* Now and then few are held, so that many are removed. */
		stack = &stacks[(state >> 58) % (step / 1000 % 2 == 0 ? HELD : 3)];
		if (stack->node != HS_CALLSITE_NONE) {
			hs_callsite_trie_release(&trie, stack->node);
			stack->node = HS_CALLSITE_NONE;
		} else {
			hold_random_stack(stack, state >> 32);
		}
		if (step % 97 == 0)
			compare_with_model();
	}
	for (uint32_t i = 0; i < HELD; i++) {
		if (stacks[i].node != HS_CALLSITE_NONE)
			hs_callsite_trie_release(&trie, stacks[i].node);
		stacks[i].node = HS_CALLSITE_NONE;
	}
	compare_with_model();
	printf("at most %u nodes, %u locations\n", trie.interner.count, locations.interner.count);
	CHECK(hs_arena_used() < used + 64 * 1024);
	end();
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

/* A name is freed with the last of its locations, or when another name replaces it. */
static void names_go_with_their_locations(void)
{
	struct hs_shared_name *name, *other;
	uint32_t first, second;
	size_t used;

	CHECK_INT(hs_location_table_init(&locations), 0);
	used = hs_arena_used();
	first = locate(1, 10);
	second = locate(1, 20);
	hs_location_table_hold(&locations, first);
	hs_location_table_hold(&locations, second);
	name = hs_shared_name_create("save", "_Z4savev");
	hs_location_set_name(hs_location_table_get(&locations, first), name);
	hs_location_set_name(hs_location_table_get(&locations, second), name);
	hs_shared_name_release(name);
	other = hs_shared_name_create("object+0x10", NULL);
	hs_location_set_name(hs_location_table_get(&locations, first), other);
	hs_shared_name_release(other);
	CHECK_STR(hs_location_table_get(&locations, first)->name, "object+0x10");
	CHECK(hs_location_table_get(&locations, first)->system_name == NULL);
	CHECK_STR(hs_location_table_get(&locations, second)->name, "save");
	CHECK_STR(hs_location_table_get(&locations, second)->system_name, "_Z4savev");
	hs_location_table_release(&locations, second);
	hs_location_set_lasting_name(hs_location_table_get(&locations, first), "generated");
	CHECK_STR(hs_location_table_get(&locations, first)->name, "generated");
	CHECK_INT(hs_arena_used(), used);
	CHECK(hs_location_table_get(&locations, locate(1, 30))->name == NULL);
	hs_location_table_fini(&locations);
}

int main(void)
{
	CHECK_INT(hs_arena_init((size_t)64 << 20), 0);
	RUN(equal_stacks_are_one_node);
	RUN(keeps_many_nodes_apart);
	RUN(stays_as_it_was_without_memory);
	RUN(half_a_stack_goes);
	RUN(nodes_and_locations_go_with_their_holders);
	RUN(locations_are_told_apart_by_mapping_and_address);
	RUN(names_go_with_their_locations);
	CHECK_INT(hs_arena_used(), 0);
	return CHECK_RESULT();
}
