/* SPDX-License-Identifier: BSD-2-Clause */
/* Trails of walks in place.  See trail.h. */
#include "sample/trail.h"

#include "base/alone.h"
#include "base/hash.h"

_Static_assert(sizeof(struct hs_trail_step) == 16, "four in a cache line");

struct hs_trail *hs_trail_take(struct hs_trail trails[HS_TRAILS], uint32_t oldest)
{
	uintptr_t self = hs_arch_thread_pointer(), walker = 0;
	/* Hashed, because thread pointers are often at equal distances. */
	uint64_t hash = (self >> 6) * HS_HASH_FACTOR;
	struct hs_trail *trail = &trails[hash >> 32 & (HS_TRAILS - 1)];

	/*
	 * Acquire: pairs with the release in hs_trail_give_back().  If the walker is this thread
	 * already, a handler has jumped out of a walk.
	 */
	if (!hs_alone_compare_exchange(&trail->walker, &walker, self) && walker != self)
		return NULL;
	if (trail->oldest != oldest) {
		for (unsigned i = 0; i < HS_TRAIL_PLACES; i++)
			trail->steps[i].pc = 0;
		atomic_signal_fence(memory_order_seq_cst);
		trail->oldest = oldest;
	}
	return trail;
}

void hs_trail_give_back(struct hs_trail *trail)
{
	atomic_store_explicit(&trail->walker, 0, memory_order_release);
}
