/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gets libunwind ready, in two steps: loads it; and, when a frame needs it, calls it for the first
 * time (releases before 1.8 open a pipe then, and keep it) and finds out, with a known stack, which
 * layout of a structure the installed release has.
 *
 * Called on: the unwinding worker.  On failure one line is logged, -errno is returned, and the
 * engine must not be used.
 */
#ifndef HS_UNWIND_ENGINE_START_H
#define HS_UNWIND_ENGINE_START_H

#include "maps/mapping_table.h"
#include "unwind/libunwind_engine.h"
#include "unwind/memory_cache.h"
#include "unwind/unwinder.h"

/* The owner sets all but `is`, which is 0 at first. */
struct hs_engine {
	enum { HS_ENGINE_NOT_LOADED, HS_ENGINE_LOADED, HS_ENGINE_READY, HS_ENGINE_UNUSABLE } is;
	struct hs_libunwind_engine *libunwind;
	struct hs_mapping_table *table; /* read before the check */
	struct hs_memory_cache *memory;
	enum hs_leave (*before_use)(bool is_first); /* NULL: nothing to do */
};

/* Loads it ahead of the first frame that needs it.  Blocks: on the loader's lock. */
int hs_engine_load(struct hs_engine *engine);

/* Whether it may be called now.  Loads and starts it, as above, if that has not been done. */
bool hs_engine_may_be_used(struct hs_engine *engine);

/* Logs that libunwind is not used.  error: -errno. */
void hs_engine_log_unused(const char *problem, int error);

#endif
