/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libunwind's remote API over a captured stack.
 *
 * The library is loaded with dlopen(RTLD_LOCAL) and never closed.  It sees nothing
 * but what the accessors give it: the captured registers, the copied stack, and
 * through the memory cache what the mapping table says is readable.  It finds unwind
 * tables by way of the mapping table, so it takes no lock of the loader.
 *
 * Threads: the unwinding worker.  Memory: the arena; libunwind's own is malloc()
 * (once, for the address space) and mmap().
 */
#ifndef HS_UNWIND_LIBUNWIND_ENGINE_H
#define HS_UNWIND_LIBUNWIND_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/regs.h"
#include "maps/mapping_table.h"
#include "sample/stack_window.h"
#include "unwind/hint_frames.h"
#include "unwind/memory_cache.h"

struct hs_libunwind_engine;

/*
 * The form of unw_dyn_info_t: releases of libunwind differ under one soname.
 * 1.6 to 1.7 have a load_offset in it, those before and after do not.
 */
enum hs_libunwind_layout {
	HS_LIBUNWIND_WITH_LOAD_OFFSET,
	HS_LIBUNWIND_PLAIN,
	HS_LIBUNWIND_LAYOUTS
};

enum hs_step {
	HS_STEP_FRAME,   /* at the next frame */
	HS_STEP_END,     /* there is none: the stack is complete */
	HS_STEP_NO_INFO, /* no unwind information for the frame, which stays the current one */
	HS_STEP_CUT,     /* the next frame lies past the copied part of the stack */
	HS_STEP_BAD,     /* anything else */
	HS_STEP_NO_ROW,  /* of rows only, see stepper.h: libunwind is to be asked */
};

/* Returns NULL when the arena is used up.  Does not load libunwind yet. */
struct hs_libunwind_engine *hs_libunwind_engine_create(const struct hs_mapping_table *table,
						       struct hs_memory_cache *memory,
						       struct hs_hint_frames *hinted);
void hs_libunwind_engine_destroy(struct hs_libunwind_engine *engine);

/* Loads libunwind.  Blocks: on the loader's lock.  Returns 0, -ENOENT or -ENOSYS (a function). */
int hs_libunwind_engine_load(struct hs_libunwind_engine *engine);
/* Calls it for the first time.  Returns 0 or -ENOMEM. */
int hs_libunwind_engine_start(struct hs_libunwind_engine *engine);
void hs_libunwind_engine_set_layout(struct hs_libunwind_engine *engine,
				    enum hs_libunwind_layout layout);

/* Forgets what is cached: addresses may mean something else now. */
void hs_libunwind_engine_flush(struct hs_libunwind_engine *engine);

/*
 * Starts at a frame.  regs->pc is looked up as it stands: for a return address the
 * caller gives pc - 1.  window must stay as it is until the last step.
 * Returns 0 or -EINVAL.
 */
int hs_libunwind_engine_begin(struct hs_libunwind_engine *engine, const struct hs_regs *regs,
			      const struct hs_stack_window *window);

/* Goes to the calling frame and gives its pc and stack pointer. */
enum hs_step hs_libunwind_engine_step(struct hs_libunwind_engine *engine, uint64_t *pc,
				      uint64_t *sp);

/* Whether there is unwind information for the instruction at pc, in a walk over window. */
bool hs_libunwind_engine_has_info(struct hs_libunwind_engine *engine,
				  const struct hs_stack_window *window, uint64_t pc);

/* The registers of the current frame; those not known any more are 0. */
void hs_libunwind_engine_get_regs(struct hs_libunwind_engine *engine, struct hs_regs *regs);

#endif
