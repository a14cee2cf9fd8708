/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names by map hints that were given after the samples were taken: somebody looks up an address of
 * a running program, writes it into the file that HEAPSAMPLE_MAP names, and asks for a profile.
 * Frames in anonymous memory are named by the present hints; their stacks stay as they are.
 *
 * The set of hints is the producer's own.  It also logs what is wrong in the setting.
 *
 * Called on: the producer; start-up.  Allocates: from the arena.  Blocks: reads files.
 */
#ifndef HS_PROFILE_HINT_NAMES_H
#define HS_PROFILE_HINT_NAMES_H

#include <stdint.h>

#include "base/pauses.h"
#include "profile/location_table.h"

struct hs_hint_names;

/*
 * setting: HEAPSAMPLE_MAP; must outlive the result.  What is wrong in the setting itself is logged
 * now, what is wrong in a file that it names when that is read.  NULL: the arena is used up.
 */
struct hs_hint_names *hs_hint_names_create(const char *setting);
void hs_hint_names_destroy(struct hs_hint_names *hint_names);

/*
 * A profile begins: reads the file if it has changed.  Then removes names of locations that are
 * only an offset, where there is a hint.
 */
void hs_hint_names_follow(struct hs_hint_names *hint_names,
			  const struct hs_location_table *locations);

/*
 * Names those locations of a run, of an anonymous mapping, that have a hint and no name of a
 * symbol.
 */
void hs_hint_names_fill(struct hs_hint_names *hint_names, const struct hs_location_run *run,
			struct hs_pauses *pauses);

/* In a forked child: as hs_names_after_fork() and hs_names_end_fill(). */
void hs_hint_names_after_fork(struct hs_hint_names *hint_names, bool is_whole);
void hs_hint_names_end_fill(struct hs_hint_names *hint_names);

/* The path of the object that a hint says is at an address, as of the last profile; or NULL. */
const char *hs_hint_names_path(const struct hs_hint_names *hint_names, uint64_t address);

#endif
