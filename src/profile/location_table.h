/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locations: the distinct (mapping, address, code) of all frames in stacks, numbered from 0.
 * Without holders one is removed with its name, and its number is given out again.
 *
 * Called on: the producer.  Allocates: from the arena.
 */
#ifndef HS_PROFILE_LOCATION_TABLE_H
#define HS_PROFILE_LOCATION_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/interner.h"
#include "profile/shared_name.h"
#include "unwind/frame.h"

#define HS_LOCATION_NONE HS_INTERNER_NONE

/* Made-up mappings for generated code that is in none, by the source that tells of it. */
#define HS_MAPPING_JIT_PERF_MAP (HS_MAPPING_NONE - 2)
#define HS_MAPPING_JIT_GDB (HS_MAPPING_NONE - 3)

/* Whether a location is shown, as profile/frame_filter.h has decided. */
enum hs_verdict { HS_VERDICT_NONE, HS_VERDICT_SHOWN, HS_VERDICT_HIDDEN };

struct hs_location {
	uint64_t address;        /* call site; of a pseudo frame: enum hs_pseudo_frame */
	uint32_t mapping;        /* HS_MAPPING_NONE: pseudo frame */
	uint32_t code;           /* of generated code: see profile/jit_frames.h; else 0 */
	enum hs_verdict verdict; /* of profile/frame_filter.h.  The key ends before it */
	uint32_t holders;        /* nodes of callsite_trie.h, and a verdict that is kept */
	const char *name;        /* NULL: not named yet */
	const char *system_name; /* linkage name; NULL: as name, or not known by a symbol */
	struct hs_shared_name *held_name; /* what has both names; NULL: something that lasts */
	uint32_t later_code; /* code that became known only later: not part of the key */
	uint32_t edition;    /* of its object (profile/names.h), when no symbol contained it */
};

struct hs_location_table {
	struct hs_interner interner;
};

int hs_location_table_init(struct hs_location_table *table);
void hs_location_table_fini(struct hs_location_table *table);

/* The frame that a location is made of: all frames of which nothing is known are one. */
static inline struct hs_frame hs_location_frame(struct hs_frame frame)
{
	if (frame.mapping == HS_MAPPING_UNKNOWN ||
	    (frame.mapping == HS_MAPPING_NONE && frame.address >= HS_PSEUDO_COUNT))
		return (struct hs_frame){HS_PSEUDO_UNKNOWN, HS_MAPPING_NONE};
	return frame;
}

/*
 * The location of a frame, added if need be.  A new one has no holders; it stays until the last
 * holder releases it, or it is settled.  HS_LOCATION_NONE: out of memory.
 */
uint32_t hs_location_table_intern(struct hs_location_table *table, struct hs_frame frame,
				  uint32_t code);

/*
 * If there is a location of the frame whose code was not known, it is of this code from now on, or
 * was found to be before.  False: there is none, or it is of other code.
 */
bool hs_location_table_learn_code(struct hs_location_table *table, struct hs_frame frame,
				  uint32_t code);

void hs_location_table_hold(struct hs_location_table *table, uint32_t location);
void hs_location_table_release(struct hs_location_table *table, uint32_t location);

/* Removes a location without holders. */
void hs_location_table_settle(struct hs_location_table *table, uint32_t location);

/*
 * Replaces a location's name: by a shared one, which it then holds (NULL: by none), or by one that
 * outlives the location.
 */
void hs_location_set_name(struct hs_location *location, struct hs_shared_name *name);
void hs_location_set_lasting_name(struct hs_location *location, const char *name);

/* Valid until the next hs_location_table_intern(). */
static inline struct hs_location *hs_location_table_get(const struct hs_location_table *table,
							uint32_t location)
{
	return hs_interner_item(&table->interner, location);
}

/* Locations of one mapping, one at least, in ascending order of their addresses. */
struct hs_location_run {
	const struct hs_location_table *table;
	const uint32_t *ids;
	uint32_t count;
};

/* Valid as long. */
static inline struct hs_location *hs_location_run_get(const struct hs_location_run *run, uint32_t i)
{
	return hs_location_table_get(run->table, run->ids[i]);
}

#endif
