/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which frames are shown as FILTERED (profile/symbol_filter.h).  That is decided twice:
 *
 * Before a frame's stack is interned, by the path of its mapping and by its names, which are read
 * for this at once, because later the file may be gone.  The verdict is kept with the location,
 * whose key is (mapping, address, code).  If something else is mapped there, or other code is
 * generated, the key is another one, so no verdict outlives what it is about.
 *
 * Again for each profile, by what would be written, because a name may come later: with a debug
 * file, a perf map or a map hint.  A frame that is hidden only then is in stacks already; the
 * profile's rows get stacks without it.
 *
 * All hidden frames are one pseudo frame, so stacks that differ in hidden frames only are equal.
 *
 * Called on: the producer.  Allocates: from the arena.  Blocks: reads files.
 */
#ifndef HS_PROFILE_FRAME_FILTER_H
#define HS_PROFILE_FRAME_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/interner.h"
#include "base/pauses.h"
#include "output/profile_view.h"

struct hs_producer;

struct hs_frame_filter {
	const char *prefixes; /* NULL: nothing is hidden, and the rest is not used */
	uint32_t location; /* the pseudo frame */
	uint32_t callsite; /* a stack of it alone */
	uint32_t shown;    /* locations that were found to be shown so far */
	uint32_t hidden;   /* locations that were found to be hidden so far */
	uint32_t late;     /* those of the hidden ones that were in stacks already */
	uint32_t takes;    /* records taken so far */
	bool warned;       /* that nothing is shown */

	/* Of hs_frame_filter_rows() under way. */
	struct hs_interner keys; /* of the rows that it has done */
	uint32_t *stack;         /* room for a stack */
};

static inline bool hs_frame_filter_is_on(const struct hs_frame_filter *filter)
{
	return filter->prefixes != NULL;
}

/* Returns what a stack has for a location: itself, or the pseudo frame. */
uint32_t hs_frame_filter_apply(struct hs_producer *producer, uint32_t location);

/* A record was taken: once in a while, frees symbols that were kept but not used. */
void hs_frame_filter_took(struct hs_producer *producer);

/* The locations in ids have been named, as far as possible: whether one of them is hidden now. */
bool hs_frame_filter_review(struct hs_producer *producer, const uint32_t *ids, uint32_t count,
			    struct hs_pauses *pauses);

#define HS_FILTERED_ROW_BYTES 192

/*
 * Replaces the rows' stacks by stacks without hidden locations, and merges rows that are equal
 * then.  Rows hold their stacks; in a pause one that was merged or moved has HS_CALLSITE_NONE.
 * Takes at most HS_FILTERED_ROW_BYTES of the arena for each, and gives them back.
 * False: the arena is used up, and the rows must not be written.
 */
bool hs_frame_filter_rows(struct hs_producer *producer, struct hs_view_row *rows, uint32_t *count,
			  struct hs_pauses *pauses);

/* Frees what that allocates: in a forked child, if the parent was in a pause of it. */
void hs_frame_filter_end_rows(struct hs_frame_filter *filter);

/* Whether a mapping without shown locations must not be in a profile. */
bool hs_frame_filter_hides_mapping(const struct hs_producer *producer, uint32_t id);

#endif
