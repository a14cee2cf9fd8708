/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks captured stacks.  Run by the unwinding worker. */
#include "unwind/unwinder.h"

#include "base/arena.h"
#include "base/stats.h"
#include "sample/capture.h"
#include "sample/walk.h"
#include "unwind/code_look.h"
#include "unwind/pc_lookup.h"
#include "unwind/stepper.h"
#include "unwind/stop.h"

struct hs_unwinder {
	struct hs_pc_lookup lookup;
};

struct walk {
	struct hs_pc_lookup *lookup;
	struct hs_stepper stepper; /* at the current frame */
	struct hs_pc known;        /* of the current pc */
	bool is_known;             /* false: it is in no mapping of the captured stack */
	struct hs_frame *frames;
	size_t count;
	size_t depth;
	unsigned own_frames;
	uint64_t wanted_pc; /* of hs_stack_end_wanted(), and the stack pointer of the frame of it */
	uint64_t wanted_sp;
	bool is_call;     /* pc is after a call, not an interrupted instruction or an entry */
	bool is_guess;    /* found by the frame pointer */
	bool is_switched; /* a signal interrupted another stack than the copied one */
};

struct hs_unwinder *hs_unwinder_create(struct hs_mapping_table *table,
				       enum hs_leave (*before_engine)(bool is_first))
{
	struct hs_unwinder *unwinder = hs_arena_zalloc(sizeof *unwinder);

	if (unwinder == NULL || hs_pc_lookup_init(&unwinder->lookup, table, before_engine) == 0)
		return unwinder;
	hs_unwinder_destroy(unwinder);
	return NULL;
}

void hs_unwinder_destroy(struct hs_unwinder *unwinder)
{
	if (unwinder == NULL)
		return;
	hs_pc_lookup_fini(&unwinder->lookup);
	hs_arena_free(unwinder);
}

void hs_unwinder_begin_batch(struct hs_unwinder *unwinder)
{
	hs_memory_cache_forget_changing(unwinder->lookup.memory);
}

const struct hs_known_pcs *hs_unwinder_known_pcs(const struct hs_unwinder *unwinder)
{
	return &unwinder->lookup.pcs;
}

int hs_unwinder_load_engine(struct hs_unwinder *unwinder)
{
	return hs_libunwind_load(&unwinder->lookup.libunwind);
}

/* Sets walk->known for the current frame. */
static void classify(struct walk *walk)
{
	walk->is_known = hs_pc_lookup(walk->lookup, walk->stepper.regs.pc, walk->is_call,
				      &walk->known);
	if (walk->is_known &&
	    !hs_map_watch_is_of_stack(&walk->lookup->maps, walk->known.mapping)) {
		hs_stats_add(unwind_late, 1);
		walk->is_known = false;
	}
}

static void append(struct walk *walk, uint64_t address, uint32_t mapping)
{
	walk->frames[walk->count++] = (struct hs_frame){address, mapping};
}

/* Notes the current frame. */
static enum hs_stop note_frame(struct walk *walk)
{
	uint64_t pc = walk->stepper.regs.pc;

	/* Not where a signal came: a call through a null pointer. */
	if (pc == 0 && walk->is_call)
		return HS_STOP_COMPLETE;
	classify(walk);
	if (!walk->is_known && walk->is_guess)
		return HS_STOP_NO_INFO;
	if (walk->is_known && walk->known.is_own)
		return walk->own_frames++ < HS_MOST_OWN_FRAMES ? HS_STOP_NOT : HS_STOP_BAD_FRAME;
	if (walk->count == walk->depth)
		return HS_STOP_DEPTH;
	if (!walk->is_known) {
		append(walk, pc - walk->is_call, HS_MAPPING_UNKNOWN);
		return HS_STOP_NO_MAPPING;
	}
	if (pc == walk->wanted_pc)
		walk->wanted_sp = walk->stepper.regs.sp;
	append(walk, pc - (walk->is_call && walk->known.row.kind != HS_ROW_SIGNAL),
	       walk->known.mapping);
	return HS_STOP_NOT;
}

/*
 * An address with unwind information, but none for the byte before, and not after a call, is no
 * return address, but a function that the last frame returns to, as makecontext() makes it.  So is
 * one without, where code begins that nothing before goes on to, as Boost.Context makes it.
 */
static bool is_first_frame(const struct walk *walk)
{
	struct hs_pc_lookup *lookup = walk->lookup;
	uint64_t pc = walk->stepper.regs.pc;
	enum hs_code_before before;

	if (!walk->is_call || walk->known.is_own ||
	    hs_mapping_table_is_anonymous(lookup->table, walk->known.mapping))
		return false;
	before = hs_code_before(lookup->memory, pc);
	return before == HS_CODE_END ||
	       (before == HS_CODE_OTHER &&
		hs_pc_lookup_has_info(lookup, &walk->stepper.window, pc));
}

/* Goes to the calling frame without unwind information. */
static enum hs_stop guess_frame(struct walk *walk)
{
	struct hs_regs regs = walk->stepper.regs;
	enum hs_return kind;

