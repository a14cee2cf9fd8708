/* SPDX-License-Identifier: BSD-2-Clause */
/* The row that a sample is looked for at first: whatever its number is, it is the right one. */
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

/* Of what it was its memory has nearly all. */
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

int main(void)
{
	CHECK_INT(hs_arena_init((size_t)64 << 20), 0);
	CHECK_INT(hs_heap_tracker_init(&tracker, false), 0);
	RUN(the_row_of_another_is_not_taken);
	RUN(a_row_that_was_dropped_is_not_taken);
	hs_heap_tracker_fini(&tracker);
	return CHECK_RESULT();
}
