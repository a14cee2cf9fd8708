/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histories of eight events in all 40320 orders of arrival (some in every fourth order only).  The
 * totals of each stack, what is in use after each arrival, and the peak must be the oracle's.
 */
#include "arena_testing.h"
#include "books_history.h"

#define A 0x10000
#define B 0x20000
#define C 0x30000

enum { EVENTS = 8, ORDERS = 40320, ORDERS_PER_CHILD = 672 };

/* An address is used again, also by other stacks. */
static void reuse(void)
{
	history_allocate(A, 10, 0);
	history_allocate(B, 20, 1);
	history_free(A);
	history_allocate(A, 30, 2);
	history_free(B);
	history_allocate(C, 5, 0);
	history_free(C);
	history_free(C);
	history_allocate(B, 7, 1);
}

/* realloc moves a block away and back, keeps it in place, and makes it empty. */
static void moves(void)
{
	history_allocate(A, 100, 0);
	history_free(A);
	history_allocate(B, 200, 1);
	history_free(B);
	history_allocate(B, 50, 1);
	history_free(B);
	history_allocate(A, 0, 2);
	history_free(A);
}

/* The most in use is reached twice, by different stacks: the first time counts. */
static void peaks(void)
{
	history_allocate(A, 10, 0);
	history_allocate(B, 10, 1);
	history_free(A);
	history_allocate(C, 10, 2);
	history_free(B);
	history_allocate(B, 11, 0);
	history_free(C);
	history_allocate(C, 10, 3);
}

/* Some numbers have no effect: moves that fail, samples that are abandoned. */
static void tombstones(void)
{
	history_allocate(A, 10, 0);
	history_free(A);
	history_allocate(A, 30, 1);
	history_fail_to_move(A);
	history_abandon(B);
	history_free(B);
	history_allocate(C, 5, 0);
	history_free(A);
}

/* The same address in three heaps: each has its own books and peak. */
static void heaps(void)
{
	enum { POOL = HS_HEAP_FIRST_REPORTED, OTHER_POOL };

	history_heap = POOL;
	history_allocate(A, 10, 0);
	history_heap = HS_HEAP_MALLOC;
	history_allocate(A, 20, 0);
	history_heap = OTHER_POOL;
	history_allocate(A, 5, 1);
	history_heap = POOL;
	history_free(A);
	history_allocate(B, 9, 0);
	history_heap = HS_HEAP_MALLOC;
	history_free(A);
	history_allocate(A, 20, 2);
	history_heap = OTHER_POOL;
	history_free(A);
	history_heap = HS_HEAP_MALLOC;
}

static const unsigned *order; /* numbers, in the order of arrival */
static unsigned first_order, order_step;
static void (*happen)(void), (*arrive)(void);

static void one_by_one(void)
{
	for (int i = 0; i < EVENTS; i++)
		history_deliver(order[i]);
}

/* What is missing is given up at once. */
static void giving_up_at_once(void)
{
	for (int i = 0; i < EVENTS; i++) {
		history_deliver(order[i]);
		history_give_up();
	}
}

/* The last event to arrive is given up, and then arrives. */
static void with_one_lost(void)
{
	for (int i = 0; i < EVENTS - 1; i++)
		history_deliver(order[i]);
	history_give_up();
	history_compare();
	history_deliver(order[EVENTS - 1]);
}

/* Each record comes again at once, and once more after the next one. */
static void each_three_times(void)
{
	for (int i = 0; i < EVENTS; i++) {
		history_deliver(order[i]);
		history_repeat(order[i]);
		if (i > 0)
			history_repeat(order[i - 1]);
	}
}

/* The n-th order of 1..8, by the factorial number system. */
static void make_order(unsigned n, unsigned numbers[EVENTS])
{
	unsigned left[EVENTS];

	for (unsigned i = 0; i < EVENTS; i++)
		left[i] = i + 1;
	for (unsigned i = 0, count = EVENTS; i < EVENTS; i++, count--) {
		unsigned pick = n % count;

		n /= count;
		numbers[i] = left[pick];
		memmove(&left[pick], &left[pick + 1], (count - pick - 1) * sizeof *left);
	}
}

/* In a process of its own, whose end frees the books of each order. */
static void play_some(void)
{
	for (unsigned n = first_order; n < first_order + ORDERS_PER_CHILD; n += order_step) {
		unsigned numbers[EVENTS];

		make_order(n, numbers);
		order = numbers;
		history_begin(n, 1);
		happen();
		CHECK_INT(oracle.logged, EVENTS);
		arrive();
		history_compare();
		history_free_all();
		history_end();
		if (check_failures > 20)
			return;
	}
}

static void play_all(void (*history_made)(void), void (*arrival)(void), unsigned step)
{
	happen = history_made;
	arrive = arrival;
	order_step = step;
	for (first_order = 0; first_order < ORDERS; first_order += ORDERS_PER_CHILD)
		in_child(play_some);
}

static void addresses_are_used_again(void)
{
	play_all(reuse, one_by_one, 1);
}

static void blocks_move(void)
{
	play_all(moves, one_by_one, 1);
}

static void peaks_are_equal(void)
{
	play_all(peaks, one_by_one, 1);
}

static void numbers_without_effect(void)
{
	play_all(tombstones, one_by_one, 1);
}

static void heaps_are_apart(void)
{
	play_all(heaps, one_by_one, 4);
}

static void no_number_is_waited_for(void)
{
	play_all(tombstones, giving_up_at_once, 4);
}

static void one_number_is_lost(void)
{
	play_all(moves, with_one_lost, 4);
}

static void records_come_again(void)
{
	play_all(reuse, each_three_times, 4);
}

int main(void)
{
	history_set_up();
	RUN(addresses_are_used_again);
	RUN(blocks_move);
	RUN(peaks_are_equal);
	RUN(numbers_without_effect);
	RUN(heaps_are_apart);
	RUN(no_number_is_waited_for);
	RUN(one_number_is_lost);
	RUN(records_come_again);
	return CHECK_RESULT();
}
