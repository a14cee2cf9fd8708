/* SPDX-License-Identifier: BSD-2-Clause */
/* The window: order, lateness, duplicates, growth and gaps. */
#include "profile/commit_order.h"

#include "base/arena.h"
#include "check.h"

static struct hs_commit_order order;

static enum hs_arrival put(uint64_t number)
{
	struct hs_heap_event event = {.kind = HS_HEAP_EVENT_FREE, .size = number};

	return hs_commit_order_put(&order, number, &event);
}

/* The number of the event taken, 0 if there was none. */
static uint64_t take(void)
{
	struct hs_heap_event event;

	return hs_commit_order_take(&order, &event) ? event.size : 0;
}

static void gives_events_in_order(void)
{
	CHECK_INT(hs_commit_order_init(&order), 0);
	CHECK_INT(take(), 0);
	CHECK_INT(hs_commit_order_first(&order), 0);
	CHECK_INT(put(3), HS_ARRIVAL_KEPT);
	CHECK_INT(put(2), HS_ARRIVAL_KEPT);
	CHECK_INT(take(), 0);
	CHECK_INT(hs_commit_order_first(&order), 2);
	CHECK_INT(put(1), HS_ARRIVAL_KEPT);
	CHECK_INT(put(3), HS_ARRIVAL_DUPLICATE);
	for (uint64_t number = 1; number <= 3; number++)
		CHECK_INT(take(), number);
	CHECK_INT(take(), 0);
	CHECK_INT(put(3), HS_ARRIVAL_DUPLICATE);
	CHECK_INT(order.waiting, 0);
	hs_commit_order_fini(&order);
}

static void grows_and_keeps_what_waits(void)
{
	CHECK_INT(hs_commit_order_init(&order), 0);
	for (uint64_t number = 1; number <= 200; number++) {
		put(number);
		CHECK_INT(take(), number);
	}
	/* From the middle upwards: it grows several times with events in it. */
	for (uint64_t number = 300; number <= 5000; number++)
		CHECK_INT(put(number), HS_ARRIVAL_KEPT);
	for (uint64_t number = 299; number > 201; number--)
		CHECK_INT(put(number), HS_ARRIVAL_KEPT);
	CHECK_INT(take(), 0);
	put(201);
	for (uint64_t number = 201; number <= 5000; number++)
		CHECK_INT(take(), number);
	CHECK_INT(take(), 0);
	hs_commit_order_fini(&order);
}

static void gives_room_back_when_nothing_waits(void)
{
	size_t used;

	CHECK_INT(hs_commit_order_init(&order), 0);
	used = hs_arena_used();
	hs_commit_order_trim(&order);
	CHECK_INT(hs_arena_used(), used);
	for (uint64_t number = 5000; number > 0; number--)
		CHECK_INT(put(number), HS_ARRIVAL_KEPT);
	for (uint64_t number = 1; number <= 5000; number++) {
		hs_commit_order_trim(&order);
		CHECK(hs_arena_used() > used);
		CHECK_INT(take(), number);
	}
	hs_commit_order_trim(&order);
	CHECK_INT(hs_arena_used(), used);
	CHECK_INT(order.capacity, HS_COMMIT_WINDOW_MIN);
	CHECK_INT(take(), 0);
	for (uint64_t number = 12000; number > 5000; number--)
		CHECK_INT(put(number), HS_ARRIVAL_KEPT);
	for (uint64_t number = 5001; number <= 12000; number++)
		CHECK_INT(take(), number);
	/* Without memory it stays usable. */
	hs_arena_set_budget(hs_arena_used());
	hs_commit_order_trim(&order);
	hs_arena_set_budget((size_t)256 << 20);
	CHECK_INT(put(13000), HS_ARRIVAL_KEPT);
	CHECK_INT(take(), 0);
	hs_commit_order_fini(&order);
}

