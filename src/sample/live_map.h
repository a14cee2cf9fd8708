/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The map: from a block's address to its sample.  It takes the place of the index's tables for
 * programs that have most of what they allocate sampled.
 *
 * Each 16 bytes of the address space have a cell: slot + 1 of the live sample that begins there, or
 * 0.  Neighbouring blocks have neighbouring cells, so if a block is in the processor's caches its
 * cell usually is too.  A cell belongs to the owner of the memory: entering a sample is one store.
 *
 * The cells of a region of 1 MiB are a sheet.  A hash table finds the sheet of a region; a region
 * gets one with its first sample, and keeps it.  A block goes into the index's tables if its
 * address is no multiple of 16, or there is no memory for a sheet.
 */
#ifndef HS_SAMPLE_LIVE_MAP_H
#define HS_SAMPLE_LIVE_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/visibility.h"

#define HS_MAP_REGION_SHIFT 20
#define HS_MAP_CELL_SHIFT 4
#define HS_MAP_SHEET_CELLS (1u << (HS_MAP_REGION_SHIFT - HS_MAP_CELL_SHIFT))

/* The places of the hash table that are tried for a region, one after the other. */
#define HS_MAP_PROBES 32u

/* Set at start-up; the entries change.  Read at each sample and each free. */
struct hs_live_map {
	_Atomic uint64_t *regions; /* the hash table: region << 32 | sheet + 1; 0: empty */
	uint32_t mask;             /* number of its places - 1 */
	_Atomic uint32_t *cells;   /* of all sheets, in one piece; NULL: there is no map */
};
extern HS_HIDDEN struct hs_live_map hs_live_map;

/* Without a map all samples are in the tables. */
static inline bool hs_live_map_is_used(void)
{
	return hs_live_map.cells != NULL;
}

static inline uint32_t hs_live_map_place(uint64_t region)
{
	uint32_t hash = (uint32_t)region * 0x9e3779b1u;

	return hash ^ hash >> 16;
}

/*
 * The cell of an address; NULL: it has none, or none yet.  Any thread.
 * Ordering: acquire, the sheet's number with its memory, which was made before.
 */
static inline _Atomic uint32_t *hs_live_map_cell(uint64_t address)
{
	uint64_t region = address >> HS_MAP_REGION_SHIFT;
	uint32_t place = hs_live_map_place(region), cell;

	if ((address & ((1u << HS_MAP_CELL_SHIFT) - 1)) != 0)
		return NULL;
	cell = address >> HS_MAP_CELL_SHIFT & (HS_MAP_SHEET_CELLS - 1);
	for (uint32_t i = 0; i < HS_MAP_PROBES; i++) {
		uint64_t entry = atomic_load_explicit(
			&hs_live_map.regions[(place + i) & hs_live_map.mask], memory_order_acquire);
		uint32_t sheet = (uint32_t)entry - 1;

		if (entry == 0)
			break;
		if (entry >> 32 == region && (int32_t)sheet >= 0)
			return &hs_live_map.cells[(size_t)sheet * HS_MAP_SHEET_CELLS + cell];
	}
	return NULL;
}

/*
 * slot + 1 of a key, which may be any number, not only an address; 0: none.  Any thread.
 * Ordering: relaxed, as hs_live_set_may_hold_key().
 */
static inline uint32_t hs_live_map_find(uint64_t key)
{
	const _Atomic uint32_t *cell = hs_live_map_cell(key);

	return cell != NULL ? atomic_load_explicit(cell, memory_order_relaxed) : 0;
}

/* most_bytes: of arena memory.  Start-up.  0, or -ENOMEM: there is no map. */
int hs_live_map_init(size_t most_bytes);

/*
 * Enters a slot for a block that malloc() has not returned yet.  False: its address has no cell.
 * Any thread, lock-free.
 */
bool hs_live_map_insert(uint64_t address, uint32_t slot);

/*
 * Clears the cell of a key if it has this slot; whether it had.  Any thread, lock-free: after a
 * realloc() the memory, and with it the cell, may be another thread's.
 */
bool hs_live_map_remove(uint64_t key, uint32_t slot);

/* Makes sheets usable, with their pages, ahead of the program.  The producer. */
void hs_live_map_maintain(void);

#endif
