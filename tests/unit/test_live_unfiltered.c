/* SPDX-License-Identifier: BSD-2-Clause */
/* The live set without a filter: only the look at a bucket is left. */
#include "base/arena.h"
#include "check.h"
#include "sample/free_journal.h"
#include "sample/live_index.h"
#include "sample/live_set.h"
#include "sample_testing.h"

enum { MANY = 20000, LOOKS = 100000 };


static uint64_t address(uint64_t i)
{
	return 0x7f0000000000 + i * 48;
}

static void enter(uint64_t i)
{
	struct hs_taken_slot taken;

	CHECK(hs_live_set_take(&taken));
	while (!live_insert(taken, (void *)(uintptr_t)address(i)))
		CHECK_INT(hs_live_set_maintain(0), 0);
	if (i % 64 == 0)
		CHECK_INT(hs_live_set_maintain(1000), 0);
}

/* Of addresses that are not live: how many the look at their bucket does not rule out. */
static unsigned doubtful(void)
{
	unsigned count = 0;

	for (uint64_t i = 0; i < LOOKS; i++)
		count += hs_live_index_may_hold(hs_live_key(HS_HEAP_MALLOC, address(MANY + i)));
	return count;
}

static void test_all_addresses_pass(void)
{
	for (uint64_t i = 0; i < LOOKS; i++)
		CHECK(hs_live_set_may_hold_key(i * 0x9e3779b97f4a7c15));
	CHECK_INT(doubtful(), 0);
}

static void test_samples_are_found(void)
{
	for (uint64_t i = 0; i < MANY; i++)
		enter(i);
	for (uint64_t i = 0; i < MANY; i++)
		CHECK(hs_live_index_may_hold(hs_live_key(HS_HEAP_MALLOC, address(i))));
	/* A bucket has one entry on average, and there are 128 tags. */
	CHECK(doubtful() < LOOKS / 20);
	for (uint64_t i = 0; i < MANY; i++) {
		CHECK_INT(live_free((void *)(uintptr_t)address(i)), 1);
		CHECK_INT(live_free((void *)(uintptr_t)address(i)), 0);
	}
	CHECK_INT(doubtful(), 0);
}

/* A block of malloc's and one of another heap that have the same key, and then the same id. */
static void test_heaps_are_apart_with_a_journal(void)
{
	const uint64_t ids[] = {hs_live_key(HS_HEAP_FIRST_REPORTED, address(0)), address(0)};
	struct hs_taken_slot taken;

	CHECK_INT(hs_free_journal_init(4096), 0);
	for (int i = 0; i < 2; i++) {
		enter(0);
		CHECK(hs_live_set_take(&taken));
		CHECK(hs_live_set_insert_id(&taken, HS_HEAP_FIRST_REPORTED, ids[i]));
		CHECK_INT(hs_live_set_free_id(HS_HEAP_FIRST_REPORTED, ids[i]), 1);
		CHECK_INT(hs_live_set_free_id(HS_HEAP_FIRST_REPORTED, ids[i]), 0);
		CHECK_INT(live_free((void *)(uintptr_t)address(0)), 1);
		CHECK_INT(live_free((void *)(uintptr_t)address(0)), 0);
	}
}

int main(void)
{
	struct hs_live_setup setup = {.slots = MANY, .expected = 100};

	CHECK_INT(hs_arena_init((size_t)64 << 20), 0);
	CHECK_INT(hs_live_set_init(&setup), 0);
	RUN(test_all_addresses_pass);
	RUN(test_samples_are_found);
	RUN(test_heaps_are_apart_with_a_journal);
	return CHECK_RESULT();
}
