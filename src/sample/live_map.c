/* SPDX-License-Identifier: BSD-2-Clause */
/* See live_map.h. */
#include "sample/live_map.h"

#include <errno.h>

#include "base/arena.h"
#include "base/hot.h"
#include "base/sys.h"

#define SHEET_BYTES (HS_MAP_SHEET_CELLS * sizeof(uint32_t))

/* Sheets kept ready ahead of use: so many, and one more for each so many in use. */
#define SHEETS_AHEAD 4u
#define SHEETS_AHEAD_SHARE 4u

/* Places in the table for each sheet that there may be. */
#define PLACES_PER_SHEET 4u

/* In place of a sheet's number + 1: a thread is about to set it. */
#define CLAIMED UINT32_MAX

/* The hash table if there is no map: empty. */
static _Atomic uint64_t no_regions[1];

HS_SAMPLE_WORDS struct hs_live_map hs_live_map = {.regions = no_regions};

/* Their numbers are below, each after the one before. */
static _Atomic uint32_t taken;  /* by regions: any thread */
static _Atomic uint32_t ready;  /* usable: start-up and the producer, as the next two */
static uint32_t touched, limit; /* with their pages; in all */

/* Makes sheets usable up to number `end`, or fewer if memory is short. */
static void make_sheets(uint32_t end)
{
	uint32_t sheet = atomic_load_explicit(&ready, memory_order_relaxed);

	for (; sheet < end && sheet < limit; sheet++) {
		if (hs_arena_commit(&hs_live_map.cells[(size_t)sheet * HS_MAP_SHEET_CELLS],
				    SHEET_BYTES) != 0)
			break;
		/* Release: the memory, for take_sheet(). */
		atomic_store_explicit(&ready, sheet + 1, memory_order_release);
	}
}

int hs_live_map_init(size_t most_bytes)
{
	struct hs_live_map map;
	uint32_t places = 1;

	limit = (uint32_t)(most_bytes / SHEET_BYTES);
	while (places < limit * PLACES_PER_SHEET)
		places *= 2;
	map.regions = hs_arena_zalloc(places * sizeof *map.regions);
	map.cells = hs_arena_reserve(limit * SHEET_BYTES);
	if (map.regions == NULL || map.cells == NULL) {
		hs_arena_free(map.regions);
		return -ENOMEM;
	}
	map.mask = places - 1;
	hs_live_map = map;
	make_sheets(SHEETS_AHEAD);
	return 0;
}

/* The number + 1 of a sheet that no region has; 0: there is none. */
static uint32_t take_sheet(void)
{
	uint32_t sheet = atomic_load_explicit(&taken, memory_order_relaxed);

	/* Acquire: the memory, of make_sheets(). */
	while (sheet < atomic_load_explicit(&ready, memory_order_acquire)) {
		if (atomic_compare_exchange_weak_explicit(
			    &taken, &sheet, sheet + 1, memory_order_relaxed, memory_order_relaxed))
			return sheet + 1;
	}
	return 0;
}

/*
 * Claims the entry of a region that has no sheet yet, for the caller to complete.  NULL: another
 * thread has claimed it, or the table has no place.
 */
static _Atomic uint64_t *claim(uint64_t region)
{
	uint32_t place = hs_live_map_place(region);

	for (uint32_t i = 0; i < HS_MAP_PROBES; i++) {
		_Atomic uint64_t *place_entry =
			&hs_live_map.regions[(place + i) & hs_live_map.mask];
		uint64_t entry = atomic_load_explicit(place_entry, memory_order_relaxed);

		if (entry != 0 && entry >> 32 != region)
			continue;
		if ((uint32_t)entry == 0 && atomic_compare_exchange_strong_explicit(
						    place_entry, &entry, region << 32 | CLAIMED,
						    memory_order_relaxed, memory_order_relaxed))
			return place_entry;
		if (entry >> 32 == region)
			return NULL;
	}
	return NULL;
}

/* Gives the region of an address a sheet. */
static __attribute__((noinline)) bool add_sheet(uint64_t address)
{
	uint64_t region = address >> HS_MAP_REGION_SHIFT;
	_Atomic uint64_t *entry;

	if (region == 0 || region > UINT32_MAX ||
	    atomic_load_explicit(&taken, memory_order_relaxed) >=
		    atomic_load_explicit(&ready, memory_order_relaxed))
		return false;
	entry = claim(region);
	/* Release: whoever finds the sheet by it may use its memory. */
	if (entry != NULL)
		atomic_store_explicit(entry, region << 32 | take_sheet(), memory_order_release);
	return entry != NULL;
}

bool hs_live_map_insert(uint64_t address, uint32_t slot)
{
	_Atomic uint32_t *cell = hs_live_map_cell(address);

	if (cell == NULL && (!hs_live_map_is_used() || !add_sheet(address) ||
			     (cell = hs_live_map_cell(address)) == NULL))
		return false;
	/* Release: the slot's fields, for searches on other threads. */
	atomic_store_explicit(cell, slot + 1, memory_order_release);
	return true;
}

bool hs_live_map_remove(uint64_t key, uint32_t slot)
{
	_Atomic uint32_t *cell = hs_live_map_cell(key);
	uint32_t held = slot + 1;

	return cell != NULL && atomic_load_explicit(cell, memory_order_relaxed) == held &&
	       atomic_compare_exchange_strong_explicit(cell, &held, 0, memory_order_relaxed,
						       memory_order_relaxed);
}

void hs_live_map_maintain(void)
{
	uint32_t used = atomic_load_explicit(&taken, memory_order_relaxed), end;

	if (!hs_live_map_is_used())
		return;
	make_sheets(used + SHEETS_AHEAD + used / SHEETS_AHEAD_SHARE);
	end = atomic_load_explicit(&ready, memory_order_relaxed);
	if (touched < end)
		hs_sys_touch(&hs_live_map.cells[(size_t)touched * HS_MAP_SHEET_CELLS],
			     (end - touched) * SHEET_BYTES);
	touched = end;
}
