/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting frees: each becomes due once and in time, however far apart the numbers are. */
#include "profile/waiting_frees.h"

#include "base/arena.h"
#include "check.h"
#include "random_numbers.h"
#include "sample/live_set.h"
#include "sample/sequence.h"
#include "sample_testing.h"

enum { FREES = 3000 };

static struct hs_waiting_frees frees;
static uint64_t numbers[FREES]; /* by slot; 0: taken */
static uint64_t state;

static uint64_t lowest(void)
{
	uint64_t lowest = 0;

	for (unsigned i = 0; i < FREES; i++) {
		if (numbers[i] != 0 && (lowest == 0 || numbers[i] < lowest))
			lowest = numbers[i];
	}
	return lowest;
}

/* Makes a freed sample with that number, taken from the freed list. */
static uint32_t make_free(uint64_t number)
{
	struct hs_taken_slot taken = {HS_SLOT_NONE, 0};
	void *address = (void *)(uintptr_t)(number * 16);
	struct hs_freed_slots freed;

	CHECK(hs_live_set_take(&taken));
	CHECK(live_insert(taken, address));
	hs_sequence.next = number;
	CHECK_INT(live_free(address), 1);
	hs_live_set_take_freed(&freed);
	CHECK_INT(hs_live_set_next_freed(&freed), taken.slot);
	return taken.slot;
}

static void take_due(uint64_t next)
{
	uint32_t slot;

	while ((slot = hs_waiting_frees_take(&frees, next)) != HS_SLOT_NONE) {
		CHECK(numbers[slot] != 0 && numbers[slot] < next + HS_WAITING_DUE);
		numbers[slot] = 0;
		CHECK(hs_live_set_recycle(slot, hs_live_set_generation(slot)));
	}
	hs_live_set_give_back();
	CHECK_INT(hs_waiting_frees_first(&frees), lowest());
	CHECK(frees.count == 0 || !hs_waiting_frees_is_due(lowest(), next));
	CHECK(frees.count == 0 || lowest() >= next + HS_WAITING_SPAN);
}

/* Adds numbers up to `range` ahead, while the number waited for advances by up to `step`. */
static void play(uint64_t range, uint64_t step, uint64_t seed)
{
	uint64_t next = 1;
	unsigned added = 0;

	state = seed;
	hs_waiting_frees_init(&frees);
	take_due(next);
	while (added < FREES || frees.count > 0) {
		for (uint64_t i = random_below(&state, 50); i > 0 && added < FREES; i--) {
			uint64_t number = next + HS_WAITING_DUE + random_below(&state, range);
			uint32_t slot = make_free(number);

			CHECK(slot < FREES && numbers[slot] == 0);
			numbers[slot] = number;
			hs_waiting_frees_add(&frees, slot);
			added++;
		}
		next += random_below(&state, step);
		take_due(next);
	}
	CHECK_INT(hs_live_set_used(), 0);
}

static void near_and_far(void)
{
	play(1, 300, 1);
	play(1000, 100, 2);
	play(100000, 3000, 3);
	/* Farther ahead than there are lists, and in steps that pass all of these. */
	play(3000000, 30000, 4);
	play(1000000, 1000000, 5);
}

/* One alone, in each of the lists. */
static void wherever_it_waits_it_is_found(void)
{
	for (uint64_t span = 0; span < 2 * HS_WAITING_LISTS; span++) {
		uint64_t number = HS_WAITING_DUE + span * HS_WAITING_SPAN;
		uint32_t slot = make_free(number);

		hs_waiting_frees_init(&frees);
		CHECK_INT(hs_waiting_frees_take(&frees, 1), HS_SLOT_NONE);
		hs_waiting_frees_add(&frees, slot);
		CHECK_INT(hs_waiting_frees_first(&frees), number);
		CHECK_INT(hs_waiting_frees_take(&frees, number - HS_WAITING_DUE), HS_SLOT_NONE);
		CHECK_INT(hs_waiting_frees_take(&frees, number), slot);
		CHECK(hs_live_set_recycle(slot, hs_live_set_generation(slot)));
		hs_live_set_give_back();
	}
}

int main(void)
{
	CHECK_INT(hs_arena_init((size_t)64 << 20), 0);
	CHECK_INT(live_init(FREES, FREES), 0);
	RUN(near_and_far);
	RUN(wherever_it_waits_it_is_found);
	return CHECK_RESULT();
}
