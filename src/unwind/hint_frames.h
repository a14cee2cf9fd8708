/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables of hinted code, which are in the object's file, not in the process's memory.
 *
 * Each object has a place in a space of addresses that no process has (above the canonical
 * ones), where its code and its .eh_frame are as far apart as the file says, so that what
 * points from one to the other is right.  A pc is looked up at its place in the space,
 * where the tables are read.
 *
 * The file is read once, when the first pc of the mapping is looked up, with libelf by
 * pread.  Counted: hint_tables_missing, for each mapping without usable tables.
 *
 * Threads: the unwinding worker.  Memory: the arena.  Blocks: reads files.
 */
#ifndef HS_UNWIND_HINT_FRAMES_H
#define HS_UNWIND_HINT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "maps/mapping_table.h"
#include "unwind/eh_frame_table.h"

struct hs_hint_frames;

/* Returns NULL when the arena is used up. */
struct hs_hint_frames *hs_hint_frames_create(void);
void hs_hint_frames_destroy(struct hs_hint_frames *frames);

/* The search table, in the space, of a mapping that a hint made.  Returns false if it has none. */
bool hs_hint_frames_find(struct hs_hint_frames *frames, const struct hs_mapping *mapping,
			 struct hs_search_table *table);

/*
 * Reads from the space.  What is no table reads as zero: a personality routine's pointer is read,
 * and not used.  Returns false for an address that is not in the space.
 */
bool hs_hint_frames_read(const struct hs_hint_frames *frames, uint64_t address, void *to,
			 size_t bytes);

/*
 * Gives the memory back if it has become much.  Only when nothing that was read is used any
 * more: addresses of dropped tables read as zero.
 */
void hs_hint_frames_trim(struct hs_hint_frames *frames);

#endif
