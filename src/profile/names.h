/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives locations their names, a mapping at a time while a snapshot is made, or one by one
 * where a name is needed at once.
 * Threads: the producer.  Memory: the arena.  Blocks: reads files.
 */
#ifndef HS_PROFILE_NAMES_H
#define HS_PROFILE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pauses.h"
#include "maps/mapping_table.h"
#include "profile/location_table.h"
#include "symbolize/debug_file.h"
#include "symbolize/symbols.h"

/* What is known of an object whose names were asked for. */
struct hs_names_object {
	struct hs_debug_key *debug_key; /* NULL: not read yet, or not to be had */
	uint64_t debug_version;         /* of the debug file, when it was read */
	struct hs_symbols *kept; /* by hs_names_find(); NULL: none */
	uint64_t used;           /* which use of hs_names_find() was the last */
	bool has_dwarf;
	bool hopeless;   /* not to be read again */
	bool missing;    /* hs_names_find() found nothing to read */
	bool is_partial; /* for want of memory or descriptors: worth another reading */
};

/* By mapping id. */
struct hs_names {
	struct hs_names_object *objects;
	uint32_t count;
	uint64_t uses;  /* of hs_names_find() */
	uint64_t round; /* those before this one are of earlier rounds */
	size_t kept_bytes;
	size_t kept_most;
	struct hs_shared_name *last; /* given by a symbol; held; NULL: none */
	/* What hs_names_fill() is at; NULL: nothing. */
	struct hs_symbols *filling;
	uint64_t *wanted; /* addresses, for these */
};

/*
 * Name those of the count locations in ids that have no name; all are of mapping id, and in
 * the order of their addresses.  Those that no symbol contained get a name of one when a debug
 * file has appeared or changed since, or memory or descriptors were short.  Reads the object's
 * symbol tables only if there is something to name.  Equal names next to each other share
 * their text.  A location stays unnamed when the arena is used up.
 */
void hs_names_fill(struct hs_names *names, const struct hs_location_table *locations,
		   const uint32_t *ids, uint32_t count, const struct hs_mapping *mapping,
		   uint32_t id, struct hs_pauses *pauses);

/*
 * In a child of a fork that came in a pause of hs_names_fill(): close what that has open, in the
 * fork; later, by the child's producer, give back what it has.
 */
void hs_names_after_fork(struct hs_names *names);
void hs_names_end_fill(struct hs_names *names);

/*
 * Name one location, which is of mapping id, now and by its symbol only.  Returns whether a
 * symbol contains it; without memory for the name it has none nevertheless.  The object's
 * symbols stay in memory: at most so many bytes of them, but those used last in any case,
 * and until a round ends in which they were not used, or a profile reads them again.  What
 * memory or descriptors were short for is not tried again before hs_names_fill().
 */
bool hs_names_find(struct hs_names *names, struct hs_location *location,
		   const struct hs_mapping *mapping, uint32_t id);
void hs_names_set_kept(struct hs_names *names, size_t most_bytes);
void hs_names_end_round(struct hs_names *names);

/* Whether the object itself was found to have DWARF; false if it was never read. */
bool hs_names_has_dwarf(const struct hs_names *names, uint32_t id);

void hs_names_fini(struct hs_names *names);

#endif
