/* SPDX-License-Identifier: BSD-2-Clause */
/* The live set's map: which addresses have cells, what is found there, what goes elsewhere. */
#include "sample/live_map.h"

#include "base/arena.h"
#include "check.h"
#include "sample/live_index.h"
#include "sample/live_set.h"
#include "sample/live_table.h"
#include "sample_testing.h"

#define REGION ((uint64_t)1 << HS_MAP_REGION_SHIFT)
#define HEAP (0x5555 * REGION)
#define SHEET_BYTES (HS_MAP_SHEET_CELLS * sizeof(uint32_t))

enum { SHEETS = 40, READY_AT_FIRST = 4, BLOCKS = 30000 };


static void test_no_map(void)
{
	CHECK(!hs_live_map_is_used());
	CHECK(!hs_live_map_insert(HEAP, 1));
	CHECK(!hs_live_map_remove(HEAP, 1));
	CHECK_INT(hs_live_map_find(HEAP), 0);
	CHECK(hs_live_index_is_table_used());
}

static void test_no_memory(void)
{
	size_t budget_bytes = hs_arena_budget();

	hs_arena_set_budget(hs_arena_used());
	CHECK(hs_live_map_init(SHEETS * SHEET_BYTES) != 0);
	CHECK(!hs_live_map_is_used());
	hs_arena_set_budget(budget_bytes);
	CHECK(hs_live_map_init((size_t)1 << 50) != 0);
	test_no_map();
}

static void test_cells(void)
{
	CHECK_INT(hs_live_map_init(SHEETS * SHEET_BYTES), 0);
	CHECK(hs_live_map_is_used() && !hs_live_index_is_table_used());
	for (uint32_t i = 0; i < HS_MAP_SHEET_CELLS; i++)
		CHECK(hs_live_map_insert(HEAP + 16 * i, i + 7));
	for (uint32_t i = 0; i < HS_MAP_SHEET_CELLS; i++) {
		CHECK_INT(hs_live_map_find(HEAP + 16 * i), i + 8);
		CHECK_INT(hs_live_map_find(HEAP + 16 * i + 8), 0);
	}
	CHECK_INT(hs_live_map_find(HEAP - 16), 0);
	CHECK_INT(hs_live_map_find(HEAP + REGION), 0);
	/* The last one is there. */
	CHECK(hs_live_map_insert(HEAP, 3));
	CHECK(!hs_live_map_remove(HEAP, 7));
	CHECK(!hs_live_map_remove(HEAP + 16, 7));
	CHECK_INT(hs_live_map_find(HEAP), 4);
	CHECK(hs_live_map_remove(HEAP, 3));
	CHECK(!hs_live_map_remove(HEAP, 3));
	CHECK_INT(hs_live_map_find(HEAP), 0);
}

static void test_no_cell(void)
{
	static const uint64_t addresses[] = {16,
					     REGION - 16,
					     HEAP + 8,
					     HEAP + 1,
					     (uint64_t)1 << 52,
					     (uint64_t)0xb4 << 56 | HEAP,
					     UINT64_MAX - 15};

	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
		CHECK(!hs_live_map_insert(addresses[i], 5));
		CHECK_INT(hs_live_map_find(addresses[i]), 0);
		CHECK(!hs_live_map_remove(addresses[i], 5));
	}
}

/* Each region has cells of its own, as long as there are sheets. */
static void test_sheets_run_out(void)
{
	size_t budget_bytes = hs_arena_budget();
	uint64_t end = 1;

	for (; end < READY_AT_FIRST; end++)
		CHECK(hs_live_map_insert(HEAP + end * REGION, (uint32_t)end));
	CHECK(!hs_live_map_insert(HEAP + end * REGION, (uint32_t)end));
	hs_arena_set_budget(hs_arena_used());
	hs_live_map_maintain();
	CHECK(!hs_live_map_insert(HEAP + end * REGION, (uint32_t)end));
	hs_arena_set_budget(budget_bytes);
	for (; end < SHEETS; end++) {
		hs_live_map_maintain();
		CHECK(hs_live_map_insert(HEAP + end * REGION, (uint32_t)end));
	}
	for (uint64_t i = SHEETS; i < 10000; i++) {
		hs_live_map_maintain();
		CHECK(!hs_live_map_insert(HEAP + i * REGION, (uint32_t)i));
		CHECK_INT(hs_live_map_find(HEAP + i * REGION), 0);
	}
	for (uint64_t i = 1; i < SHEETS; i++)
		CHECK(hs_live_map_remove(HEAP + i * REGION, (uint32_t)i));
}

