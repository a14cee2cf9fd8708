/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The index grows in steps, between which the program goes on, slots are recycled, and a fork may
 * come: at the end exactly the entries of what is live are in the new table.
 */
#include "arena_testing.h"
#include "base/arena.h"
#include "check.h"
#include "random_numbers.h"
#include "sample/live_index.h"
#include "sample/live_set.h"
#include "sample/live_table.h"
#include "sample_testing.h"

/* At the end of each step so many blocks are freed, and half as many allocated. */
enum { BUCKETS = 1 << 17, BLOCKS = BUCKETS + 4000, CHANGES = 60, LEAST_STEPS = 24 };

static bool is_live[BLOCKS];
static uint64_t random_state = 1;

static void *block(uint64_t i)
{
	return (void *)(uintptr_t)(0x7f0000000000 + i * 48);
}

static uint64_t bucket_count(void)
{
	return hs_live_table_count(atomic_load(&hs_live_index));
}

static void allocate(uint64_t i)
{
	struct hs_taken_slot taken;

	CHECK(hs_live_set_take(&taken));
	CHECK(live_insert(taken, block(i)));
	is_live[i] = true;
}

static void release(uint64_t i)
{
	CHECK_INT(live_free(block(i)), is_live[i]);
	CHECK_INT(live_free(block(i)), 0);
	is_live[i] = false;
}

static void recycle_freed(void)
{
	struct hs_freed_slots slots;
	uint32_t slot;

	hs_live_set_take_freed(&slots);
	while ((slot = hs_live_set_next_freed(&slots)) != HS_SLOT_NONE)
		CHECK(hs_live_set_recycle(slot, hs_live_set_generation(slot)));
	hs_live_set_give_back();
}

static void go_on(void)
{
	for (int i = 0; i < CHANGES; i++)
		release(random_below(&random_state, BLOCKS));
	recycle_freed();
	for (int i = 0; i < CHANGES / 2; i++) {
		uint64_t number = random_below(&random_state, BLOCKS);

		if (!is_live[number])
			allocate(number);
	}
}

static unsigned finish_growing(void)
{
	unsigned steps = 0;

	while (bucket_count() == BUCKETS && steps < 10000) {
		CHECK_INT(hs_live_set_maintain(1000), 0);
		steps++;
		go_on();
	}
	CHECK_INT(bucket_count(), 2 * BUCKETS);
	return steps;
}

static void check_all_and_free(void)
{
	uint64_t table = atomic_load(&hs_live_index);

	for (uint64_t i = 0; i < BLOCKS; i++) {
		CHECK(!is_live[i] || hs_live_set_may_hold(block(i)));
		release(i);
	}
	recycle_freed();
	CHECK_INT(hs_live_set_used(), 0);
	for (uint64_t i = 0; i < BLOCKS; i++)
		CHECK(!hs_live_set_may_hold(block(i)));
	for (uint64_t i = 0; i < hs_live_table_count(table); i++) {
		CHECK_INT(hs_live_table_buckets(table)[i].tags, 0);
		for (int lane = 0; lane < HS_BUCKET_LANES; lane++)
			CHECK_INT(hs_live_table_buckets(table)[i].slots[lane], 0);
	}
}

static void in_a_forked_child(void)
{
	finish_growing();
	check_all_and_free();
}

static void test_growth_in_steps(void)
{
	unsigned steps;

	for (uint64_t i = 0; i < BLOCKS; i++)
		allocate(i);
	for (steps = 0; steps < LEAST_STEPS; steps++) {
		CHECK_INT(bucket_count(), BUCKETS);
		if (steps % 4 == 0)
			in_child(in_a_forked_child);
		CHECK_INT(hs_live_set_maintain(1000), 0);
		go_on();
	}
	printf("%u steps\n", steps + finish_growing());
	check_all_and_free();
}

int main(void)
{
	CHECK_INT(hs_arena_init((size_t)256 << 20), 0);
	CHECK_INT(live_init(4 * BLOCKS, BUCKETS), 0);
	CHECK_INT(hs_live_set_maintain(2 * BLOCKS), 0); /* slots */
	RUN(test_growth_in_steps);
	return CHECK_RESULT();
}