	if (is_first_frame(walk)) {
		/* It was noted as a call. */
		walk->frames[walk->count - 1].address = walk->stepper.regs.pc;
		return HS_STOP_COMPLETE;
	}
	switch (hs_frame_guess(&walk->stepper.window, &regs, walk->is_guess)) {
	case HS_GUESS_FRAME:
		break;
	case HS_GUESS_END:
		return HS_STOP_COMPLETE;
	case HS_GUESS_CUT:
		return HS_STOP_CUT;
	case HS_GUESS_NONE:
		return HS_STOP_NO_INFO;
	}
	hs_stepper_move(&walk->stepper, &regs);
	kind = hs_pc_lookup_return(walk->lookup, &walk->stepper.window, regs.pc,
				   walk->known.mapping);
	walk->is_call = kind != HS_RETURN_TO_ENTRY;
	walk->is_guess = true;
	return kind == HS_RETURN_NONE ? HS_STOP_NO_INFO : HS_STOP_NOT;
}

/* Accepts the frame that a step led to, if it lies above the one before, whose sp is `below`. */
static enum hs_stop enter_frame(struct walk *walk, uint64_t below)
{
	const struct hs_stack_window *window = &walk->stepper.window;
	uint64_t sp = walk->stepper.regs.sp;
	bool interrupted = walk->known.row.kind == HS_ROW_SIGNAL;

	/* A signal handler may run on a stack of its own, above the interrupted one. */
	if (!interrupted && sp <= below)
		return HS_STOP_BAD_FRAME;
	if (interrupted && sp - window->start > window->size)
		walk->is_switched = true;
	walk->is_call = !interrupted;
	walk->is_guess = false;
	return HS_STOP_NOT;
}

/* Goes to the calling frame. */
static enum hs_stop step(struct walk *walk)
{
	uint64_t sp = walk->stepper.regs.sp;
	enum hs_step step = hs_stepper_step(&walk->stepper, &walk->known.row);

	if (step == HS_STEP_NO_ROW && !walk->is_switched) {
		if (!hs_libunwind_may_be_used(&walk->lookup->libunwind))
			return HS_STOP_NO_ENGINE;
		step = hs_stepper_step_by_engine(&walk->stepper, walk->is_call);
	}
	switch (step) {
	case HS_STEP_FRAME:
		return enter_frame(walk, sp);
	case HS_STEP_END:
		return HS_STOP_COMPLETE;
	case HS_STEP_NO_INFO:
		return walk->is_switched ? HS_STOP_SWITCHED : guess_frame(walk);
	case HS_STEP_CUT:
		return walk->is_switched ? HS_STOP_SWITCHED : HS_STOP_CUT;
	default:
		return walk->is_switched ? HS_STOP_SWITCHED : HS_STOP_BAD_FRAME;
	}
}

static enum hs_stop walk_stack(struct walk *walk)
{
	enum hs_stop stop = note_frame(walk);

	while (stop == HS_STOP_NOT && (stop = step(walk)) == HS_STOP_NOT)
		stop = note_frame(walk);
	return stop;
}

/* Counts why the walk ended early, and adds a pseudo frame that says so. */
static void finish(struct walk *walk, enum hs_stop stop)
{
	enum hs_pseudo_frame last = hs_stop_count(stop, walk->stepper.window.size > 0);

	if (last != HS_PSEUDO_COUNT) {
		append(walk, last, HS_MAPPING_NONE);
	} else if (walk->count == 0) {
		/* All frames were this library's. */
		hs_stats_add(empty_stacks, 1);
		append(walk, HS_PSEUDO_UNKNOWN, HS_MAPPING_NONE);
	}
}

static void count(const struct walk *walk)
{
	hs_stats_add_unshared(unwound, 1);
	hs_stats_add_unshared(unwind_rows_hit, walk->stepper.by_row);
	hs_stats_add_unshared(unwind_rows_fallback, walk->stepper.by_engine);
}

size_t hs_unwind(struct hs_unwinder *unwinder, const struct hs_captured *captured, size_t depth,
		 struct hs_frame *frames)
{
	struct walk walk = {
		.lookup = &unwinder->lookup,
		.stepper =
			{
				.engine = unwinder->lookup.libunwind.engine,
				.window =
					{
						.start = captured->regs.sp,
						.bytes = captured->stack,
						.size = captured->stack_bytes,
						.cut = captured->stack_cut,
					},
				.regs = captured->regs,
			},
		.frames = frames,
		.count = captured->walked,
		.depth = depth,
		.is_call = true,
		.wanted_pc = hs_stack_end_wanted(),
	};
	enum hs_stop stop;

	hs_pc_lookup_begin(&unwinder->lookup, captured);
	stop = walk_stack(&walk);
	if (stop == HS_STOP_COMPLETE && walk.wanted_sp != 0)
		hs_stack_end_found(&walk.stepper.window, walk.wanted_sp, walk.stepper.regs.sp);
	finish(&walk, stop);
	hs_pc_lookup_end(&unwinder->lookup);
	count(&walk);
	return walk.count;
}
