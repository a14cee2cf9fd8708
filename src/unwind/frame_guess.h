/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The caller of a frame whose code has no unwind information: a JIT compiler's, assembly,
 * the code below the first frame of a stack.
 *
 * Threads: the unwinding worker.  Blocks, allocates: never.
 */
#ifndef HS_UNWIND_FRAME_GUESS_H
#define HS_UNWIND_FRAME_GUESS_H

#include "arch/regs.h"
#include "maps/mapping_table.h"
#include "sample/stack_window.h"
#include "unwind/memory_cache.h"

enum hs_guess {
	HS_GUESS_FRAME, /* where the frame pointer's chain says; whether it is code is not known */
	HS_GUESS_END,   /* there is none: the stack is complete */
	HS_GUESS_CUT,   /* it lies past the copied part of the stack */
	HS_GUESS_NONE,
};

/* regs: of the frame; with HS_GUESS_FRAME, those of its caller. */
enum hs_guess hs_frame_guess(const struct hs_stack_window *window, struct hs_regs *regs);

enum hs_return {
	HS_RETURN_NONE, /* no return address */
	HS_RETURN_AFTER_CALL,
	HS_RETURN_TO_ENTRY, /* code begins there: what V8 has deoptimized frames return to */
};

/*
 * Addresses that were found after a call, since the maps changed.  All zero: none.  A page that
 * a JIT compiler has may be read once for each batch of samples; these need no reading.
 */
#define HS_SEEN_RETURNS 512u
struct hs_seen_returns {
	uint64_t pcs[HS_SEEN_RETURNS]; /* each at its hash */
};

static inline uint64_t *hs_seen_returns_place(struct hs_seen_returns *seen, uint64_t pc)
{
	return &seen->pcs[(pc * 0x9e3779b97f4a7c15u >> 32) % HS_SEEN_RETURNS];
}

/*
 * What a guessed return address is, by the code before it; seen: to be told.  Generated code that
 * is gone since is taken to have been right: a process that ends unmaps it before its last samples
 * are unwound.
 */
enum hs_return hs_frame_guess_return(struct hs_memory_cache *memory,
				     const struct hs_mapping_table *table, uint64_t pc,
				     struct hs_seen_returns *seen);

#endif
