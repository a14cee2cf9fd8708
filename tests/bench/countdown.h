/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by floor.c and capture_floor.c: each thread counts bytes down, a sample's address goes
 * into a table, and each freed address is looked up there and removed.  The table has 32 KiB, to
 * stay in the cache; a new entry replaces the one in its place.
 *
 * The includer defines first:
 *
 *     INTERVAL_BYTES                    the first countdown of a thread
 *     static int64_t take_sample(int64_t bytes_left);     returns the next countdown
 */
#ifndef HS_BENCH_COUNTDOWN_H
#define HS_BENCH_COUNTDOWN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_BITS 12

static __thread int64_t bytes_left = INTERVAL_BYTES;
static _Atomic uintptr_t sampled[1 << TABLE_BITS];

static inline _Atomic uintptr_t *place_of(const void *block)
{
	return &sampled[(uintptr_t)block * UINT64_C(0x9e3779b97f4a7c15) >> (64 - TABLE_BITS)];
}

static __attribute__((noinline)) void *enter_sample(void *block)
{
	bytes_left = take_sample(bytes_left);
	atomic_store_explicit(place_of(block), (uintptr_t)block, memory_order_relaxed);
	return block;
}

static __attribute__((noinline)) void remove_sample(const void *block)
{
	atomic_store_explicit(place_of(block), 0, memory_order_relaxed);
}

static inline bool count_allocation(size_t bytes)
{
	bytes_left -= (int64_t)bytes;
	return bytes_left < 0;
}

static inline void look_up(const void *block)
{
	uintptr_t found = atomic_load_explicit(place_of(block), memory_order_relaxed);

	if (__builtin_expect(found == (uintptr_t)block, 0))
		remove_sample(block);
}

#include "forward.h"

#endif
