/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks the calling thread's own stack in place, if its pcs are known (known_pcs.h).  The frames
 * take a few hundred bytes where a copy of the stack takes thousands, and the worker need not
 * unwind them.  Of a stack that is larger than a copy may be, what cannot be walked is copied.
 *
 * Called on: the program's threads, inside the slow path.  Reads nothing but the stack between
 * the call site's stack pointer and its known end.  Allocates, blocks: never.  System calls: as
 * capture.h, of stacks larger than a copy.  Errno: not touched.
 */
#ifndef HS_SAMPLE_WALK_H
#define HS_SAMPLE_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "arch/regs.h"
#include "sample/known_pcs.h"
#include "sample/record.h"
#include "sample/thread_state.h"
#include "sample/trail.h"

/* The most frames of this library in one stack, for the worker too; more is a loop. */
#define HS_MOST_OWN_FRAMES 64u

/*
 * Reserves a ring record and walks the stack of a call site into it; for samples whose
 * stack.walks is set.  Fills in the frames (at most the wanted depth) and their number, stack_bytes
 * and flags, and without HS_RECORD_WALKED the registers and the stack behind the frames.  The
 * reservation stays open, and has no cookie yet, for there is no slot that a failed walk could give
 * back.
 * Returns the record; NULL: the stack has to be copied.
 */
struct hs_record *hs_walk_record(struct hs_thread_state *thread, const struct hs_regs *regs);

/*
 * Added to the number of frames if a walk does not come to the outermost: there is no room for
 * more, or something needed is not known or not readable.
 */
#define HS_WALK_LONG 0x80000000u
#define HS_WALK_STOPPED 0x40000000u

/* What a walk may use, and where it has stopped.  Small: it is on the program's stack. */
struct hs_walk {
	const struct hs_known_pcs *pcs;
	uint64_t end;        /* of what may be read of the stack */
	uint32_t room;       /* frames */
	uint32_t rest_bytes; /* of them, and of a stack behind them; 0: there is no room for one */
	/* The frame that was not noted any more: its registers, as far as walks follow them. */
	uint64_t pc, sp, fp;
};

/*
 * Walks from a call site, on a trail that was taken.  Writes the frames, the innermost first.
 * Returns their number.  If these are not all, one of the above is added, and *walk says which
 * frame comes next.
 */
uint32_t hs_walk(struct hs_walk *walk, struct hs_trail *trail, const struct hs_regs *regs,
		 struct hs_frame *frames);

#endif
