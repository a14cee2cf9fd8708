/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks captured stacks.  Run by the unwinding worker. */
#include "unwind/unwinder.h"

#include "base/arena.h"
#include "base/stats.h"
#include "sample/capture.h"
#include "sample/known_pcs.h"
#include "sample/walk.h"
#include "unwind/code_look.h"
#include "unwind/engine_start.h"
#include "unwind/frame_guess.h"
#include "unwind/libunwind_engine.h"
#include "unwind/map_watch.h"
#include "unwind/memory_cache.h"
#include "unwind/stepper.h"
#include "unwind/stop.h"
#include "unwind/unwind_rows.h"

struct hs_unwinder {
	struct hs_mapping_table *table;
	struct hs_memory_cache *memory;
	struct hs_engine engine;
	struct hs_unwind_rows *rows;
	uint64_t generation; /* of the table, when the caches were last dropped */
	struct hs_map_watch maps;
	struct hs_known_pcs pcs;
	struct hs_seen_returns returns;
};

struct walk {
	struct hs_unwinder *unwinder;
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

static void drop_stale_caches(struct hs_unwinder *unwinder)
{
	uint64_t generation = hs_mapping_table_generation(unwinder->table);

	if (generation == unwinder->generation)
		return;
	unwinder->generation = generation;
	hs_memory_cache_drop_stale(unwinder->memory);
	hs_known_pcs_drop(&unwinder->pcs);
	unwinder->returns = (struct hs_seen_returns){0};
	hs_libunwind_engine_flush(unwinder->engine.libunwind);
}

struct hs_unwinder *hs_unwinder_create(struct hs_mapping_table *table,
				       enum hs_leave (*before_engine)(bool loads, bool is_first))
{
	struct hs_unwinder *unwinder = hs_arena_zalloc(sizeof *unwinder);

	if (unwinder == NULL)
		return NULL;
	unwinder->table = unwinder->maps.table = table;
	unwinder->memory = hs_memory_cache_create(table);
	unwinder->engine = (struct hs_engine){
		.table = table,
		.memory = unwinder->memory,
		.before_use = before_engine,
	};
	if (unwinder->memory != NULL)
		unwinder->engine.libunwind = hs_libunwind_engine_create(table, unwinder->memory);
	if (unwinder->engine.libunwind != NULL)
		unwinder->rows = hs_unwind_rows_create(unwinder->memory);
	if (unwinder->rows == NULL || hs_known_pcs_init(&unwinder->pcs) < 0) {
		hs_unwinder_destroy(unwinder);
		return NULL;
	}
	return unwinder;
}

void hs_unwinder_begin_batch(struct hs_unwinder *unwinder)
{
	hs_memory_cache_forget_changing(unwinder->memory);
}

const struct hs_known_pcs *hs_unwinder_known_pcs(const struct hs_unwinder *unwinder)
{
	return &unwinder->pcs;
}

void hs_unwinder_destroy(struct hs_unwinder *unwinder)
{
	if (unwinder == NULL)
		return;
	hs_known_pcs_destroy(&unwinder->pcs);
	hs_unwind_rows_destroy(unwinder->rows);
	hs_libunwind_engine_destroy(unwinder->engine.libunwind);
	hs_memory_cache_destroy(unwinder->memory);
	hs_arena_free(unwinder);
}

int hs_unwinder_load_engine(struct hs_unwinder *unwinder)
{
	return hs_engine_load(&unwinder->engine);
}

/* The mapping of an address, re-reading the maps if need be. */
static uint32_t find_mapping(struct hs_unwinder *unwinder, uint64_t address)
{
	uint32_t id = hs_map_watch_find(&unwinder->maps, address);

	drop_stale_caches(unwinder);
	return id;
}

/*
 * Finds out all about a pc that is not in the cache.  False: it is in no mapping.  If the row of
 * the call also holds at pc, pc is not code that a signal handler returns to.
 */
static bool look_up(struct hs_unwinder *unwinder, uint64_t pc, bool is_call, struct hs_pc *known)
{
	/* First, because code newer than the index is not readable before. */
	uint32_t id = find_mapping(unwinder, pc - is_call);
	const struct hs_mapping *mapping = hs_mapping_table_get(unwinder->table, id);
	uint64_t end;

	*known = (struct hs_pc){.pc = pc, .is_call = is_call};
	hs_unwind_rows_make(unwinder->rows, mapping, pc - is_call, &known->row, &end);
	if ((!hs_row_has_frame(&known->row) || end <= pc) &&
	    hs_code_is_signal_return(unwinder->memory, pc)) {
		known->row = (struct hs_unwind_row){.kind = HS_ROW_SIGNAL};
		id = hs_mapping_table_find(unwinder->table, pc);
		mapping = hs_mapping_table_get(unwinder->table, id);
	}
	if (mapping == NULL)
		return false;
	known->mapping = id;
	known->is_own = (mapping->flags & HS_MAPPING_OWN) != 0;
	hs_stats_add_unshared(unwind_rows_made, known->row.kind > HS_ROW_NO_INFO);
	hs_known_pcs_add(&unwinder->pcs, known);
	return true;
}

static bool know(struct hs_unwinder *unwinder, uint64_t pc, bool is_call, struct hs_pc *known)
{
	return hs_known_pcs_find(&unwinder->pcs, pc, is_call, known) ||
	       look_up(unwinder, pc, is_call, known);
}

/* Sets walk->known for the current frame. */
static void classify(struct walk *walk)
{
	struct hs_unwinder *unwinder = walk->unwinder;
	uint64_t pc = walk->stepper.regs.pc;

	walk->is_known = know(unwinder, pc, walk->is_call, &walk->known);
	if (walk->is_known && !hs_map_watch_is_of_stack(&unwinder->maps, walk->known.mapping)) {
		hs_stats_add(unwind_late, 1);
		walk->is_known = false;
	}
}

static void append(struct walk *walk, uint64_t address, uint32_t mapping)
{
	walk->frames[walk->count++] = (struct hs_frame){address, mapping};
}

/* Notes the current frame. */
static enum hs_stop record(struct walk *walk)
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

/* Whether there is unwind information for the instruction at pc. */
static bool has_info(const struct walk *walk, uint64_t pc)
{
	struct hs_unwinder *unwinder = walk->unwinder;
	struct hs_pc itself;

	if (!know(unwinder, pc, false, &itself) || itself.row.kind == HS_ROW_NO_INFO)
		return false;
	return itself.row.kind != HS_ROW_NONE ||
	       (hs_engine_may_be_used(&unwinder->engine) &&
		hs_libunwind_engine_has_info(unwinder->engine.libunwind, &walk->stepper.window,
					     pc));
}

/*
 * An address with unwind information, but none for the byte before, and not after a call, is no
 * return address, but a function that the last frame returns to, as makecontext() makes it.
 */
static bool is_first_frame(const struct walk *walk)
{
	return walk->is_call && !walk->known.is_own &&
	       !hs_mapping_table_is_anonymous(walk->unwinder->table, walk->known.mapping) &&
	       has_info(walk, walk->stepper.regs.pc) &&
	       !hs_code_follows_call(walk->unwinder->memory, walk->stepper.regs.pc);
}

/*
 * Whether the call before pc calls a function that has unwind information, and so is not that of
 * the frame: this has set up no frame record, and the frame pointer is of one further out.
 * Generated code is not looked at: it may jump anywhere.
 */
static bool is_call_of_another(const struct walk *walk, uint64_t pc)
{
	const struct hs_mapping_table *table = walk->unwinder->table;
	uint64_t callee;

	return !hs_mapping_table_is_anonymous(table, walk->known.mapping) &&
	       !hs_mapping_table_is_anonymous(table, hs_mapping_table_find(table, pc)) &&
	       hs_code_has_callee(walk->unwinder->memory, pc, &callee) && has_info(walk, callee);
}

/* What a guessed return address is. */
static enum hs_return judge_return(struct walk *walk, uint64_t pc)
{
	struct hs_unwinder *unwinder = walk->unwinder;
	uint64_t *seen = hs_seen_returns_place(&unwinder->returns, pc);
	enum hs_return kind = HS_RETURN_NONE;
	uint32_t mapping;

