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
#include "unwind/unwinder.h"

/* How far it is.  All zero but for before_use: not loaded. */
struct hs_engine_state {
	enum { HS_ENGINE_NOT_LOADED, HS_ENGINE_LOADED, HS_ENGINE_READY, HS_ENGINE_UNUSABLE } is;
	enum hs_leave (*before_use)(bool loads, bool is_first); /* NULL: nothing to do */
};

/* Blocks: on the loader's lock. */
int hs_engine_load(struct hs_libunwind_engine *engine);

/*
 * Of a loaded one.  table is read; drop is called with unwinder where what is cached of it may be
 * stale.
 */
int hs_engine_start(struct hs_libunwind_engine *engine, struct hs_mapping_table *table,
		    void (*drop)(struct hs_unwinder *), struct hs_unwinder *unwinder);

/* Loads it ahead of the first frame that needs it. */
int hs_engine_load_now(struct hs_engine_state *state, struct hs_libunwind_engine *engine);

/* Whether it may be called now.  Loads and starts it, as above, if that has not been done. */
bool hs_engine_may_be_used(struct hs_engine_state *state, struct hs_libunwind_engine *engine,
			   struct hs_mapping_table *table, void (*drop)(struct hs_unwinder *),
			   struct hs_unwinder *unwinder);

/* Logs that libunwind is not used.  error: -errno. */
void hs_engine_log_unused(const char *problem, int error);

#endif
