/* SPDX-License-Identifier: BSD-2-Clause */
/* Trails of walks in place.  See trail.h. */
#include "sample/trail.h"

#include "base/alone.h"
#include "base/likely.h"

_Static_assert(sizeof(struct hs_trail_step) == 16, "four in a cache line");
_Static_assert(sizeof(struct hs_trail) == 2 * HS_PAGE_BYTES, "see FIRST_STEP");

/* The first steps are left in the second page, where the places are. */
#define FIRST_STEP HS_PAGE_BYTES

/* So many trails are tried. */
#define TRIES 4u

struct hs_trail *hs_trail_take(struct hs_trail trails[HS_TRAILS], uint32_t oldest)
{
	uintptr_t self = hs_arch_thread_pointer(), walker;
	/* Hashed, because thread pointers are often at equal distances. */
	uint64_t hash = (self >> 6) * HS_HASH_FACTOR;
	struct hs_trail *trail;
	unsigned tried = 0;

	/*
	 * Acquire: pairs with the release in hs_trail_give_back().  If the walker is this thread
	 * already, a handler has jumped out of a walk.
	 */
	do {
		if (hs_unlikely(tried == TRIES))
			return NULL;
		trail = &trails[((hash >> 32) + tried++) % HS_TRAILS];
		walker = 0;
	} while (!hs_alone_compare_exchange(&trail->walker, &walker, self) && walker != self);
	if (trail->oldest != oldest) {
		/* If it is new there are none, and not all its pages are touched. */
		for (unsigned i = 0; trail->oldest != 0 && i <= HS_TRAIL_STEPS; i++)
			trail->steps[i].pc_and_next = 0;
		trail->end = FIRST_STEP;
		atomic_signal_fence(memory_order_seq_cst);
		trail->oldest = oldest;
	}
	return trail;
}

void hs_trail_give_back(struct hs_trail *trail)
{
	atomic_store_explicit(&trail->walker, 0, memory_order_release);
}
