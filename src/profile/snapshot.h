/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A snapshot of the books' rows, with names, laid out for the encoder.
 *
 * Rows are copied (one small struct each); stacks and locations are shared with the
 * books, and stay as long as these copies hold them.  So the producer can go on with its
 * records while the snapshot is written.
 *
 * Locations are written in the order of (mapping, address), mappings with the main
 * binary first and then by id, so equal books give equal bytes.
 *
 * Threads: the producer's.  Memory: the arena.
 */
#ifndef HS_PROFILE_SNAPSHOT_H
#define HS_PROFILE_SNAPSHOT_H

#include "base/options.h"
#include "output/profile_view.h"
#include "profile/producer.h"

struct hs_snapshot_view; /* owns what the view points to */

/*
 * Freeze and name the books of now, or (peak_heap, where hs_producer_keep_peak() was called)
 * those of one heap, as they were when most of it was in use; HS_HEAP_NONE: of now.  Names of
 * new locations are read from the objects' symbol tables (symbolize/), once per location as
 * long as it is in a stack: an object is read when it has locations without a name, then let
 * go.  pause is called between pieces of work, after the rows have been copied.
 *
 * Fills the view's mappings, locations, rows, stack function, drop_frames, pause;
 * comments, times and the period are the caller's.
 * Returns NULL when the arena is used up.
 */
struct hs_snapshot_view *hs_snapshot_create(struct hs_producer *producer,
					    const struct hs_mapping_table *table,
					    const struct hs_options *options, uint32_t peak_heap,
					    void (*pause)(void *context), void *pause_context,
					    struct hs_view *view);

/* Whether the program's own path is not in the view, to be hidden: profile/frame_filter.h. */
bool hs_snapshot_hides_main(const struct hs_snapshot_view *snapshot);

/*
 * The snapshot's profile was written completely: with HEAPSAMPLE_DELTA the next one starts there.
 */
void hs_snapshot_written(struct hs_snapshot_view *snapshot);

void hs_snapshot_destroy(struct hs_snapshot_view *snapshot);

/*
 * In a child forked in a pause of a snapshot: the first closes, right after the fork, what is open
 * for it; the second destroys it later, on the child's producer thread.
 */
void hs_snapshot_after_fork(struct hs_producer *producer);
void hs_snapshot_drop_inherited(struct hs_producer *producer);

#endif
