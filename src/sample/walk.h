/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks the calling thread's own stack, in place, if all its callers' pcs are known: the frames
 * are a few hundred bytes where the stack is thousands, and the worker has nothing to do.
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

/*
 * Reserve a ring record and walk the stack of a call site into it as planned, if that can be done;
 * only where thread->sample.stack.walks.  Filled in are the frames, at most as many as are wanted,
 * stack_bytes and flags.  The reservation is open, without a cookie yet: a walk that comes to
 * nothing must not give a slot back.
 * Returns the record, or NULL: the stack has to be copied.
 */
HS_SAMPLE_CODE struct hs_record *hs_walk_record(struct hs_thread_state *thread,
						const struct hs_regs *regs);

/* There is no room for all frames; not all is known that is needed. */
#define HS_WALK_LONG UINT32_MAX
#define HS_WALK_UNKNOWN 0u

/*
 * Walk from a call site: stack_bytes from its stack pointer on may be read.  Writes the frames,
 * the innermost first, room of them at most.  trail: taken by the caller, or NULL.
 * Returns how many frames there are, all up to the outermost, or why not.
 */
uint32_t hs_walk(const struct hs_known_pcs *pcs, struct hs_trail *trail, const struct hs_regs *regs,
		 size_t stack_bytes, struct hs_frame *frames, uint32_t room);

#endif