static void skips_gaps(void)
{
	CHECK_INT(hs_commit_order_init(&order), 0);
	put(10);
	put(12);
	CHECK_INT(hs_commit_order_skip_to(&order, hs_commit_order_first(&order)), 9);
	CHECK_INT(take(), 10);
	CHECK_INT(take(), 0);
	CHECK_INT(put(4), HS_ARRIVAL_LATE);
	CHECK_INT(put(4), HS_ARRIVAL_DUPLICATE);
	CHECK_INT(put(1), HS_ARRIVAL_LATE);
	CHECK_INT(put(9), HS_ARRIVAL_LATE);
	CHECK_INT(put(10), HS_ARRIVAL_DUPLICATE); /* its turn was */
	for (uint64_t number = 1; number <= 9; number++)
		CHECK_INT(put(number), number == 1 || number == 4 || number == 9
					       ? HS_ARRIVAL_DUPLICATE
					       : HS_ARRIVAL_LATE);
	for (uint64_t number = 1; number <= 10; number++)
		CHECK_INT(put(number), HS_ARRIVAL_DUPLICATE);
	CHECK_INT(hs_commit_order_skip_to(&order, hs_commit_order_first(&order)), 1);
	CHECK_INT(put(11), HS_ARRIVAL_LATE);
	CHECK_INT(take(), 12);
	hs_commit_order_fini(&order);
}

/* A number that was given up long ago is taken for a late event, not for a duplicate. */
static void forgets_gaps_of_long_ago(void)
{
	CHECK_INT(hs_commit_order_init(&order), 0);
	for (uint64_t number = 2; number <= 4 * HS_COMMIT_GIVEN_UP; number += 2) {
		put(number);
		CHECK_INT(hs_commit_order_skip_to(&order, number), 1);
		CHECK_INT(take(), number);
	}
	for (uint64_t number = 1; number <= 4 * HS_COMMIT_GIVEN_UP; number += 2)
		CHECK_INT(put(number), HS_ARRIVAL_LATE);
	CHECK_INT(put(4 * HS_COMMIT_GIVEN_UP), HS_ARRIVAL_DUPLICATE);
	hs_commit_order_fini(&order);
}

/* Gives up the next number. */
static void give_up_one(void)
{
	CHECK_INT(hs_commit_order_skip_to(&order, order.next + 1), 1);
}

/* As many gaps of one number as are known, whichever comes first. */
static void tells_late_events_from_duplicates(void)
{
	CHECK_INT(hs_commit_order_init(&order), 0);
	for (unsigned i = 0; i < HS_COMMIT_GIVEN_UP; i++)
		give_up_one();
	for (uint64_t number = HS_COMMIT_GIVEN_UP; number > 0; number--)
		CHECK_INT(put(number), HS_ARRIVAL_LATE);
	for (uint64_t number = HS_COMMIT_GIVEN_UP; number > 0; number--)
		CHECK_INT(put(number), HS_ARRIVAL_DUPLICATE);
	hs_commit_order_fini(&order);
}

/* A gap that an event has divided is forgotten after a later one. */
static void forgets_the_rest_of_a_gap(void)
{
	CHECK_INT(hs_commit_order_init(&order), 0);
	CHECK_INT(hs_commit_order_skip_to(&order, 100), 99);
	CHECK_INT(hs_commit_order_skip_to(&order, 200), 100);
	CHECK_INT(put(50), HS_ARRIVAL_LATE);
	for (unsigned i = 0; i < HS_COMMIT_GIVEN_UP; i++)
		give_up_one();
	CHECK_INT(put(150), HS_ARRIVAL_LATE);
	hs_commit_order_fini(&order);
}

static void refuses_what_it_has_no_room_for(void)
{
	CHECK_INT(hs_commit_order_init(&order), 0);
	CHECK_INT(put(UINT64_MAX), HS_ARRIVAL_NO_ROOM);
	CHECK_INT(put((uint64_t)HS_COMMIT_WINDOW_MAX + 1), HS_ARRIVAL_NO_ROOM);
	CHECK_INT(put(HS_COMMIT_WINDOW_MAX), HS_ARRIVAL_KEPT);
	hs_commit_order_fini(&order);

	CHECK_INT(hs_commit_order_init(&order), 0);
	hs_arena_set_budget(hs_arena_used());
	CHECK_INT(put(100000), HS_ARRIVAL_NO_ROOM);
	CHECK_INT(put(1), HS_ARRIVAL_KEPT);
	hs_arena_set_budget((size_t)256 << 20);
	CHECK_INT(take(), 1);
	hs_commit_order_fini(&order);
}

int main(void)
{
	CHECK_INT(hs_arena_init((size_t)256 << 20), 0);
	RUN(gives_events_in_order);
	RUN(grows_and_keeps_what_waits);
	RUN(gives_room_back_when_nothing_waits);
	RUN(skips_gaps);
	RUN(forgets_gaps_of_long_ago);
	RUN(tells_late_events_from_duplicates);
	RUN(forgets_the_rest_of_a_gap);
	RUN(refuses_what_it_has_no_room_for);
	CHECK_INT(hs_arena_used(), 0);
	return CHECK_RESULT();
}
