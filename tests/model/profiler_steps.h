/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps of the worker and the producer, for scenarios that do not run their own loops. */
#ifndef HS_TESTS_MODEL_PROFILER_STEPS_H
#define HS_TESTS_MODEL_PROFILER_STEPS_H

#include "model.h"
#include "sample/live_set.h"
#include "sample/ring.h"

/* The worker sleeps as it does after it has read an item of this state. */
static inline void rest_at(struct hs_ring *ring, enum hs_ring_state state)
{
	if (state != HS_RING_COMMITTED)
		hs_ring_reader_sleep(ring, state == HS_RING_OPEN ? 1000000 : -1);
}

/* The producer takes all frees; deliver is called with their numbers. */
static inline void take_freed_and(void (*deliver)(uint64_t number))
{
	struct hs_freed_slots freed;
	uint32_t slot;

	hs_live_set_take_freed(&freed);
	while ((slot = hs_live_set_next_freed(&freed)) != HS_SLOT_NONE) {
		deliver(hs_live_set_free_sequence(slot));
		MODEL_CHECK(hs_live_set_recycle(slot, hs_live_set_generation(slot)));
	}
	hs_live_set_give_back();
}

#endif
