/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trails: what walks in place found, by the stack pointers at which they found it.  Samples that
 * follow each other share most of their frames, and have them at the same places: there the step
 * to the caller is at hand without waiting for the pc to be read, which only has to prove it
 * right.  A step is true of its pc wherever that is met, so a trail may be anybody's: it is
 * somebody's only as long as he walks.
 *
 * Threads: hs_trail_take() gives a trail to one thread.  Signal handlers: within the slow path they
 * do not walk; one that jumps out of it leaves the trail to the same thread, and no half of a step.
 * Allocates, blocks: never.
 */
#ifndef HS_SAMPLE_TRAIL_H
#define HS_SAMPLE_TRAIL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/regs.h"

/* How many there are, and what is in each: 8 KiB, of which pages are used as threads walk. */
#define HS_TRAILS 64u
#define HS_TRAIL_PLACES 512u

/* What the fields of a step hold. */
#define HS_STEP_PC_MOST (((uint64_t)1 << 48) - 1)
#define HS_STEP_FP_WORDS_MOST 0xffu

/* From a frame to its caller, by the stack or frame pointer. */
struct hs_step {
	uint64_t pc : 48; /* a return address: no two in the program differ further up; 0: none */
	uint64_t fp_words : 8; /* the caller's frame pointer stands that far below its stack pointer
				*/
	uint64_t is_by_fp : 1;
	uint64_t is_last : 1; /* there is no caller */
	uint64_t is_own : 1;  /* the frame is this library's */
	uint32_t mapping;     /* number in the mapping table */
	int32_t cfa_offset;   /* from the register to the caller's stack pointer */
};

struct hs_trail {
	_Alignas(64) _Atomic uintptr_t walker; /* the thread's thread pointer; 0: nobody */
	uint32_t oldest; /* of the known pcs: steps are of stamps since then */
	struct hs_step steps[HS_TRAIL_PLACES];
};

/*
 * The trail that the calling thread may use; to be given back.  NULL if another one walks on it.
 * oldest: stamps below are of pcs that have been dropped, and steps of then are forgotten.
 */
struct hs_trail *hs_trail_take(struct hs_trail trails[HS_TRAILS], uint32_t oldest);
void hs_trail_give_back(struct hs_trail *trail);

/* Frames are 16 bytes long or more. */
static inline struct hs_step *hs_trail_place(struct hs_trail *trail, uint64_t sp)
{
	return &trail->steps[sp / 16 % HS_TRAIL_PLACES];
}

/* What was found at that stack pointer, or at one that shares the place: right if its pc is. */
static inline struct hs_step hs_trail_at(struct hs_trail *trail, uint64_t sp)
{
	static const struct hs_step none;

	return trail != NULL ? *hs_trail_place(trail, sp) : none;
}

static inline void hs_trail_leave(struct hs_trail *trail, uint64_t sp, struct hs_step step)
{
	struct hs_step *place = hs_trail_place(trail, sp);

	/* So that it is whole or not there, should a handler jump out in between. */
	place->pc = 0;
	atomic_signal_fence(memory_order_seq_cst);
	place->mapping = step.mapping;
	place->cfa_offset = step.cfa_offset;
	atomic_signal_fence(memory_order_seq_cst);
	*place = step;
}

#endif
