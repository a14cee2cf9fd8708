/* SPDX-License-Identifier: BSD-2-Clause */
/* A drain that finds many numbers missing looks through the slots once, not for each of them. */
#include "profile_testing.h"

#include "base/alone.h"
#include "sample/live_slots.h"

enum { SAMPLES = 3000, UNLISTED = 7 };

#define A UINT64_C(0x10000)

static struct hs_producer *producer;
static unsigned sweeps;

bool __real_hs_live_set_sweep_freed(uint64_t stuck_before);
bool __wrap_hs_live_set_sweep_freed(uint64_t stuck_before);

/* The linker replaces calls of the function by calls of this one (-Wl,--wrap). */
bool __wrap_hs_live_set_sweep_freed(uint64_t stuck_before)
{
	sweeps++;
	return __real_hs_live_set_sweep_freed(stuck_before);
}

static void *block(unsigned i)
{
	return (void *)(uintptr_t)(A + 16 * (uint64_t)i);
}

/* Of every two numbers one is missing.  Some frees were never put on the freed list. */
static void many_numbers_are_missing(void)
{
	uint64_t gaps = hs_stats_get(sequence_gaps);
	unsigned listed = 0;

	producer = new_producer(NULL, 0);
	for (unsigned i = 0; i < SAMPLES; i++) {
		union test_record record = allocate((uintptr_t)block(i), 10, 1, 0);

		take(producer, &record);
	}
	hs_producer_commit(producer);
	for (unsigned i = 0; i < SAMPLES; i++) {
		hs_sequence.next++;
		if (i % UNLISTED == 0) {
			uint32_t slot = hs_live_set_begin_move(block(i));

			CHECK(slot != HS_SLOT_NONE);
			/* As if the thread had died in hs_live_set_end_move(). */
			CHECK(hs_slot_move_state(hs_live_slot(slot), HS_SLOT_MOVING,
						 HS_SLOT_FREED));
		} else {
			release((uintptr_t)block(i));
			listed++;
		}
	}
	CHECK_INT(hs_producer_take_freed(producer), listed);
	sweeps = 0;
	hs_producer_commit_before(producer, hs_sequence.next);
	CHECK_INT(sweeps, 1);
	CHECK_INT(hs_stats_get(sequence_gaps) - gaps, SAMPLES);
	CHECK_INT(hs_producer_next_number(producer), hs_sequence.next);
	CHECK_INT(hs_live_set_used(), 0);
	check_sums(producer, SAMPLES, 10 * SAMPLES, 0, 0);
}

/* If nothing is missing there is no reason to. */
static void nothing_is_missing(void)
{
	producer = new_producer(NULL, 0);
	for (unsigned i = 0; i < SAMPLES; i++) {
		union test_record record = allocate((uintptr_t)block(i), 10, 1, 0);

		take(producer, &record);
		release((uintptr_t)block(i));
	}
	sweeps = 0;
	CHECK_INT(hs_producer_take_freed(producer), SAMPLES);
	hs_producer_commit_before(producer, hs_sequence.next);
	CHECK_INT(sweeps, 0);
	check_sums(producer, SAMPLES, 10 * SAMPLES, 0, 0);
}

/* A thread has died in hs_live_set_end_move(): its number is not missing. */
static void a_free_that_was_not_listed_is_no_gap(void)
{
	uint64_t gaps = hs_stats_get(sequence_gaps);
	union test_record record;
	uint32_t slot;

	producer = new_producer(NULL, 0);
	record = allocate(A, 10, 1, 0);
	take(producer, &record);
	hs_producer_commit(producer);
	slot = hs_live_set_begin_move(block(0));
	CHECK(hs_slot_move_state(hs_live_slot(slot), HS_SLOT_MOVING, HS_SLOT_FREED));
	record = allocate(A + 16, 10, 1, 0);
	take(producer, &record);
	CHECK(hs_producer_commit(producer));
	hs_producer_skip_gap(producer, hs_sequence.next);
	CHECK_INT(hs_producer_next_number(producer), hs_sequence.next);
	CHECK_INT(hs_stats_get(sequence_gaps) - gaps, 0);
	check_sums(producer, 2, 20, 1, 10);
	CHECK_INT(live_free(block(1)), 1);
	hs_producer_take_freed(producer);
}

/* A thread has died before it took a number; there is none for it while the program is alone. */
static void a_free_without_number_waits_for_one(void)
{
	static const char is_alone = 1;
	union test_record record;

	producer = new_producer(NULL, 0);
	hs_alone_begin(&is_alone);
	record = allocate(A, 10, 1, 0);
	take(producer, &record);
	CHECK(hs_slot_move_state(hs_live_slot(record.head.slot), HS_SLOT_LIVE, HS_SLOT_FREED));
	hs_sequence.next++;
	record = allocate(A + 16, 10, 1, 0);
	take(producer, &record);
	hs_producer_commit_before(producer, hs_sequence.next);
	check_sums(producer, 2, 20, 2, 20);
	hs_alone_end();
	hs_producer_commit_before(producer, hs_sequence.next);
	check_sums(producer, 2, 20, 1, 10);
	CHECK_INT(live_free(block(1)), 1);
	hs_producer_take_freed(producer);
	CHECK_INT(hs_live_set_used(), 0);
}

static void slots_do_not_wait_to_be_given_back(void)
{
	union test_record record;

	producer = new_producer(NULL, 0);
	record = allocate(A, 10, 1, 0);
	release(A);
	CHECK_INT(hs_producer_take_freed(producer), 1);
	take(producer, &record);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(hs_live_set_used(), 0);
	CHECK_INT(hs_live_slots.returned, 0);
}

int main(void)
{
	set_up();
	RUN(many_numbers_are_missing);
	RUN(nothing_is_missing);
	RUN(a_free_that_was_not_listed_is_no_gap);
	RUN(a_free_without_number_waits_for_one);
	RUN(slots_do_not_wait_to_be_given_back);
	return CHECK_RESULT();
}
