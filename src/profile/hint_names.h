/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names by map hints that were given after the samples: somebody looks up an address of a
 * running program, writes it into the file that HEAPSAMPLE_MAP names, and asks for a profile.
 * Frames in anonymous memory are named by the hints of then; their stacks stay as they are.
 *
 * The set of hints is the producer's own; it says, too, what is wrong in the setting.
 *
 * Threads: the producer, and start-up.  Memory: the arena.  Blocks: reads files.
 */
#ifndef HS_PROFILE_HINT_NAMES_H
#define HS_PROFILE_HINT_NAMES_H

#include <stdint.h>

#include "base/pauses.h"
#include "maps/mapping_table.h"
#include "profile/location_table.h"

struct hs_hint_names;

/*
 * setting: HEAPSAMPLE_MAP; must stay.  What is wrong in its text is logged now, in its file
 * with each profile.  NULL when the arena is used up.
 */
struct hs_hint_names *hs_hint_names_create(const char *setting);
void hs_hint_names_destroy(struct hs_hint_names *hint_names);

/* A profile begins: read the file if it has changed. */
void hs_hint_names_follow(struct hs_hint_names *hint_names);

/*
 * Names the locations in ids that are hinted and have no name yet.  ids: of one anonymous mapping,
 * ascending.
 */
void hs_hint_names_fill(struct hs_hint_names *hint_names,
			const struct hs_location_table *locations, const uint32_t *ids,
			uint32_t count, struct hs_pauses *pauses);

/* As hs_names_after_fork(), hs_names_end_fill(). */
void hs_hint_names_after_fork(struct hs_hint_names *hint_names);
void hs_hint_names_end_fill(struct hs_hint_names *hint_names);

/* The object that a hint of the profile before puts at an address, or NULL. */
const char *hs_hint_names_path(const struct hs_hint_names *hint_names, uint64_t address);

#endif
