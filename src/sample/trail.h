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

/* What struct hs_step.how says, and of which mapping and how many words at most. */
enum {
	HS_STEP_OWN = 1 << 0,   /* the frame is this library's */
	HS_STEP_LAST = 1 << 1,  /* there is no caller */
	HS_STEP_BY_FP = 1 << 2, /* the offset is from the frame pointer, not the stack pointer */
	HS_STEP_FP_SHIFT = 3, /* words from the caller's stack pointer down to its frame pointer */
	HS_STEP_FP_WORDS_MOST = 0xff,
	HS_STEP_MAPPING_SHIFT = 11, /* number in the mapping table */
	HS_STEP_MAPPING_MOST = (1 << 21) - 1,
};

/*
 * From a frame to its caller, by the stack or frame pointer.  Not bit fields: gcc takes such a
 * struct apart and puts it together again at each step.
 */
struct hs_step {
	uint64_t pc;        /* a return address; 0: none */
	int32_t cfa_offset; /* to the caller's stack pointer */
	uint32_t how;
};

static inline uint32_t hs_step_mapping(const struct hs_step *step)
{
	return step->how >> HS_STEP_MAPPING_SHIFT;
}

/* Words from the caller's stack pointer down to its frame pointer; 0: that is as it was. */
static inline uint32_t hs_step_fp_words(const struct hs_step *step)
{
	return step->how >> HS_STEP_FP_SHIFT & HS_STEP_FP_WORDS_MOST;
}

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

/*
 * Where what was found at that stack pointer is, or at one that shares the place: right if its pc
 * is.  Frames are 16 bytes long or more.
 */
static inline struct hs_step *hs_trail_place(struct hs_trail *trail, uint64_t sp)
{
	return &trail->steps[sp / 16 % HS_TRAIL_PLACES];
}

static inline void hs_trail_leave(struct hs_trail *trail, uint64_t sp, struct hs_step step)
{
	struct hs_step *place = hs_trail_place(trail, sp);

	/* So that it is whole or not there, should a handler jump out in between. */
	place->pc = 0;
	atomic_signal_fence(memory_order_seq_cst);
	place->cfa_offset = step.cfa_offset;
	place->how = step.how;
	atomic_signal_fence(memory_order_seq_cst);
	place->pc = step.pc;
}

#endif
