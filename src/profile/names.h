/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of locations by symbol tables: of all locations of a mapping, while a snapshot is made, or
 * of one when its name is needed at once.
 *
 * Called on: the producer.  Allocates: from the arena.  Blocks: reads files.
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
#include "symbolize/read_ahead.h"
#include "symbolize/symbols.h"

/* What is known of the object of a mapping whose names were asked for. */
struct hs_names_object {
	struct hs_debug_key *debug_key; /* NULL: not read yet, or no memory for it */
	uint64_t debug_version;         /* of the debug file, before it was looked for */
	struct hs_symbols *kept;        /* for hs_names_find(); NULL: none are kept */
	uint64_t used;                  /* hs_names.uses when they were last used */
	struct hs_read_ahead_files files;
	uint32_t edition; /* goes up when a reading may have found more names than those before */
	bool has_dwarf;
	bool hopeless;   /* it cannot be read, and is not tried again */
	bool missing;    /* hs_names_find() could not read it */
	bool is_large;   /* its symbols had to make room for others': they are not kept again */
	bool is_partial; /* something was short, or a read failed: worth another reading */
};

struct hs_names {
	struct hs_names_object *objects; /* by mapping id; unused for anonymous mappings */
	uint32_t count;
	uint64_t uses;  /* times that hs_names_find() has used symbols */
	uint64_t round; /* `uses` when the present round began */
	size_t kept_bytes;
	size_t kept_most;
	struct hs_read_ahead ahead;
	struct hs_shared_name *last; /* the name last given by a symbol, held; or NULL */

	/* Of hs_names_fill() under way; NULL: none is. */
	struct hs_symbols *filling;
	uint64_t *wanted; /* the addresses that it is for */
};

/*
 * Names those locations of a run, of mapping id, that have no name.  A location that no symbol
 * contains is named by its offset; it gets a symbol's name later if a debug file has appeared or
 * changed, if memory or descriptors were short, or if a read failed.  Reads the object's symbol
 * tables only if there is something to name.
 * Equal names next to each other share their text.  If the arena is used up a location stays
 * unnamed.
 */
void hs_names_fill(struct hs_names *names, const struct hs_location_run *run,
		   const struct hs_mapping *mapping, uint32_t id, struct hs_pauses *pauses);

/*
 * In a forked child, if the parent was in a pause of hs_names_fill(): closes the files that are
 * open, in the fork handler; frees the memory, later, on the child's producer.
 * is_whole: the parent's threads were in no piece of work; else only a file that is read ahead is
 * closed.
 */
void hs_names_after_fork(struct hs_names *names, bool is_whole);
void hs_names_end_fill(struct hs_names *names);

/*
 * Names one location, of mapping id, by its symbol only.  Whether a symbol contains it; even then
 * there may be no memory for the name.
 *
 * The object's symbols are kept: at most most_bytes of all objects, but in any case those used
 * last.  They are freed at the end of a round in which they were not used, and when a profile reads
 * them again.  If memory or descriptors were short they are not read again before hs_names_fill().
 */
bool hs_names_find(struct hs_names *names, struct hs_location *location,
		   const struct hs_mapping *mapping, uint32_t id);
void hs_names_set_kept(struct hs_names *names, size_t most_bytes);
void hs_names_end_round(struct hs_names *names);

/* Whether the object itself was found to have DWARF; false if it was never read. */
bool hs_names_has_dwarf(const struct hs_names *names, uint32_t id);

void hs_names_fini(struct hs_names *names);

#endif
