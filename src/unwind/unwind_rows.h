/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes rows from .eh_frame, whose entries are found by .eh_frame_hdr; both are read through the
 * memory cache, those of hinted code from hint_frames.h.  What is marked as a signal frame, and
 * damaged tables are left out.
 *
 * Threads: the unwinding worker.  Memory: the arena.  A row holds as long as the mapping
 * table's generation.
 */
#ifndef HS_UNWIND_UNWIND_ROWS_H
#define HS_UNWIND_UNWIND_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "maps/mapping_table.h"
#include "sample/unwind_row.h"
#include "unwind/hint_frames.h"
#include "unwind/memory_cache.h"

struct hs_unwind_rows;

/* Returns NULL when the arena is used up. */
struct hs_unwind_rows *hs_unwind_rows_create(struct hs_memory_cache *memory,
					     struct hs_hint_frames *hinted);
void hs_unwind_rows_destroy(struct hs_unwind_rows *rows);

/*
 * Makes the row of a pc (of a return address: pc - 1) in a mapping, or NULL.  *end: the first
 * address past pc for which the row may not hold.
 */
void hs_unwind_rows_make(struct hs_unwind_rows *rows, const struct hs_mapping *mapping, uint64_t pc,
			 struct hs_unwind_row *row, uint64_t *end);

/* Whether a function begins at pc, according to the entries. */
bool hs_unwind_rows_has_start(struct hs_unwind_rows *rows, const struct hs_mapping *mapping,
			      uint64_t pc);

#endif
