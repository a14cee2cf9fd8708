/* SPDX-License-Identifier: BSD-2-Clause */
/* The heaps.  See heap.h. */
#include "sample/heap.h"

#include "base/options.h"
#include "sample/sampler.h"

struct hs_heap hs_heaps[HS_HEAP_LIMIT] = {
	[HS_HEAP_MALLOC] = {.name = "malloc", .state = HS_HEAP_REGISTERED},
};

_Atomic uint32_t hs_epoch = 1;

uint64_t hs_heap_interval(uint32_t heap)
{
	/* Relaxed: see hs_sampler_interval. */
	uint64_t now = atomic_load_explicit(&hs_sampler_interval, memory_order_relaxed);
	uint64_t asked = hs_heaps[heap].asked_bytes, most = hs_options.max_interval_bytes;
	unsigned __int128 raised;

	if (asked == hs_options.interval_bytes || now == 0)
		return now;
	if (asked == 0 || now <= hs_options.interval_bytes)
		return asked;
	raised = (unsigned __int128)asked * now / hs_options.interval_bytes;
	if (most == 0 || most > HS_INTERVAL_MAX)
		most = HS_INTERVAL_MAX;
	if (raised > most)
		raised = most;
	return raised > asked ? (uint64_t)raised : asked;
}

void hs_heap_lose(uint32_t heap, uint64_t size, uint64_t weight)
{
	struct hs_lost *lost = &hs_heaps[heap].lost;
	/* Rounded: cut off, the sum would be short by half a byte per sample. */
	unsigned __int128 bytes =
		((unsigned __int128)weight * size + HS_WEIGHT_ONE / 2) >> HS_WEIGHT_SHIFT;

	/* Relaxed: sums, which publish nothing. */
	atomic_fetch_add_explicit(&lost->objects_weight, weight, memory_order_relaxed);
	atomic_fetch_add_explicit(&lost->bytes, (uint64_t)bytes, memory_order_relaxed);
}
