/* SPDX-License-Identifier: BSD-2-Clause */
/* The heaps.  See heap.h. */
#include "sample/heap.h"

#include <errno.h>
#include <string.h>

#include "base/format.h"
#include "base/hot.h"

/* The part of a weight below 1. */
#define FRACTION (HS_WEIGHT_ONE - 1)

HS_SAMPLE_HEAPS struct hs_heap hs_heaps[HS_HEAP_LIMIT] = {
	[HS_HEAP_MALLOC] = {.name = "malloc",
			    .is_default = true,
			    .waits = true,
			    .state = HS_HEAP_REGISTERED},
};

HS_SAMPLE_WORDS _Atomic uint32_t hs_epoch = 1;
_Atomic uint64_t hs_heap_least_interval;

/* Changes with the set of heaps, before they are looked at. */
static _Atomic uint32_t changes;

uint64_t hs_heap_interval_at(uint32_t heap, uint64_t now)
{
	uint64_t asked = hs_heaps[heap].asked_bytes, most = hs_options.max_interval_bytes;
	unsigned __int128 raised;

	if (hs_heaps[heap].is_default || now == 0)
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

uint64_t hs_heap_sum(size_t count)
{
	uint64_t sum = 0;

	/* A heap that gets its name just now has counted nothing yet. */
	for (uint32_t heap = HS_HEAP_MALLOC; heap < HS_HEAP_LIMIT && hs_heaps[heap].name[0] != '\0';
	     heap++)
		/* Relaxed: counts, which publish nothing. */
		sum += atomic_load_explicit(
			(_Atomic uint64_t *)(void *)((char *)&hs_heaps[heap] + count),
			memory_order_relaxed);
	return sum;
}

uint64_t hs_heap_last_interval(uint32_t heap)
{
	return hs_heap_interval_at(heap, hs_sampler_last_interval());
}

uint64_t hs_heap_period(uint32_t heap, uint64_t now)
{
	uint64_t own = hs_heap_interval_at(heap, now);

	return own != 0 ? own : now;
}

static uint64_t least_interval(void)
{
	uint64_t least = 0;

	if (atomic_load(&hs_epoch) == 0)
		return 0;
	for (uint32_t heap = HS_HEAP_FIRST_REPORTED; heap < HS_HEAP_LIMIT; heap++) {
		uint64_t interval = 0;

		if (atomic_load(&hs_heaps[heap].state) == HS_HEAP_REGISTERED)
			interval = hs_heap_interval(heap);
		if (interval != 0 && (least == 0 || interval < least))
			least = interval;
	}
	return least;
}

void hs_heap_follow(void)
{
	uint32_t before;

	atomic_fetch_add(&changes, 1);
	/* If the heaps change meanwhile, what is stored may be out of date: repeat. */
	do {
		before = atomic_load(&changes);
		atomic_store(&hs_heap_least_interval, least_interval());
	} while (atomic_load(&changes) != before);
}

/* The number that an earlier heap of this name had, or a new one. */
static uint32_t find_number(const char *name, int *error)
{
	for (uint32_t heap = HS_HEAP_MALLOC; heap < HS_HEAP_LIMIT; heap++) {
		bool unused = atomic_load(&hs_heaps[heap].state) == HS_HEAP_UNUSED;

		if (hs_heaps[heap].name[0] == '\0')
			return heap;
		if (strcmp(hs_heaps[heap].name, name) != 0)
			continue;
		*error = -EEXIST;
		return unused ? heap : HS_HEAP_NONE;
	}
	*error = -ENOSPC;
	return HS_HEAP_NONE;
}

void hs_heap_set(uint32_t heap, uint64_t asked_bytes, bool waits)
{
	hs_heaps[heap].asked_bytes = asked_bytes;
	hs_heaps[heap].is_default = asked_bytes == hs_options.interval_bytes;
	hs_heaps[heap].waits = waits;
}

int hs_heap_make(const char *name, uint64_t asked_bytes, bool waits)
{
	int error = 0;
	uint32_t heap = find_number(name, &error);

	if (heap == HS_HEAP_NONE)
		return error;
	hs_format(hs_heaps[heap].name, sizeof hs_heaps[heap].name, "%s", name);
	hs_heap_set(heap, asked_bytes, waits);
	return (int)heap;
}

void hs_heap_register(uint32_t heap)
{
	atomic_store(&hs_heaps[heap].state, HS_HEAP_REGISTERED);
	hs_heap_follow();
}

bool hs_heap_unregister(uint32_t heap)
{
	uint32_t state = HS_HEAP_REGISTERED;

	if (!atomic_compare_exchange_strong(&hs_heaps[heap].state, &state, HS_HEAP_CLOSING))
		return state == HS_HEAP_CLOSING;
	hs_heap_follow();
	return true;
}

void hs_heap_gone(uint32_t heap)
{
	atomic_store(&hs_heaps[heap].state, HS_HEAP_UNUSED);
}

void hs_heap_lose(uint32_t heap, uint64_t size, uint64_t weight)
{
	struct hs_lost *lost = &hs_heaps[heap].lost;
	unsigned __int128 bytes = (unsigned __int128)weight * size;
	uint64_t fraction = (uint64_t)bytes & FRACTION, before;

	/* Relaxed: sums, which publish nothing. */
	atomic_fetch_add_explicit(&lost->objects, weight >> HS_WEIGHT_SHIFT, memory_order_relaxed);
	atomic_fetch_add_explicit(&lost->fractions, weight & FRACTION, memory_order_relaxed);
	before = atomic_fetch_add_explicit(&lost->byte_fractions, fraction, memory_order_relaxed);
	/* The sum is rounded, to the nearest, rather than what each sample adds to it. */
	bytes += (before + HS_WEIGHT_ONE / 2) & FRACTION;
	atomic_fetch_add_explicit(&lost->bytes, (uint64_t)(bytes >> HS_WEIGHT_SHIFT),
				  memory_order_relaxed);
}

unsigned __int128 hs_heap_lost_weight(uint32_t heap)
{
	const struct hs_lost *lost = &hs_heaps[heap].lost;
	uint64_t objects = atomic_load_explicit(&lost->objects, memory_order_relaxed);

	return ((unsigned __int128)objects << HS_WEIGHT_SHIFT) +
	       atomic_load_explicit(&lost->fractions, memory_order_relaxed);
}

void hs_heap_forget_lost(uint32_t heap)
{
	struct hs_lost *lost = &hs_heaps[heap].lost;

	atomic_store_explicit(&lost->objects, 0, memory_order_relaxed);
	atomic_store_explicit(&lost->fractions, 0, memory_order_relaxed);
	atomic_store_explicit(&lost->bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&lost->byte_fractions, 0, memory_order_relaxed);
}