	if (*seen == pc)
		return HS_RETURN_AFTER_CALL;
	/* find_mapping() first: the code may be newer than the index. */
	if ((mapping = find_mapping(unwinder, pc - 1)) != HS_MAPPING_NONE)
		kind = hs_frame_guess_return(unwinder->memory, unwinder->table, mapping, pc,
					     &unwinder->returns);
	if (kind == HS_RETURN_AFTER_CALL && is_call_of_another(walk, pc)) {
		*seen = 0;
		return HS_RETURN_NONE;
	}
	/* A compiled function begins there: it is a callback, not a return address. */
	if (kind == HS_RETURN_TO_ENTRY && has_info(walk, pc))
		return HS_RETURN_NONE;
	return kind;
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
	switch (hs_frame_guess(&walk->stepper.window, &regs)) {
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
	kind = judge_return(walk, regs.pc);
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
		if (!hs_engine_may_be_used(&walk->unwinder->engine))
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
	enum hs_stop stop = record(walk);

	while (stop == HS_STOP_NOT && (stop = step(walk)) == HS_STOP_NOT)
		stop = record(walk);
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
		.unwinder = unwinder,
		.stepper =
			{
				.engine = unwinder->engine.libunwind,
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
		.depth = depth,
		.is_call = true,
		.wanted_pc = hs_stack_end_wanted(),
	};
	enum hs_stop stop;

	hs_map_watch_follow(&unwinder->maps, captured);
	drop_stale_caches(unwinder);
	stop = walk_stack(&walk);
	if (stop == HS_STOP_COMPLETE && walk.wanted_sp != 0)
		hs_stack_end_found(&walk.stepper.window, walk.wanted_sp, walk.stepper.regs.sp);
	finish(&walk, stop);
	/* Not if the maps were read again meanwhile: older entries may be wrong then. */
	drop_stale_caches(unwinder);
	if (!hs_mapping_table_is_made_up(unwinder->table))
		hs_known_pcs_vouch(&unwinder->pcs, hs_mapping_table_closes(unwinder->table));
	count(&walk);
	return walk.count;
}
