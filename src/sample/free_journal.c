/* SPDX-License-Identifier: BSD-2-Clause */
/* See free_journal.h. */
#include "sample/free_journal.h"

#include <errno.h>

#include "arch/regs.h"
#include "base/alone.h"
#include "base/arena.h"
#include "base/hot.h"
#include "base/sys.h"
#include "sample/live_set.h"
#include "sample/sampler.h"

/* An entry: lap << 48 | bits of the address << 32 | slot + 1. */
#define LAP_SHIFT 48
#define BITS_SHIFT 32

/* So many entries get their pages before they are used. */
#define TOUCHED_AHEAD ((uint64_t)32 << 10)

/*
 * Where samples are dense the entry so far ahead is prefetched for writing: the producer wrote its
 * cache line last.
 */
#define FETCHED_AHEAD 16u

HS_SAMPLE_DATA struct hs_free_journal hs_free_journal;

static uint64_t touched; /* entries below have their pages; the producer's own */

static _Atomic uint64_t *place(uint64_t number)
{
	return &hs_free_journal.entries[number & (hs_free_journal.count - 1)];
}

static uint64_t lap_of(uint64_t number)
{
	return number >> hs_free_journal.lg;
}

/*
 * An entry holds the lowest bits of its lap.  Up to this many laps ahead of a number it counts as
 * ahead, else as late.  That lets the producer be behind by 134 million freed samples with the
 * smaller journal.
 */
#define LAPS_MASK (((uint64_t)1 << (64 - LAP_SHIFT)) - 1)
#define LAPS_AHEAD 8192u

/* Whether the entry in the place of a number is of its lap, of a later or of an earlier one. */
enum turn { IN_TIME, AHEAD, LATE };

static enum turn turn_of(uint64_t entry, uint64_t number)
{
	uint64_t laps = ((entry >> LAP_SHIFT) - lap_of(number)) & LAPS_MASK;

	if (laps == 0)
		return IN_TIME;
	return laps < LAPS_AHEAD ? AHEAD : LATE;
}

int hs_free_journal_init(uint64_t count)
{
	size_t bytes = count * sizeof *hs_free_journal.entries;
	_Atomic uint64_t *entries = hs_arena_reserve(bytes);

	if (entries == NULL || hs_arena_commit(entries, bytes) != 0)
		return -ENOMEM;
	hs_free_journal = (struct hs_free_journal){
		.entries = entries,
		.count = count,
		.lg = (unsigned)__builtin_ctzll(count),
	};
	return 0;
}

void hs_free_journal_fetch(uint64_t number)
{
	hs_arch_prefetch_write(place(number));
}

bool hs_free_journal_put(uint64_t number, uint32_t slot, uint64_t address)
{
	uint64_t entry = lap_of(number) << LAP_SHIFT |
			 (uint64_t)hs_free_journal_bits(address) << BITS_SHIFT | (slot + 1);
	uint64_t interval = atomic_load_explicit(&hs_sampler_interval, memory_order_relaxed);
	uint64_t none = 0;

	if (interval <= HS_DENSE_INTERVAL)
		hs_free_journal_fetch(number + FETCHED_AHEAD);
	/*
	 * Not by the exchange alone: without a lock prefix it writes back what it has read even
	 * if it fails, and could undo the producer's clearing.
	 */
	if (atomic_load_explicit(place(number), memory_order_relaxed) != 0)
		return false;
	/* Release: the producer sees the sample entered. */
	return hs_alone_compare_exchange(place(number), &none, entry);
}

bool hs_free_journal_take(uint64_t number, struct hs_journaled *out)
{
	/* Acquire: pairs with hs_free_journal_put(). */
	uint64_t entry = atomic_load_explicit(place(number), memory_order_acquire);

	if (entry == 0 || turn_of(entry, number) == AHEAD)
		return false;
	*out = (struct hs_journaled){
		.slot = (uint32_t)entry - 1,
		.address_bits =
			(uint32_t)(entry >> BITS_SHIFT) & ((1u << (LAP_SHIFT - BITS_SHIFT)) - 1),
		.is_late = turn_of(entry, number) == LATE,
	};
	atomic_store_explicit(place(number), 0, memory_order_relaxed);
	return true;
}

bool hs_free_journal_is_late(uint64_t number)
{
	uint64_t entry;

	if ((number & (hs_free_journal.count - 1)) >= touched)
		return false;
	entry = atomic_load_explicit(place(number), memory_order_relaxed);
	return entry != 0 && turn_of(entry, number) == LATE;
}

uint32_t hs_free_journal_peek(uint64_t number)
{
	return (uint32_t)atomic_load_explicit(place(number), memory_order_relaxed) - 1;
}

uint64_t hs_free_journal_first(uint64_t from, uint64_t to)
{
	if (to - from > hs_free_journal.count)
		to = from + hs_free_journal.count;
	for (uint64_t number = from; number < to; number++) {
		uint64_t entry = atomic_load_explicit(place(number), memory_order_relaxed);

		if (entry != 0 && turn_of(entry, number) == IN_TIME)
			return number;
	}
	return 0;
}

void hs_free_journal_maintain(uint64_t next)
{
	uint64_t end = next + TOUCHED_AHEAD;

	if (end > hs_free_journal.count)
		end = hs_free_journal.count;
	if (touched >= end)
		return;
	hs_sys_touch(&hs_free_journal.entries[touched],
		     (end - touched) * sizeof *hs_free_journal.entries);
	touched = end;
}
