/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which frames are shown as FILTERED (profile/symbol_filter.h).  It does so twice:
 *
 * Before a frame's stack is interned, by the path of its mapping and by its names, which are
 * read for this at once: later the file may be gone.  The verdict is kept with the location,
 * whose key is (mapping, address, code): a mapping is another one where something else is
 * mapped, and code where other code was generated, so it does not outlive what it was made of.
 *
 * Once more for each profile, by what would be written: a name may come later, with a debug
 * file, a perf map or a map hint.  What is hidden then is in stacks already, and these are
 * taken over into stacks without it for the profile.
 *
 * All hidden frames become the same pseudo frame, so stacks that differ only in them become one.
 *
 * Threads: the producer.  Memory: the arena.  Blocks: reads files.
 */
#ifndef HS_PROFILE_FRAME_FILTER_H
#define HS_PROFILE_FRAME_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/interner.h"
#include "base/pauses.h"
#include "maps/mapping_table.h"
#include "output/profile_view.h"

struct hs_producer;

struct hs_frame_filter {
	const char *prefixes; /* "": nothing is hidden, and there is no call for the rest */
	const struct hs_mapping_table *table;
	uint32_t location; /* the pseudo frame */
	uint32_t callsite; /* a stack of it alone */
	uint32_t shown;    /* locations by the verdicts, with those that have gone since */
	uint32_t hidden;
	uint32_t late;     /* of these, hidden when there were stacks with them */
	uint32_t takes;    /* of records, since the last look at symbols that are kept */
	bool warned;       /* that nothing is shown */
	struct hs_interner keys; /* hs_frame_filter_rows() at work: of the rows so far, and */
	uint32_t *stack;         /* room for a stack */
};

static inline bool hs_frame_filter_is_on(const struct hs_frame_filter *filter)
{
	return filter->prefixes != NULL && filter->prefixes[0] != '\0';
}

/* What a stack has in place of a location: the location itself, or the pseudo frame. */
uint32_t hs_frame_filter_apply(struct hs_producer *producer, uint32_t location);

/* A record was taken: once in a while frees symbols that are not needed any more. */
void hs_frame_filter_took(struct hs_producer *producer);

/* The locations in ids have been named, as far as possible: whether any of them is hidden now. */
bool hs_frame_filter_review(struct hs_producer *producer, const uint32_t *ids, uint32_t count,
			    struct hs_pauses *pauses);

/*
 * Take the hidden locations out of the stacks of rows, which hold these; rows that are equal
 * then become one.  In a pause the callsite of a row that was taken over by another, or moved, is
 * HS_CALLSITE_NONE.  Returns false when the arena is used up: then those left may not be written.
 */
bool hs_frame_filter_rows(struct hs_producer *producer, struct hs_view_row *rows, uint32_t *count,
			  struct hs_pauses *pauses);

/* In a child of a fork that came in a pause of that: give back what it needs, but for the rows. */
void hs_frame_filter_end_rows(struct hs_frame_filter *filter);

/* Whether a mapping without shown locations must not be in a profile. */
bool hs_frame_filter_hides_mapping(const struct hs_producer *producer, uint32_t id);

#endif
