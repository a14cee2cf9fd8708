/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out about addresses of code.  Run by the unwinding worker. */
#include "unwind/pc_lookup.h"

#include <errno.h>

#include "base/stats.h"
#include "unwind/code_look.h"

int hs_pc_lookup_init(struct hs_pc_lookup *lookup, struct hs_mapping_table *table,
		      enum hs_leave (*before_engine)(bool is_first))
{
	lookup->table = lookup->maps.table = table;
	lookup->memory = hs_memory_cache_create(table);
	lookup->hinted = hs_hint_frames_create();
	if (lookup->memory == NULL || lookup->hinted == NULL)
		return -ENOMEM;
	lookup->libunwind = (struct hs_libunwind_use){
		.table = table,
		.memory = lookup->memory,
		.before_use = before_engine,
		.engine = hs_libunwind_engine_create(table, lookup->memory, lookup->hinted),
	};
	lookup->rows = hs_unwind_rows_create(lookup->memory, lookup->hinted);
	if (lookup->libunwind.engine == NULL || lookup->rows == NULL)
		return -ENOMEM;
	return hs_known_pcs_init(&lookup->pcs);
}

void hs_pc_lookup_fini(struct hs_pc_lookup *lookup)
{
	hs_known_pcs_destroy(&lookup->pcs);
	hs_unwind_rows_destroy(lookup->rows);
	hs_libunwind_engine_destroy(lookup->libunwind.engine);
	hs_hint_frames_destroy(lookup->hinted);
	hs_memory_cache_destroy(lookup->memory);
}

static void drop_stale_caches(struct hs_pc_lookup *lookup)
{
	uint64_t generation = hs_mapping_table_generation(lookup->table);

	if (generation == lookup->generation)
		return;
	lookup->generation = generation;
	hs_memory_cache_drop_stale(lookup->memory);
	hs_known_pcs_drop(&lookup->pcs);
	lookup->returns = (struct hs_seen_returns){0};
	hs_libunwind_engine_flush(lookup->libunwind.engine);
	hs_hint_frames_trim(lookup->hinted);
}

void hs_pc_lookup_begin(struct hs_pc_lookup *lookup, const struct hs_captured *captured)
{
	hs_map_watch_follow(&lookup->maps, captured);
	drop_stale_caches(lookup);
}

void hs_pc_lookup_end(struct hs_pc_lookup *lookup)
{
	/* Not if the maps were read again meanwhile: older entries may be wrong then. */
	drop_stale_caches(lookup);
	if (!hs_mapping_table_is_made_up(lookup->table))
		hs_known_pcs_vouch(&lookup->pcs, hs_mapping_table_closes(lookup->table),
				   hs_mapping_table_opens(lookup->table));
}

/* The mapping of an address, re-reading the maps if need be. */
static uint32_t find_mapping(struct hs_pc_lookup *lookup, uint64_t address)
{
	uint32_t id = hs_map_watch_find(&lookup->maps, address);

	drop_stale_caches(lookup);
	return id;
}

/*
 * Whether a function begins at pc that no call is before: it was given as the return address of a
 * stack's first frame, as makecontext() does it, and the row of pc - 1 is another function's.
 */
static bool is_first_return(const struct hs_pc_lookup *lookup, const struct hs_mapping *mapping,
			    uint64_t pc)
{
	enum hs_code_before before;

	if (!hs_unwind_rows_has_start(lookup->rows, mapping, pc))
		return false;
	before = hs_code_before(lookup->memory, pc);
	return before == HS_CODE_END || before == HS_CODE_OTHER;
}

/*
 * If the row of the call also holds at pc, there is neither code that a signal handler returns to
 * nor a function's start.
 */
bool hs_pc_lookup_find_out(struct hs_pc_lookup *lookup, uint64_t pc, bool is_call,
			   struct hs_pc *known)
{
	/* First, because code newer than the index is not readable before. */
	uint32_t id = find_mapping(lookup, pc - is_call);
	const struct hs_mapping *mapping = hs_mapping_table_get(lookup->table, id);
	uint64_t end;

	*known = (struct hs_pc){.pc = pc, .is_call = is_call};
	hs_unwind_rows_make(lookup->rows, mapping, pc - is_call, &known->row, &end);
	if ((!hs_row_has_frame(&known->row) || end <= pc) &&
	    hs_code_is_signal_return(lookup->memory, pc)) {
		known->row = (struct hs_unwind_row){.kind = HS_ROW_SIGNAL};
		id = hs_mapping_table_find(lookup->table, pc);
		mapping = hs_mapping_table_get(lookup->table, id);
	} else if (mapping != NULL && is_call && end <= pc &&
		   is_first_return(lookup, mapping, pc)) {
		known->row = (struct hs_unwind_row){.kind = HS_ROW_NO_INFO};
	}
	if (mapping == NULL)
		return false;
	known->mapping = id;
	known->is_own = (mapping->flags & HS_MAPPING_OWN) != 0;
	hs_stats_add_unshared(unwind_rows_made, known->row.kind > HS_ROW_NO_INFO);
	/* While the maps cannot be read they are to be asked for each time. */
	if (!hs_mapping_table_is_made_up(lookup->table))
		hs_known_pcs_add(&lookup->pcs, known);
	return true;
}

bool hs_pc_lookup_has_info(struct hs_pc_lookup *lookup, const struct hs_stack_window *window,
			   uint64_t pc)
{
	struct hs_pc itself;

	if (!hs_pc_lookup(lookup, pc, false, &itself) || itself.row.kind == HS_ROW_NO_INFO)
		return false;
	return itself.row.kind != HS_ROW_NONE ||
	       (hs_libunwind_may_be_used(&lookup->libunwind) &&
		hs_libunwind_engine_has_info(lookup->libunwind.engine, window, pc));
}

/*
 * Whether the call before pc calls a function that has unwind information, and so is not that of
 * the frame: this has set up no frame record, and the frame pointer is of one further out.
 * Generated code is not looked at: it may jump anywhere.
 */
static bool is_call_of_another(struct hs_pc_lookup *lookup, const struct hs_stack_window *window,
			       uint64_t pc, uint32_t callee)
{
	const struct hs_mapping_table *table = lookup->table;
	uint64_t called;

	return !hs_mapping_table_is_anonymous(table, callee) &&
	       !hs_mapping_table_is_anonymous(table, hs_mapping_table_find(table, pc)) &&
	       hs_code_has_callee(lookup->memory, table, pc, &called) &&
	       hs_pc_lookup_has_info(lookup, window, called);
}

enum hs_return hs_pc_lookup_return(struct hs_pc_lookup *lookup,
				   const struct hs_stack_window *window, uint64_t pc,
				   uint32_t callee)
{
	uint64_t *seen = hs_seen_returns_place(&lookup->returns, pc);
	enum hs_return kind = HS_RETURN_NONE;
	uint32_t mapping;

	if (*seen == pc)
		return HS_RETURN_AFTER_CALL;
	/* find_mapping() first: the code may be newer than the index. */
	if ((mapping = find_mapping(lookup, pc - 1)) != HS_MAPPING_NONE)
		kind = hs_frame_guess_return(lookup->memory, lookup->table, mapping, pc,
					     &lookup->returns);
	if (kind == HS_RETURN_AFTER_CALL && is_call_of_another(lookup, window, pc, callee)) {
		*seen = 0;
		return HS_RETURN_NONE;
	}
	/* A compiled function begins there: it is a callback, not a return address. */
	if (kind == HS_RETURN_TO_ENTRY && hs_pc_lookup_has_info(lookup, window, pc))
		return HS_RETURN_NONE;
	return kind;
}
