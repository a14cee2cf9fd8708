/* SPDX-License-Identifier: BSD-2-Clause */
/* The cache of stacks: whatever becomes of nodes, it never gives that of another stack. */
#include "profile/stack_cache.h"

#include "base/arena.h"
#include "check.h"

enum { DEPTH = 3, MANY = 100000 };

static struct hs_location_table locations;
static struct hs_callsite_trie trie;
static struct hs_stack_cache cache;

static void begin(void)
{
	CHECK_INT(hs_location_table_init(&locations), 0);
	CHECK_INT(hs_callsite_trie_init(&trie, &locations), 0);
	CHECK_INT(hs_stack_cache_init(&cache), 0);
}

static void end(void)
{
	hs_stack_cache_fini(&cache);
	hs_callsite_trie_fini(&trie);
	hs_location_table_fini(&locations);
}

/* Stacks that differ at the leaf, and are in mapping 0. */
static void make_frames(struct hs_frame frames[DEPTH], uint32_t site)
{
	for (uint32_t i = 0; i < DEPTH; i++)
		frames[i] = (struct hs_frame){.address = i == 0 ? 0x1000 + site : i};
}

/* The node of a stack, held. */
static uint32_t intern(const struct hs_frame frames[DEPTH], uint32_t code)
{
	uint32_t node = HS_CALLSITE_ROOT;

	for (uint32_t i = DEPTH; i-- > 0;)
		node = hs_callsite_trie_child(
			&trie, node, hs_location_table_intern(&locations, frames[i], code));
	hs_callsite_trie_hold(&trie, node);
	return node;
}

static struct hs_stack_hash hash_of(const struct hs_frame *frames, uint32_t count)
{
	struct hs_stack_hash hash = {0};

	while (count-- > 0)
		hash = hs_stack_hash_add(hash, frames[count].address, frames[count].mapping, 0);
	return hash;
}

static uint32_t find(const struct hs_frame *frames, uint32_t count)
{
	return hs_stack_cache_find(&cache, &trie, hash_of(frames, count), count);
}

static uint32_t find_path(const struct hs_frame *frames, uint32_t count)
{
	return hs_stack_cache_find_path(&cache, &trie, hash_of(frames, count), count);
}

static void put(const struct hs_frame frames[DEPTH], uint32_t node)
{
	hs_stack_cache_put(&cache, hash_of(frames, DEPTH), node);
}

static void finds_what_came_before(void)
{
	struct hs_frame frames[DEPTH];
	uint32_t node;

	begin();
	make_frames(frames, 1);
	node = intern(frames, 0);
	CHECK_INT(find(frames, DEPTH), HS_CALLSITE_NONE);
	put(frames, node);
	CHECK_INT(find(frames, DEPTH), node);
	CHECK_INT(find(frames + 1, DEPTH - 1), HS_CALLSITE_NONE);
	end();
}

/* Finds the nodes of the last new stack, down to the depth that is kept, until they are freed. */
static void finds_the_callers_of_the_last_stack(void)
{
	struct hs_frame frames[DEPTH];
	uint32_t nodes[DEPTH];

	begin();
	make_frames(frames, 1);
	CHECK_INT(find_path(frames, DEPTH), HS_CALLSITE_NONE);
	nodes[0] = intern(frames, 0);
	for (uint32_t i = 1; i < DEPTH; i++)
		nodes[i] = hs_callsite_trie_get(&trie, nodes[i - 1])->parent;
	for (uint32_t i = 0; i < DEPTH; i++)
		hs_stack_cache_put_path(&cache, DEPTH - i, nodes[i]);
	for (uint32_t i = 0; i < DEPTH; i++)
		CHECK_INT(find_path(frames + i, DEPTH - i), nodes[i]);
	hs_stack_cache_put_path(&cache, DEPTH - 1, HS_CALLSITE_NONE);
	CHECK_INT(find_path(frames + 1, DEPTH - 1), HS_CALLSITE_NONE);
	hs_stack_cache_put_path(&cache, HS_STACK_CACHE_PATH + 1, nodes[0]);
	CHECK_INT(hs_stack_cache_find_path(&cache, &trie, hash_of(frames, DEPTH),
					   HS_STACK_CACHE_PATH + 1),
		  HS_CALLSITE_NONE);
	hs_callsite_trie_release(&trie, nodes[0]);
	for (uint32_t i = 0; i < DEPTH; i++)
		CHECK_INT(find_path(frames + i, DEPTH - i), HS_CALLSITE_NONE);
	end();
}

