/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes rows of .eh_frame, found by way of .eh_frame_hdr, both read through the memory cache.
 * Hinted code, signal frames and tables that make no sense are left to libunwind.
 *
 * Threads: the unwinding worker.  Memory: the arena.  A row holds as long as the mapping
 * table's generation.
 */
#ifndef HS_UNWIND_UNWIND_ROWS_H
#define HS_UNWIND_UNWIND_ROWS_H

#include <stdint.h>

#include "maps/mapping_table.h"
#include "unwind/memory_cache.h"
#include "unwind/unwind_row.h"

struct hs_unwind_rows;

/* Returns NULL when the arena is used up. */
struct hs_unwind_rows *hs_unwind_rows_create(struct hs_memory_cache *memory);
void hs_unwind_rows_destroy(struct hs_unwind_rows *rows);

/*
 * Make the row of a pc (for a return address: that of the call) in a mapping, NULL for none.
 * *end: the first address past pc for which the tables may say something else.
 */
void hs_unwind_rows_make(struct hs_unwind_rows *rows, const struct hs_mapping *mapping, uint64_t pc,
			 struct hs_row *row, uint64_t *end);

#endif
