/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trail remembers the steps of earlier walks in place, by stack pointer.  Consecutive samples
 * share most of their frames, at the same addresses.  So the step at a stack pointer can be taken
 * from the trail before the return address there has been read, which then only confirms it; the
 * processor need not wait for one load after the other.
 *
 * A step is right for its pc wherever the pc is met, so any thread can use any trail; a thread owns
 * one only while it walks.
 *
 * Threads: hs_trail_take() gives a trail to one thread.  Signal handlers that interrupt a walk do
 * not walk themselves; one that jumps out of it leaves the trail to its thread, with no step half
 * written.  Allocates, blocks: never.
 */
#ifndef HS_SAMPLE_TRAIL_H
#define HS_SAMPLE_TRAIL_H

#include <stdatomic.h>
#include <stdint.h>

#include "arch/regs.h"

/* The number of trails, and of places in each: 8 KiB, of which only used pages take memory. */
#define HS_TRAILS 64u
#define HS_TRAIL_PLACES 512u

/* The parts of struct hs_trail_step.how, and their largest values. */
enum {
	HS_TRAIL_OWN = 1 << 0,   /* the frame is this library's */
	HS_TRAIL_LAST = 1 << 1,  /* there is no caller */
	HS_TRAIL_BY_FP = 1 << 2, /* the offset is from the frame pointer, not the stack pointer */
	HS_TRAIL_FP_SHIFT = 3, /* words from the caller's stack pointer down to its frame pointer */
	HS_TRAIL_FP_WORDS_MOST = 0xff,
	HS_TRAIL_MAPPING_SHIFT = 11, /* number in the mapping table */
	HS_TRAIL_MAPPING_MOST = (1 << 21) - 1,
};

/*
 * The step from a frame to its caller, by the stack pointer or the frame pointer.  Not bit fields:
 * gcc would unpack and repack them at each step.
 */
struct hs_trail_step {
	uint64_t pc;        /* a return address; 0: none */
	int32_t cfa_offset; /* to the caller's stack pointer */
	uint32_t how;
};

static inline uint32_t hs_trail_step_mapping(const struct hs_trail_step *step)
{
	return step->how >> HS_TRAIL_MAPPING_SHIFT;
}

/* Words from the caller's stack pointer down to its saved frame pointer; 0: it is not saved. */
static inline uint32_t hs_trail_step_fp_words(const struct hs_trail_step *step)
{
	return step->how >> HS_TRAIL_FP_SHIFT & HS_TRAIL_FP_WORDS_MOST;
}

struct hs_trail {
	_Alignas(64) _Atomic uintptr_t walker; /* the owner's thread pointer; 0: no owner */
	uint32_t oldest; /* hs_known_pcs.oldest when the steps were found */
	struct hs_trail_step steps[HS_TRAIL_PLACES];
};

/*
 * The trail that the calling thread may use until it gives it back; NULL: another thread has it.
 * oldest: hs_known_pcs.oldest; if that has changed, the steps are dropped.
 */
struct hs_trail *hs_trail_take(struct hs_trail trails[HS_TRAILS], uint32_t oldest);
void hs_trail_give_back(struct hs_trail *trail);

/*
 * The place of a stack pointer.  Its step may be of another one that shares the place: it is right
 * if its pc is.  Frames are 16 bytes long or more.
 */
static inline struct hs_trail_step *hs_trail_place(struct hs_trail *trail, uint64_t sp)
{
	return &trail->steps[sp / 16 % HS_TRAIL_PLACES];
}

static inline void hs_trail_leave(struct hs_trail *trail, uint64_t sp, struct hs_trail_step step)
{
	struct hs_trail_step *place = hs_trail_place(trail, sp);

	/* In this order: if a handler jumps out in between, the step is whole or not there. */
	place->pc = 0;
	atomic_signal_fence(memory_order_seq_cst);
	place->cfa_offset = step.cfa_offset;
	place->how = step.how;
	atomic_signal_fence(memory_order_seq_cst);
	place->pc = step.pc;
}

#endif