/* As if two stacks had one place in the cache: another stack's node is there. */
static void check_refused(const struct hs_frame frames[DEPTH], const struct hs_frame *asked,
			  uint32_t count)
{
	uint32_t node;

	begin();
	node = intern(frames, 0);
	hs_stack_cache_put(&cache, hash_of(asked, count), node);
	CHECK_INT(find(asked, count), HS_CALLSITE_NONE);
	hs_stack_cache_put_path(&cache, count, node);
	CHECK_INT(find_path(asked, count), HS_CALLSITE_NONE);
	end();
}

static void nodes_are_asked_for_their_stacks(void)
{
	struct hs_frame frames[DEPTH], asked[DEPTH];

	make_frames(frames, 1);
	for (uint32_t i = 0; i < DEPTH; i++) {
		make_frames(asked, 1);
		asked[i].address ^= 1u << 20;
		check_refused(frames, asked, DEPTH);
		make_frames(asked, 1);
		asked[i].mapping = 1;
		check_refused(frames, asked, DEPTH);
	}
	check_refused(frames, frames, DEPTH - 1);
	check_refused(frames, frames + 1, DEPTH - 1);
}

/* Stacks with the same frames in another order, or with more or less of them. */
static void order_and_depth_matter(void)
{
	struct hs_frame frames[DEPTH], asked[DEPTH];

	for (uint32_t i = 0; i < DEPTH; i++) {
		make_frames(frames, 1);
		make_frames(asked, 1);
		asked[i] = frames[(i + 1) % DEPTH];
		asked[(i + 1) % DEPTH] = frames[i];
		check_refused(frames, asked, DEPTH);
		frames[i] = asked[i] = frames[(i + 1) % DEPTH];
		check_refused(frames, asked, DEPTH - 1);
	}
	for (uint32_t i = 0; i < DEPTH; i++)
		frames[i] = (struct hs_frame){0};
	check_refused(frames, frames, DEPTH - 1);
}

static void generated_code_is_refused(void)
{
	struct hs_frame frames[DEPTH];
	uint32_t node;

	begin();
	make_frames(frames, 1);
	put(frames, intern(frames, 7));
	CHECK_INT(find(frames, DEPTH), HS_CALLSITE_NONE);
	node = intern(frames, 0);
	put(frames, node);
	CHECK_INT(find(frames, DEPTH), node);
	end();
}

/* Also if there is no memory for a smaller cache. */
static void nothing_is_left_of_what_was_forgotten(void)
{
	struct hs_frame frames[DEPTH];
	size_t budget = hs_arena_budget();

	begin();
	for (int short_of_memory = 0; short_of_memory < 2; short_of_memory++) {
		for (uint32_t i = 0; i < 1000; i++) {
			make_frames(frames, i);
			put(frames, intern(frames, 0));
			hs_stack_cache_put_path(&cache, DEPTH, find(frames, DEPTH));
			CHECK(find(frames, DEPTH) != HS_CALLSITE_NONE);
			CHECK(find_path(frames, DEPTH) != HS_CALLSITE_NONE);
		}
		if (short_of_memory)
			hs_arena_set_budget(hs_arena_used());
		hs_stack_cache_empty(&cache);
		hs_arena_set_budget(budget);
		for (uint32_t i = 0; i < 1000; i++) {
			make_frames(frames, i);
			CHECK_INT(find(frames, DEPTH), HS_CALLSITE_NONE);
			CHECK_INT(find_path(frames, DEPTH), HS_CALLSITE_NONE);
		}
	}
	end();
}

