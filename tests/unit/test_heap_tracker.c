/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows are found whatever number the search begins with; their values in profiles. */
#include "profile/heap_tracker.h"

#include "base/arena.h"
#include "check.h"
#include "sample/live_set.h"
#include "sample/sampler.h"

static struct hs_heap_tracker tracker;

/* A sample whose slot is another's by now.  Returns its row. */
static uint32_t add(uint32_t callsite, uint32_t row)
{
	struct hs_heap_event event = {
		.kind = HS_HEAP_EVENT_ALLOCATION,
		.heap = HS_HEAP_MALLOC,
		.size = 10,
		.weight = HS_WEIGHT_ONE,
		.slot = HS_SLOT_NONE,
		.callsite = callsite,
	};

	hs_heap_tracker_fetch_row(&tracker, row);
	hs_heap_tracker_allocated(&tracker, &event, &row);
	return row;
}

static void check_row(uint32_t row, uint32_t callsite, unsigned samples)
{
	CHECK(hs_heap_tracker_has_row(&tracker, row));
	CHECK_INT(hs_heap_tracker_row(&tracker, row)->key.callsite, callsite);
	CHECK_INT(hs_heap_tracker_row(&tracker, row)->totals.allocated.objects / HS_WEIGHT_ONE,
		  samples);
}

static void the_row_of_another_is_not_taken(void)
{
	uint32_t one = add(1, 0), other = add(2, one);

	CHECK_INT(add(1, one), one);
	CHECK_INT(add(1, other), one);
	CHECK_INT(add(2, UINT32_MAX), other);
	CHECK_INT(add(2, 1000000), other);
	check_row(one, 1, 3);
	check_row(other, 2, 3);
}

/* The memory of a dropped row still has nearly all of its values. */
static void a_row_that_was_dropped_is_not_taken(void)
{
	uint32_t one = add(3, 0), other = add(4, 0);

	hs_heap_tracker_drop(&tracker, one);
	hs_heap_tracker_drop(&tracker, other);
	check_row(add(3, one), 3, 1);
	check_row(add(4, other), 4, 1);
	for (uint32_t row = 0; row < 4; row++)
		hs_heap_tracker_drop(&tracker, row);
	check_row(add(6, 3), 6, 1);
	for (uint32_t row = 0; row < 4; row++)
		check_row(add(row + 1, row), row + 1, 1);
}

/* A row of one object of one byte of this weight: its number of objects, and of bytes. */
static int64_t rounded(uint64_t weight, uint32_t callsite)
{
	const struct hs_row_totals totals = {.allocated = {.objects = weight, .bytes = weight}};
	const struct hs_row_key key = {.callsite = callsite, .size = 1 << 20};
	int64_t values[HS_VIEW_VALUES];

	hs_row_round(&key, &totals, values);
	for (int i = 1; i < HS_VIEW_VALUES; i++)
		CHECK_INT(values[i], values[0]);
	return values[0];
}

static int64_t sum_of_rows(uint64_t weight, uint32_t rows)
{
	int64_t sum = 0;

	for (uint32_t callsite = 0; callsite < rows; callsite++)
		sum += rounded(weight, callsite);
	return sum;
}

/* The same row in so many processes. */
static int64_t sum_of_processes(uint64_t weight, uint32_t processes)
{
	int64_t sum = 0;

	for (uint32_t seed = 0; seed < processes; seed++) {
		hs_row_seed(seed);
		sum += rounded(weight, 1);
	}
	return sum;
}

/* Rounded to the nearest they would all be 1, or all 2. */
static void check_sums(int64_t (*sum_of)(uint64_t weight, uint32_t count))
{
	enum { COUNT = 10000, NEAR = COUNT / 100 };

	for (uint64_t percent = 100; percent < 200; percent += 10) {
		int64_t sum = sum_of(HS_WEIGHT_ONE * percent / 100, COUNT);
		int64_t want = COUNT / 100 * (int64_t)percent;

		CHECK(sum >= want - NEAR && sum <= want + NEAR);
	}
	CHECK_INT(sum_of(HS_WEIGHT_ONE, COUNT), COUNT);
	CHECK_INT(sum_of(7 * HS_WEIGHT_ONE, COUNT), 7 * COUNT);
}

static void fractions_are_not_lost_in_sums(void)
{
	check_sums(sum_of_rows);
	check_sums(sum_of_processes);
}

/* While objects are freed one by one, a row never has more in use than were allocated. */
static void no_more_are_in_use_than_were_allocated(void)
{
	const uint64_t weight = HS_WEIGHT_ONE * 5 / 4;

	for (uint32_t callsite = 0; callsite < 100; callsite++) {
		const struct hs_row_key key = {.callsite = callsite};
		struct hs_row_totals totals = {.allocated = {.objects = 10 * weight}};
		int64_t values[HS_VIEW_VALUES], before = INT64_MAX;

		for (unsigned freed = 0; freed <= 10; freed++) {
			totals.freed.objects = freed * weight;
			hs_row_round(&key, &totals, values);
			CHECK(values[0] == 12 || values[0] == 13);
			CHECK(values[2] <= values[0] && values[2] < before);
			before = values[2];
		}
		CHECK_INT(values[2], 0);
	}
}

int main(void)
{
	CHECK_INT(hs_arena_init((size_t)64 << 20), 0);
	CHECK_INT(hs_heap_tracker_init(&tracker, false), 0);
	RUN(the_row_of_another_is_not_taken);
	RUN(a_row_that_was_dropped_is_not_taken);
	RUN(fractions_are_not_lost_in_sums);
	RUN(no_more_are_in_use_than_were_allocated);
	hs_heap_tracker_fini(&tracker);
	return CHECK_RESULT();
}