static void *block(unsigned i)
{
	/* The last third has no sheets. */
	return (void *)(uintptr_t)(i < BLOCKS / 3 * 2 ? HEAP + i * 32 : HEAP - REGION - i * 32);
}

/* A sample without a cell is in a table, in which samples are looked up from then on. */
static void test_samples_are_found(void)
{
	struct hs_taken_slot taken;

	CHECK_INT(live_init(4 * BLOCKS, 100), 0);
	for (unsigned i = 0; i < BLOCKS; i++) {
		CHECK(hs_live_set_take(&taken));
		while (!live_insert(taken, block(i)))
			CHECK_INT(hs_live_set_maintain(0), 0);
		CHECK(hs_live_index_is_table_used() == (i >= BLOCKS / 3 * 2));
		if (i % 64 == 0)
			CHECK_INT(hs_live_set_maintain(0), 0);
	}
	/* The table is only as large as those in it need. */
	CHECK(hs_live_table_count(atomic_load(&hs_live_index)) < BLOCKS);
	for (unsigned i = 0; i < BLOCKS; i++) {
		CHECK(hs_live_index_may_hold(hs_live_key(HS_HEAP_MALLOC, (uintptr_t)block(i))));
		CHECK_INT(live_free(block(i)), 1);
		CHECK_INT(live_free(block(i)), 0);
	}
}

/* Other heaps' ids look like addresses, and are not in the map; nor are keys that do. */
static void test_heaps_are_apart(void)
{
	uint64_t id = hs_live_key(HS_HEAP_MALLOC + 1, HEAP);
	struct hs_taken_slot malloced, other;

	CHECK_INT(hs_live_key(HS_HEAP_MALLOC + 1, id), HEAP);
	CHECK(hs_live_set_take(&malloced) && hs_live_set_take(&other));
	CHECK(live_insert(malloced, (void *)HEAP));
	CHECK(hs_live_set_insert_id(&other, HS_HEAP_MALLOC + 1, id));
	CHECK_INT(live_free((void *)HEAP), 1);
	CHECK_INT(hs_live_set_free_id(HS_HEAP_MALLOC + 1, id), 1);

	CHECK(hs_live_set_take(&malloced) && hs_live_set_take(&other));
	CHECK(live_insert(malloced, (void *)HEAP));
	CHECK(hs_live_set_insert_id(&other, HS_HEAP_MALLOC + 1, HEAP));
	CHECK_INT(hs_live_set_free_id(HS_HEAP_MALLOC + 1, HEAP), 1);
	CHECK_INT(hs_live_map_find(HEAP), malloced.slot + 1);
	CHECK_INT(live_free((void *)HEAP), 1);
	CHECK_INT(hs_live_map_find(HEAP), 0);
}

/* What the table holds besides the map decides about its size, and not what it has held. */
static void test_table_does_not_grow_for_what_is_gone(void)
{
	uint64_t buckets = hs_live_table_count(atomic_load(&hs_live_index));
	struct hs_freed_slots freed;
	struct hs_taken_slot taken;
	uint32_t slot;

	for (uint64_t id = 0; id < 4 * buckets; id++) {
		CHECK(hs_live_set_take(&taken));
		CHECK(hs_live_set_insert_id(&taken, HS_HEAP_FIRST_REPORTED, id));
		CHECK_INT(hs_live_set_free_id(HS_HEAP_FIRST_REPORTED, id), 1);
		hs_live_set_take_freed(&freed);
		while ((slot = hs_live_set_next_freed(&freed)) != HS_SLOT_NONE)
			CHECK(hs_live_set_recycle(slot, hs_live_set_generation(slot)));
	}
	hs_live_set_give_back();
	for (unsigned i = 0; i < 100; i++)
		CHECK_INT(hs_live_set_maintain(0), 0);
	CHECK_INT(hs_live_table_count(atomic_load(&hs_live_index)), buckets);
}

int main(void)
{
	CHECK_INT(hs_arena_init((size_t)64 << 20), 0);
	RUN(test_no_map);
	RUN(test_no_memory);
	RUN(test_cells);
	RUN(test_no_cell);
	RUN(test_sheets_run_out);
	RUN(test_samples_are_found);
	RUN(test_heaps_are_apart);
	RUN(test_table_does_not_grow_for_what_is_gone);
	return CHECK_RESULT();
}
