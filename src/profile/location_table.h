/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locations: the distinct (mapping, address, code) of all frames that are in stacks, numbered
 * from 0.  One that nobody holds any more goes, with its name, and its number is given out
 * again.
 *
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_PROFILE_LOCATION_TABLE_H
#define HS_PROFILE_LOCATION_TABLE_H

#include "base/interner.h"
#include "profile/shared_name.h"
#include "unwind/frame.h"

#define HS_LOCATION_NONE HS_INTERNER_NONE

/* Mappings made up for generated code that is in none: where it is known from. */
#define HS_MAPPING_JIT_PERF_MAP (HS_MAPPING_NONE - 2)
#define HS_MAPPING_JIT_GDB (HS_MAPPING_NONE - 3)

/* Of profile/frame_filter.h. */
enum hs_verdict { HS_VERDICT_NONE, HS_VERDICT_SHOWN, HS_VERDICT_HIDDEN };

struct hs_location {
	uint64_t address;        /* call site; of a pseudo frame: enum hs_pseudo_frame */
	uint32_t mapping;        /* HS_MAPPING_NONE: pseudo frame */
	uint32_t code;           /* of generated code: see profile/jit_frames.h; else 0 */
	enum hs_verdict verdict; /* beside the key: known stacks are compared by both */
	uint32_t holders;        /* nodes of callsite_trie.h, and a verdict that is to stay */
	const char *name;        /* NULL: not named yet */
	const char *system_name; /* linkage name; NULL: as name, or not known by a symbol */
	struct hs_shared_name *held_name; /* where these are; NULL: they are not the location's */
	uint32_t later_code;              /* known after the frame was met; not part of the key */
};

struct hs_location_table {
	struct hs_interner interner;
};

int hs_location_table_init(struct hs_location_table *table);
void hs_location_table_fini(struct hs_location_table *table);

/* What a location has of a frame: all code of which nothing is known is one. */
static inline struct hs_frame hs_location_frame(struct hs_frame frame)
{
	if (frame.mapping == HS_MAPPING_UNKNOWN ||
	    (frame.mapping == HS_MAPPING_NONE && frame.address >= HS_PSEUDO_COUNT))
		return (struct hs_frame){HS_PSEUDO_UNKNOWN, HS_MAPPING_NONE};
	return frame;
}

/*
 * The location of a frame, or HS_LOCATION_NONE when out of memory.  A new one is held by
 * nobody yet, and stays until somebody has held it, or it is settled.
 */
uint32_t hs_location_table_intern(struct hs_location_table *table, struct hs_frame frame,
				  uint32_t code);

void hs_location_table_hold(struct hs_location_table *table, uint32_t location);
void hs_location_table_release(struct hs_location_table *table, uint32_t location);

/* Let the location go if nobody holds it. */
void hs_location_table_settle(struct hs_location_table *table, uint32_t location);

/*
 * Give a location a name, in place of the one it has: a shared one, which it holds then
 * (NULL: none), or one that outlives it.
 */
void hs_location_set_name(struct hs_location *location, struct hs_shared_name *name);
void hs_location_set_lasting_name(struct hs_location *location, const char *name);

/* Valid until the next intern. */
static inline struct hs_location *hs_location_table_get(const struct hs_location_table *table,
							uint32_t location)
{
	return hs_interner_item(&table->interner, location);
}

#endif
