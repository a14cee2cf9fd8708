/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks at the code where a frame is.  Code that cannot be read is nothing of all this.
 *
 * Threads: the unwinding worker.  Blocks, allocates: as memory_cache.h.
 */
#ifndef HS_UNWIND_CODE_LOOK_H
#define HS_UNWIND_CODE_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/memory_cache.h"

/* Whether a signal handler returns to the code at pc. */
bool hs_code_is_signal_return(struct hs_memory_cache *memory, uint64_t pc);

/* What the code before pc is. */
enum hs_code_before {
	HS_CODE_UNREADABLE,
	HS_CODE_CALL,
	HS_CODE_END, /* does not go on at pc */
	HS_CODE_OTHER,
};
enum hs_code_before hs_code_before(struct hs_memory_cache *memory, uint64_t pc);

/*
 * Whether the function is known that the call before pc called: directly, or through the GOT, where
 * it has been resolved.  Not if the call is by a pointer that may have been changed since: of the
 * GOT's, those count that are made constant when they have been relocated.  *callee: its address.
 */
bool hs_code_has_callee(struct hs_memory_cache *memory, const struct hs_mapping_table *table,
			uint64_t pc, uint64_t *callee);

#endif
