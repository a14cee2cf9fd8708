/* SPDX-License-Identifier: BSD-2-Clause */
/* When to read the maps again.  Run by the unwinding worker. */
#include "unwind/map_watch.h"

#include "base/sys.h"
#include "sample/sequence.h"
#include "unwind/unwinder.h"

/* After so many refreshes in vain, misses take at most a twentieth of the worker's time. */
#define REFRESHES_IN_VAIN 8u
#define REFRESH_REST 20

/*
 * How many libraries were closed between the capture and the maps; negative: the maps are older.
 */
static int32_t stack_lag(const struct hs_map_watch *watch)
{
	return (int32_t)(hs_mapping_table_closes(watch->table) - watch->closes_over);
}

static int refresh(struct hs_map_watch *watch)
{
	/* Acquire: a stack with a lower number has been captured. */
	uint64_t next_number = atomic_load_explicit(&hs_sequence.next, memory_order_acquire);
	uint64_t start_ns = hs_sys_monotonic_ns(), end_ns;
	int error = hs_mapping_table_refresh(watch->table);

	if (error == 0)
		watch->numbers_before = next_number;
	end_ns = hs_sys_monotonic_ns();
	watch->refresh_again_ns = end_ns + (end_ns - start_ns) * REFRESH_REST;
	return error;
}

/*
 * The libraries of its stack were there when the maps were read: they are from before the capture
 * until a close, which waits for the stack to be unwound.
 */
static bool is_older(const struct hs_map_watch *watch)
{
	return watch->number != 0 && watch->number < watch->numbers_before;
}

static bool has_opened(const struct hs_map_watch *watch)
{
	return hs_mapping_table_opens(watch->table) !=
	       atomic_load_explicit(&hs_library_opens, memory_order_relaxed);
}

static bool has_rested(const struct hs_map_watch *watch)
{
	return hs_sys_monotonic_ns() >= watch->refresh_again_ns;
}

void hs_map_watch_follow(struct hs_map_watch *watch, const struct hs_captured *captured)
{
	watch->number = captured->number;
	watch->closes_unwaited = captured->closes_unwaited;
	watch->closes_over = hs_closes_over(captured->closes);
	if (hs_mapping_table_generation(watch->table) == 0)
		return;
	/*
	 * A library may have been opened where something else was that went without a dlclose(),
	 * such as generated code.  Limited like misses, because some programs open libraries often.
	 */
	if (stack_lag(watch) < 0 ||
	    (hs_closes_under_way(captured->closes) && !is_older(watch)) ||
	    ((has_opened(watch) || watch->has_code_by_hand) && has_rested(watch)))
		refresh(watch);
}

static bool may_refresh(const struct hs_map_watch *watch)
{
	return hs_mapping_table_generation(watch->table) == 0 ||
	       watch->refreshes_in_vain < REFRESHES_IN_VAIN || has_opened(watch) ||
	       has_rested(watch);
}

static void note_code_by_hand(struct hs_map_watch *watch, uint32_t id)
{
	const struct hs_mapping *mapping = hs_mapping_table_get(watch->table, id);
	const unsigned flags = HS_MAPPING_FLAT | HS_MAPPING_HINT;

	if (mapping != NULL && (mapping->flags & flags) == HS_MAPPING_FLAT)
		watch->has_code_by_hand = true;
}

uint32_t hs_map_watch_find(struct hs_map_watch *watch, uint64_t address)
{
	/* By the maps, not by hints: the bytes of hinted code are read too. */
	uint32_t id = hs_mapping_table_find_recorded(watch->table, address);
	bool is_miss = id == HS_MAPPING_NONE || hs_mapping_table_is_made_up(watch->table);
	uint32_t former = is_miss ? hs_mapping_table_find_former(watch->table, address)
				  : HS_MAPPING_NONE;

	/* Reading the maps again tells no more of a stack that was captured before. */
	if (is_miss && !(is_older(watch) && former != HS_MAPPING_NONE) && may_refresh(watch)) {
		watch->refreshes_in_vain++;
		if (refresh(watch) == 0 &&
		    hs_mapping_table_find_recorded(watch->table, address) != HS_MAPPING_NONE)
			watch->refreshes_in_vain = 0;
	}
	id = hs_mapping_table_find(watch->table, address);
	if (id == HS_MAPPING_NONE)
		id = hs_mapping_table_find_former(watch->table, address);
	note_code_by_hand(watch, id);
	return id;
}

bool hs_map_watch_is_of_stack(const struct hs_map_watch *watch, uint32_t id)
{
	int32_t lag = stack_lag(watch);

	if (lag < 0)
		return false;
	if (lag == 0 || hs_closes_unwaited() == watch->closes_unwaited)
		return true;
	return (int32_t)(hs_mapping_table_since(watch->table, id) - watch->closes_over) <= 0;
}
