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
#include "symbolize/debug_file.h"

/* What is known of an object whose names were asked for. */
struct hs_names_object {
	struct hs_debug_key *debug_key; /* NULL: not read yet, or not to be had */
	uint64_t debug_version;         /* of the debug file, when it was read */
	bool has_dwarf;
	bool hopeless; /* not to be read again */
};

/* By mapping id. */
struct hs_names {
	struct hs_names_object *objects;
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
 * Those that no symbol contained get a name of one when a debug file has appeared or
 * changed since.  Reads the object's symbol tables only if there is something to name.
 * Equal names next to each other share their text.  A location stays unnamed when the
 * arena is used up.
 */
void hs_names_fill(struct hs_names *names, const struct hs_location_table *locations,
		   const uint32_t *ids, uint32_t count, const struct hs_mapping *mapping,
		   uint32_t id, struct hs_pauses *pauses);

/* Whether the object itself was found to have DWARF; false if it was never read. */
bool hs_names_has_dwarf(const struct hs_names *names, uint32_t id);

void hs_names_fini(struct hs_names *names);

#endif