/* A node that nobody holds is freed, and its number becomes that of another stack. */
static void nodes_that_went_are_not_given_out(void)
{
	struct hs_frame frames[DEPTH], others[DEPTH];
	uint32_t node;

	begin();
	make_frames(frames, 1);
	make_frames(others, 2);
	others[1].address = 77;
	others[2].address = 78;
	node = intern(frames, 0);
	put(frames, node);
	hs_callsite_trie_release(&trie, node);
	CHECK_INT(find(frames, DEPTH), HS_CALLSITE_NONE);
	intern(others, 0);
	CHECK_INT(find(frames, DEPTH), HS_CALLSITE_NONE);
	/* The node is freed, but its location stays. */
	hs_location_table_hold(&locations, hs_location_table_intern(&locations, frames[0], 0));
	node = hs_callsite_trie_child(&trie, HS_CALLSITE_ROOT,
				      hs_location_table_intern(&locations, frames[0], 0));
	hs_callsite_trie_hold(&trie, node);
	hs_stack_cache_put(&cache, hash_of(frames, 1), node);
	CHECK_INT(find(frames, 1), node);
	hs_callsite_trie_release(&trie, node);
	CHECK_INT(find(frames, 1), HS_CALLSITE_NONE);
	/* The stack comes again, with other nodes. */
	node = intern(frames, 0);
	put(frames, node);
	CHECK_INT(find(frames, DEPTH), node);
	/* The tables shrink to less than the node's number. */
	hs_callsite_trie_release(&trie, node);
	hs_interner_trim(&trie.interner);
	CHECK_INT(find(frames, DEPTH), HS_CALLSITE_NONE);
	end();
}

/* Puts `count` stacks; returns how many are found then. */
static uint32_t put_many(uint32_t count)
{
	struct hs_frame frames[DEPTH];
	uint32_t found = 0;

	for (uint32_t i = 0; i < count; i++) {
		make_frames(frames, i);
		put(frames, intern(frames, 0));
	}
	for (uint32_t i = 0; i < count; i++) {
		make_frames(frames, i);
		found += find(frames, DEPTH) != HS_CALLSITE_NONE;
	}
	return found;
}

/* While the cache can grow nearly all stacks are found; after that those that came last. */
static void it_grows_and_is_bounded(void)
{
	struct hs_frame frames[DEPTH];
	size_t budget = hs_arena_budget();

	begin();
	CHECK(put_many(10000) > 9900);
	CHECK(cache.set_count <= 2048);
	CHECK(put_many(MANY) > MANY - MANY / 100);
	end();
	begin();
	hs_arena_set_budget(budget / 4);
	for (uint32_t i = 0; i < MANY; i++) {
		make_frames(frames, 10000 + i);
		hs_stack_cache_put(&cache, hash_of(frames, DEPTH), 0);
	}
	CHECK(cache.set_count * sizeof *cache.sets <= budget / 4 / 32);
	make_frames(frames, 1);
	put(frames, intern(frames, 0));
	CHECK(find(frames, DEPTH) != HS_CALLSITE_NONE);
	hs_arena_set_budget(budget);
	end();
}

/* The cache goes on with the size it has. */
static void growing_may_fail(void)
{
	struct hs_frame frames[DEPTH];
	size_t budget = hs_arena_budget();

	begin();
	hs_arena_set_budget(hs_arena_used());
	for (uint32_t i = 0; i < MANY; i++) {
		make_frames(frames, i);
		hs_stack_cache_put(&cache, hash_of(frames, DEPTH), 0);
	}
	hs_arena_set_budget(budget);
	make_frames(frames, 1);
	put(frames, intern(frames, 0));
	CHECK(find(frames, DEPTH) != HS_CALLSITE_NONE);
	end();
}

int main(void)
{
	CHECK_INT(hs_arena_init((size_t)64 << 20), 0);
	RUN(finds_what_came_before);
	RUN(finds_the_callers_of_the_last_stack);
	RUN(nodes_are_asked_for_their_stacks);
	RUN(order_and_depth_matter);
	RUN(generated_code_is_refused);
	RUN(nothing_is_left_of_what_was_forgotten);
	RUN(nodes_that_went_are_not_given_out);
	RUN(it_grows_and_is_bounded);
	RUN(growing_may_fail);
	CHECK_INT(hs_arena_used() < ((size_t)1 << 20), 1);
	return CHECK_RESULT();
}
