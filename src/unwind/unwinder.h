/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwinds a captured stack: turns registers and a copy of the stack, taken on another thread some
 * time ago, into resolved frames.
 *
 * Our own rows lead from frame to frame; where they cannot, libunwind's remote API does, over
 * accessors of our own: stack words come from the captured stack, unwind tables from the
 * process's memory by way of a small page cache filled with process_vm_readv (an unmapped
 * library is an error, never a fault).  libunwind is loaded with dlopen(RTLD_LOCAL) on
 * first need, so that no program's backtrace() or C++ exceptions are ever bound to it; before
 * it is trusted it has to unwind a known stack of the calling thread.  Through code without
 * unwind information (a JIT compiler's) the frame pointer is followed.
 *
 * Threads: one thread (the unwinding worker).  Memory: the arena (libunwind's own
 * pools come from mmap).  Never dereferences an address of the sample.
 */
#ifndef HS_UNWIND_UNWINDER_H
#define HS_UNWIND_UNWINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/regs.h"
#include "base/libraries.h"
#include "maps/mapping_table.h"
#include "unwind/frame.h"

/* A captured stack.  sp = regs.sp; stack holds the bytes from sp upwards. */
struct hs_captured {
	struct hs_regs regs;
	const void *stack;
	size_t stack_bytes;
	bool stack_cut;           /* the real stack goes on past stack_bytes */
	size_t walked;            /* so many frames were walked before: they are given */
	hs_closes closes;         /* hs_closes_now() when it was taken */
	uint32_t closes_unwaited; /* and hs_closes_unwaited() */
	uint64_t number;          /* of hs_sequence, taken after it; 0: none */
};

struct hs_unwinder;
struct hs_known_pcs;

/*
 * Whether libunwind may be used.  HS_LEAVE_NOT_NOW: not for this frame; HS_LEAVE_NEVER: not at all,
 * and the callee has logged why.
 */
enum hs_leave { HS_LEAVE_GIVEN, HS_LEAVE_NOT_NOW, HS_LEAVE_NEVER };

/*
 * Makes an unwinder over a mapping table.  Does not load libunwind yet.  before_engine: asked each
 * time before libunwind works on a frame; is_first: it is loaded or called for the first time.
 * NULL: always allowed.  Returns NULL when the arena is used up.
 */
struct hs_unwinder *hs_unwinder_create(struct hs_mapping_table *table,
				       enum hs_leave (*before_engine)(bool is_first));
void hs_unwinder_destroy(struct hs_unwinder *unwinder);

/* A new batch of samples begins: code that changes (JIT code) has to be read again. */
void hs_unwinder_begin_batch(struct hs_unwinder *unwinder);

/* The cache by which the program's threads walk their stacks; lives as long as the unwinder. */
const struct hs_known_pcs *hs_unwinder_known_pcs(const struct hs_unwinder *unwinder);

/*
 * Loads libunwind, which otherwise is done at the first frame that no row leads out of (where it is
 * also called and checked).  The worker.  Blocks: on the loader's lock.  On failure one line is
 * logged, stacks end at such frames with an HS_PSEUDO_UNWIND_ERROR from then on
 * (unwind_no_engine), and -errno is returned.
 * Not in a forked child whose parent was unwinding at that moment: libunwind has
 * process-wide locks, which would stay taken.
 */
int hs_unwinder_load_engine(struct hs_unwinder *unwinder);

/*
 * Unwinds.  frames, with room for depth + 1, gets call sites, innermost first: frames of this
 * library left out, at most depth of the program's own, then possibly one pseudo frame that says
 * why the stack ends early.  The first captured->walked are there already, at most depth.
 * A stack that holds nothing but this library is one HS_PSEUDO_UNKNOWN.
 * The copy of an alternate signal stack ends with HS_PSEUDO_TRUNCATED above the
 * interrupted frame.
 *
 * The maps are kept up to the captured stack (unwind/map_watch.h); a pc whose library may have
 * been replaced since is HS_PSEUDO_UNKNOWN (unwind_late).
 *
 * Counted: unwound, stack_truncated, depth_truncated, unwind_*.
 * Returns the number of frames; at least 1.
 */
size_t hs_unwind(struct hs_unwinder *unwinder, const struct hs_captured *captured, size_t depth,
		 struct hs_frame *frames);

#endif
