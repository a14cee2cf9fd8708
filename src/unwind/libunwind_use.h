/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gets libunwind ready, in two steps: loads it; and, when a frame needs it, calls it for the first
 * time (releases before 1.8 open a pipe then, and keep it) and finds out, with a known stack, which
 * layout of a structure the installed release has.
 *
 * Called on: the unwinding worker.  On failure one line is logged, -errno is returned, and the
 * engine must not be used.
 */
#ifndef HS_UNWIND_LIBUNWIND_USE_H
#define HS_UNWIND_LIBUNWIND_USE_H

#include "maps/mapping_table.h"
#include "unwind/libunwind_engine.h"
#include "unwind/memory_cache.h"
#include "unwind/unwinder.h"

/* The owner sets all but `is`, which is 0 at first. */
struct hs_libunwind_use {
	enum {
		HS_LIBUNWIND_NOT_LOADED,
		HS_LIBUNWIND_LOADED,
		HS_LIBUNWIND_READY,
		HS_LIBUNWIND_UNUSABLE
	} is;
	struct hs_libunwind_engine *engine;
	struct hs_mapping_table *table; /* read before the check */
	struct hs_memory_cache *memory;
	enum hs_leave (*before_use)(bool is_first); /* NULL: nothing to do */
};

/* Loads it ahead of the first frame that needs it.  Blocks: on the loader's lock. */
int hs_libunwind_load(struct hs_libunwind_use *use);

/* Whether it may be called now.  Loads and starts it, as above, if that has not been done. */
bool hs_libunwind_may_be_used(struct hs_libunwind_use *use);

/* Logs that libunwind is not used.  error: -errno. */
void hs_libunwind_log_unused(const char *problem, int error);

#endif
