/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trail remembers the steps of earlier walks in place, and for each step which one came next.
 * Consecutive samples share most of their frames, so it is likely to be the next one again.  It can
 * be taken before the return address on the stack has been read, which then only confirms it; the
 * processor need not wait for one load after the other.  Steps that were first made one after the
 * other are side by side: where nothing is cached, the steps of a walk are a few cache lines in a
 * row.  Where another step is next, it is looked for by pc and stack pointer.
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
#include <stdbool.h>
#include <stdint.h>

#include "arch/regs.h"
#include "base/hash.h"
#include "base/sys.h"

/* The number of trails, of two pages each, which take memory if they are used. */
#define HS_TRAILS 64u
#define HS_TRAIL_STEPS 445u
#define HS_TRAIL_PLACES_LG 9

/* The parts of struct hs_trail_step.how, and their largest values. */
enum {
	HS_TRAIL_OWN = 1 << 0,   /* the frame is this library's */
	HS_TRAIL_LAST = 1 << 1,  /* there is no caller */
	HS_TRAIL_BY_FP = 1 << 2, /* the offset is from the frame pointer, not the stack pointer */
	HS_TRAIL_FP_SHIFT = 3, /* words from the caller's stack pointer down to its saved fp */
	HS_TRAIL_FP_WORDS_MOST = 0xff,
	HS_TRAIL_MAPPING_SHIFT = 11, /* number in the mapping table */
	HS_TRAIL_MAPPING_MOST = (1 << 21) - 1,
};

/* The step's pc is above the offset of the next step. */
#define HS_TRAIL_PC_SHIFT 16

/*
 * The step from a frame to its caller, by the stack pointer or the frame pointer.  Not bit fields:
 * gcc would unpack and repack them at each step.
 */
struct hs_trail_step {
	uint64_t pc_and_next; /* a return address below 2^48, and where the next step is; 0: none */
	int32_t cfa_offset;   /* to the caller's stack pointer */
	uint32_t how;
};

static inline uint64_t hs_trail_step_pc(const struct hs_trail_step *step)
{
	return step->pc_and_next >> HS_TRAIL_PC_SHIFT;
}

static inline uint32_t hs_trail_step_mapping(const struct hs_trail_step *step)
{
	return step->how >> HS_TRAIL_MAPPING_SHIFT;
}

/* Words from the caller's stack pointer down to its saved frame pointer; 0: it is not saved. */
static inline uint32_t hs_trail_step_fp_words(const struct hs_trail_step *step)
{
	return step->how >> HS_TRAIL_FP_SHIFT & HS_TRAIL_FP_WORDS_MOST;
}

/* Steps, and where they are: offsets in `steps`, in bytes. */
struct hs_trail {
	/* The last one stands for all steps that are not on the trail, and has no pc. */
	_Alignas(HS_PAGE_BYTES) struct hs_trail_step steps[HS_TRAIL_STEPS + 1];
	uint16_t places[1u << HS_TRAIL_PLACES_LG]; /* where steps are, by pc and stack pointer */
	_Atomic uintptr_t walker; /* the owner's thread pointer; 0: no owner */
	uint32_t oldest; /* hs_known_pcs.oldest when the steps were found */
	uint16_t end;    /* where the next new step is left, over an old one */
	uint16_t found;  /* where the step is that was found or left last */
	uint16_t place;  /* in places, where was looked last */
};

/*
 * A trail that the calling thread may use until it gives it back, if possible always the same;
 * NULL: others have those it could have.
 * oldest: hs_known_pcs.oldest; if that has changed, the steps are dropped.
 */
struct hs_trail *hs_trail_take(struct hs_trail trails[HS_TRAILS], uint32_t oldest);
void hs_trail_give_back(struct hs_trail *trail);

static inline unsigned hs_trail_place(uint64_t pc, uint64_t sp)
{
	return (pc + sp) * HS_HASH_FACTOR >> (64 - HS_TRAIL_PLACES_LG);
}

/* offset: what is above its 16 bits does not matter. */
static inline struct hs_trail_step *hs_trail_at(struct hs_trail *trail, uint64_t offset)
{
	return (void *)((unsigned char *)trail->steps + (uint16_t)offset);
}

/* The step to try first at this pc and stack pointer.  It may be another pc's. */
static inline struct hs_trail_step *hs_trail_guess(struct hs_trail *trail, uint64_t pc, uint64_t sp)
{
	return hs_trail_at(trail, trail->places[hs_trail_place(pc, sp)]);
}

/* The step of this pc at this stack pointer.  False: it is not on the trail. */
static inline bool hs_trail_find(struct hs_trail *trail, uint64_t pc, uint64_t sp,
				 struct hs_trail_step *step)
{
	trail->place = (uint16_t)hs_trail_place(pc, sp);
	trail->found = trail->places[trail->place];
	*step = *hs_trail_at(trail, trail->found);
	return hs_trail_step_pc(step) == pc;
}

/* Stands for all steps that are not on the trail, and those before the first. */
static inline struct hs_trail_step *hs_trail_stray(struct hs_trail *trail)
{
	return &trail->steps[HS_TRAIL_STEPS];
}

/* Keeps a step off the trail, which may go on from there.  Returns it, with the next one. */
static inline struct hs_trail_step hs_trail_pass(struct hs_trail *trail, struct hs_trail_step step)
{
	trail->found = HS_TRAIL_STEPS * sizeof step;
	step.pc_and_next |= hs_trail_stray(trail)->pc_and_next;
	return step;
}

/* Puts a step on the trail that has not been found there.  Returns it, with the next one. */
static inline struct hs_trail_step hs_trail_leave(struct hs_trail *trail, uint64_t pc,
						  struct hs_trail_step step)
{
	struct hs_trail_step *to = hs_trail_at(trail, trail->end);
	uint16_t next = (trail->end + sizeof step) % (HS_TRAIL_STEPS * sizeof step);

	if (pc >> (64 - HS_TRAIL_PC_SHIFT) != 0)
		return hs_trail_pass(trail, step);
	step.pc_and_next = pc << HS_TRAIL_PC_SHIFT | next;
	/* In this order: if a handler jumps out in between, the step is whole or not there. */
	to->pc_and_next = 0;
	atomic_signal_fence(memory_order_seq_cst);
	to->cfa_offset = step.cfa_offset;
	to->how = step.how;
	atomic_signal_fence(memory_order_seq_cst);
	to->pc_and_next = step.pc_and_next;
	trail->places[trail->place] = trail->found = trail->end;
	trail->end = next;
	return step;
}

/* Makes the step that was found or left last the one that comes next after `last`.  Returns it. */
static inline struct hs_trail_step *hs_trail_lead(struct hs_trail *trail,
						  struct hs_trail_step *last)
{
	last->pc_and_next = (last->pc_and_next & ~(uint64_t)UINT16_MAX) | trail->found;
	return hs_trail_at(trail, trail->found);
}

#endif
