/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks the calling thread's own stack in place, if all its pcs are known (known_pcs.h).  The
 * frames take a few hundred bytes where a copy of the stack takes thousands, and the worker need
 * not unwind them.
 *
 * Called on: the program's threads, inside the slow path.  Reads nothing but the stack between
 * the call site's stack pointer and its known end.  Allocates, blocks: never; no system call.
 * Errno: not touched.
 */
#ifndef HS_SAMPLE_WALK_H
#define HS_SAMPLE_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "arch/regs.h"
#include "base/hot.h"
#include "sample/known_pcs.h"
#include "sample/record.h"
#include "sample/thread_state.h"
#include "sample/trail.h"

/* The most frames of this library in one stack, for the worker too; more is a loop. */
#define HS_MOST_OWN_FRAMES 64u

/*
 * Reserves a ring record and walks the stack of a call site into it; for samples whose
 * stack.walks is set.  Fills in the frames (at most the wanted depth), stack_bytes and flags.  The
 * reservation stays open, and has no cookie yet, for there is no slot that a failed walk could give
 * back.
 * Returns the record; NULL: the stack has to be copied.
 */
HS_SAMPLE_CODE struct hs_record *hs_walk_record(struct hs_thread_state *thread,
						const struct hs_regs *regs);

/* Why a walk fails: more frames than there is room for; something needed is not known. */
#define HS_WALK_LONG UINT32_MAX
#define HS_WALK_UNKNOWN 0u

/*
 * Added to the number of frames: beyond a copy's end, the last one's caller is not known; and the
 * pc of the last one is not known, so its mapping is not set.
 */
#define HS_WALK_CUT 0x80000000u
#define HS_WALK_LAST_UNKNOWN 0x40000000u

/* Where these end of a stack, upwards from the stack pointer. */
struct hs_walk_reach {
	uint64_t copied; /* what a copy would have */
	uint64_t read;   /* what may be read, not less */
	uint64_t used;   /* all, not less */
};

/*
 * Walks from a call site.  Writes the frames, the innermost first, `room` at most.  trail: taken by
 * the caller.
 * Returns the number of frames: up to the outermost, or with HS_WALK_CUT, and then not less than
 * a copy would give; or HS_WALK_LONG or HS_WALK_UNKNOWN.
 */
uint32_t hs_walk(const struct hs_known_pcs *pcs, struct hs_trail *trail, const struct hs_regs *regs,
		 const struct hs_walk_reach *reach, struct hs_frame *frames, uint32_t room);

#endif
