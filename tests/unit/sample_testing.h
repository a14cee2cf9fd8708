/* SPDX-License-Identifier: BSD-2-Clause */
/* Short names for what many tests do with the live set and a ring. */
#ifndef SAMPLE_TESTING_H
#define SAMPLE_TESTING_H

#include "sample/live_map.h"
#include "sample/live_set.h"
#include "sample/ring.h"

/* Makes the set; with a filter, unless there is a map. */
static inline int live_init(uint32_t slots, uint32_t expected)
{
	struct hs_live_setup setup = {
		.slots = slots,
		.expected = expected,
		.has_filter = !hs_live_map_is_used(),
		.interval_bytes = 1 << 20,
	};

	return hs_live_set_init(&setup);
}

static inline bool live_insert(struct hs_taken_slot taken, const void *address)
{
	return hs_live_set_insert_id(&taken, HS_HEAP_MALLOC, (uintptr_t)address);
}

static inline uint32_t live_free(const void *address)
{
	return hs_live_set_free_id(HS_HEAP_MALLOC, (uintptr_t)address);
}

/* Ends the use of the record last read, and gives its room back to writers at once. */
static inline void ring_release(struct hs_ring *ring)
{
	hs_ring_pass(ring);
	hs_ring_give_back(ring);
}

#endif
