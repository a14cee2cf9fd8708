/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A copy of the books' rows at one moment, with names, laid out for the encoder.
 *
 * Rows are copied, one small struct each.  Stacks and locations are shared with the books, and the
 * copies hold them.  So the producer can go on with its records while the snapshot is written.
 *
 * Locations are in the order of (mapping, address), mappings with the main binary first and then by
 * id, so equal books give equal bytes.
 *
 * Called on: the producer.  Allocates: from the arena.  Blocks: reads files.
 */
#ifndef HS_PROFILE_SNAPSHOT_H
#define HS_PROFILE_SNAPSHOT_H

#include "base/options.h"
#include "output/profile_view.h"
#include "profile/producer.h"

/* Owns what the view points to. */
struct hs_snapshot;

/*
 * Makes a snapshot of the present books, or of one heap's at its peak.  peak_heap: that heap, if
 * the producer keeps peaks; HS_HEAP_NONE: the present books.
 *
 * Locations without a name are named, from symbol tables and other sources
 * (profile/location_names.h); names are kept as long as the location is in a stack.
 * pause: called between pieces of work, after the rows have been copied.
 *
 * Fills in the view, except comments, times and the period, which are the caller's.
 * NULL: the arena is used up.
 */
struct hs_snapshot *hs_snapshot_create(struct hs_producer *producer,
				       const struct hs_options *options, uint32_t peak_heap,
				       void (*pause)(void), struct hs_view *view);

/*
 * What a profile of the present books takes of the arena, at most: this snapshot with its names,
 * and its encoding.
 */
size_t hs_snapshot_bytes(const struct hs_producer *producer);

/* Whether the program's own path is hidden (profile/frame_filter.h), and not in the view. */
bool hs_snapshot_hides_main(const struct hs_snapshot *snapshot);

/* The snapshot's file is complete: with HEAPSAMPLE_DELTA the next profile begins where it ends. */
void hs_snapshot_written(struct hs_snapshot *snapshot);

void hs_snapshot_destroy(struct hs_snapshot *snapshot);

/*
 * In a forked child, if the parent was making or writing a snapshot: closes the files that are open
 * for it, in the fork handler; destroys it, later, on the child's producer.
 * is_whole: as of hs_names_after_fork().
 */
void hs_snapshot_after_fork(struct hs_producer *producer, bool is_whole);
void hs_snapshot_drop_inherited(struct hs_producer *producer);

#endif
