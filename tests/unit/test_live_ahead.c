/* SPDX-License-Identifier: BSD-2-Clause */
/* Where samples are rare little memory is usable ahead of them, and yet there is always a slot. */
#include "base/arena.h"
#include "check.h"
#include "sample/live_set.h"

#define MIB ((size_t)1 << 20)
#define ASKED (96u << 10) /* SLOT_HEADROOM in session/threads.c */

enum { SLOTS = 1000000, EXPECTED = 512, BURST = 8000, TAKEN = 400000 };

static void little_is_usable_at_first(void)
{
	struct hs_live_setup setup = {
		.slots = SLOTS,
		.expected = EXPECTED,
		.has_filter = true,
		.interval_bytes = MIB,
		.keeps_few_ahead = true,
	};
	struct hs_taken_slot taken;

	CHECK_INT(hs_live_set_init(&setup), 0);
	CHECK(hs_live_set_take(&taken));
	CHECK_INT(hs_live_set_maintain(ASKED), 0);
	CHECK(hs_arena_used() <= 2 * MIB);
}

/* As many at a time as come before the producer looks, and many more. */
static void there_is_a_slot_for_each_sample(void)
{
	for (unsigned count = 0; count < TAKEN; count += BURST) {
		for (unsigned i = 0; i < BURST; i++) {
			struct hs_taken_slot taken;

			CHECK(hs_live_set_take(&taken));
		}
		CHECK_INT(hs_live_set_maintain(ASKED), 0);
	}
}

int main(void)
{
	CHECK_INT(hs_arena_init(256 * MIB), 0);
	RUN(little_is_usable_at_first);
	RUN(there_is_a_slot_for_each_sample);
	return CHECK_RESULT();
}
