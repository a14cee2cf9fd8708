/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives locations their names, a mapping at a time.
 * Threads: the producer, while it makes a snapshot.  Memory: the arena.
 */
#ifndef HS_PROFILE_NAMES_H
#define HS_PROFILE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "maps/mapping_table.h"
#include "profile/location_table.h"

/* What is known of the objects whose names were read, by mapping id. */
struct hs_names {
	bool *has_dwarf;
	uint32_t count;
};

/* Called between pieces of work; the books may grow meanwhile. */
struct hs_pauses {
	void (*pause)(void *context); /* NULL: not called */
	void *context;
	uint32_t pieces; /* since the last pause */
};

/* A pause now; and one if enough pieces of work, of which one is done, were since the last. */
void hs_pauses_take(struct hs_pauses *pauses);
void hs_pauses_count(struct hs_pauses *pauses);

/*
 * Name those of the count locations in ids that have no name; all are of mapping id.
 * Reads the object's symbol tables if there are such.  Equal names next to each other
 * share their text.  A location stays unnamed when the arena is used up.
 */
void hs_names_fill(struct hs_names *names, const struct hs_location_table *locations,
		   const uint32_t *ids, uint32_t count, const struct hs_mapping *mapping,
		   uint32_t id, struct hs_pauses *pauses);

/* Whether the object itself was found to have DWARF; false if it was never read. */
bool hs_names_has_dwarf(const struct hs_names *names, uint32_t id);

void hs_names_fini(struct hs_names *names);

#endif
