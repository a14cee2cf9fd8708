/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All that is known of the addresses of code that a stack leads through: the mapping, the row, and
 * what the code there is.  Keeps the maps up to the stack (map_watch.h), and drops what it has
 * cached when they change.
 *
 * Threads: the unwinding worker; the program's threads read the known pcs.  Memory: the arena.
 */
#ifndef HS_UNWIND_PC_LOOKUP_H
#define HS_UNWIND_PC_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "maps/mapping_table.h"
#include "sample/known_pcs.h"
#include "sample/stack_window.h"
#include "unwind/frame_guess.h"
#include "unwind/libunwind_use.h"
#include "unwind/map_watch.h"
#include "unwind/unwind_rows.h"

struct hs_pc_lookup {
	struct hs_mapping_table *table;
	struct hs_memory_cache *memory;
	struct hs_hint_frames *hinted;
	struct hs_libunwind_use libunwind;
	struct hs_unwind_rows *rows;
	uint64_t generation; /* of the table, when the caches were last dropped */
	struct hs_map_watch maps;
	struct hs_known_pcs pcs;
	struct hs_seen_returns returns;
};

/* See hs_unwinder_create().  *lookup is all zero.  Returns 0 or -ENOMEM, and may be ended then. */
int hs_pc_lookup_init(struct hs_pc_lookup *lookup, struct hs_mapping_table *table,
		      enum hs_leave (*before_engine)(bool is_first));
void hs_pc_lookup_fini(struct hs_pc_lookup *lookup);

/* Around a stack that is unwound. */
void hs_pc_lookup_begin(struct hs_pc_lookup *lookup, const struct hs_captured *captured);
void hs_pc_lookup_end(struct hs_pc_lookup *lookup);

/* hs_pc_lookup() of a pc that is not in the cache, and is then. */
bool hs_pc_lookup_find_out(struct hs_pc_lookup *lookup, uint64_t pc, bool is_call,
			   struct hs_pc *known);

/*
 * What is known of pc, a return address if is_call.  Reads the maps again if need be.  False: it is
 * in no mapping.
 */
static inline bool hs_pc_lookup(struct hs_pc_lookup *lookup, uint64_t pc, bool is_call,
				struct hs_pc *known)
{
	return hs_known_pcs_find(&lookup->pcs, pc, is_call, known) ||
	       hs_pc_lookup_find_out(lookup, pc, is_call, known);
}

/* Whether there is unwind information for the instruction at pc, in a walk over window. */
bool hs_pc_lookup_has_info(struct hs_pc_lookup *lookup, const struct hs_stack_window *window,
			   uint64_t pc);

/*
 * What a return address is that was guessed for a frame without unwind information, in a walk over
 * window.  callee: the mapping of that frame.
 */
enum hs_return hs_pc_lookup_return(struct hs_pc_lookup *lookup,
				   const struct hs_stack_window *window, uint64_t pc,
				   uint32_t callee);

#endif
