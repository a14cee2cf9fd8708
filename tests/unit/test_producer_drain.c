/* SPDX-License-Identifier: BSD-2-Clause */
/* A drain that finds many numbers missing looks through the slots once, not for each of them. */
#include "profile_testing.h"
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

int main(void)
{
	set_up();
	RUN(many_numbers_are_missing);
	RUN(nothing_is_missing);
	return CHECK_RESULT();
}
