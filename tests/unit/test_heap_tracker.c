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
		.kind = HS_EVENT_ALLOCATION,
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

/* The sum of so many rows of one object of this weight each, as large allocations make them. */
static int64_t sum_of_objects(uint64_t weight, uint32_t rows)
{
	const struct hs_row_totals totals = {.allocated = {.objects = weight}};
	int64_t values[HS_VIEW_VALUES], sum = 0;

	for (uint32_t callsite = 0; callsite < rows; callsite++) {
		const struct hs_row_key key = {.callsite = callsite, .size = 1 << 20};

		hs_row_round(&key, &totals, values);
		CHECK_INT(values[2], values[0]);
		sum += values[0];
	}
	return sum;
}

/* Rounded to the nearest they would all be 1, or all 2. */
static void fractions_of_objects_are_not_lost_in_sums(void)
{
	enum { ROWS = 10000, NEAR = ROWS / 100 };

	for (uint64_t percent = 100; percent < 200; percent += 10) {
		int64_t sum = sum_of_objects(HS_WEIGHT_ONE * percent / 100, ROWS);
		int64_t want = ROWS / 100 * (int64_t)percent;

		CHECK(sum >= want - NEAR && sum <= want + NEAR);
	}
	CHECK_INT(sum_of_objects(HS_WEIGHT_ONE, ROWS), ROWS);
	CHECK_INT(sum_of_objects(7 * HS_WEIGHT_ONE, ROWS), 7 * ROWS);
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
	RUN(fractions_of_objects_are_not_lost_in_sums);
	RUN(no_more_are_in_use_than_were_allocated);
	hs_heap_tracker_fini(&tracker);
	return CHECK_RESULT();
}
