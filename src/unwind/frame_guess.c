/* SPDX-License-Identifier: BSD-2-Clause */
/* Callers without unwind information.  Run by the unwinding worker. */
#include "unwind/frame_guess.h"

#include "arch/unwind.h"

/* More than _start has on the stack when it calls. */
#define START_BYTES 64u

/* Whether the stack is known to end so close above that only its first frame is there. */
static bool is_near_end(const struct hs_stack_window *window, uint64_t address)
{
	return !window->cut && window->start + window->size - address <= START_BYTES;
}

/*
 * Whether the frame is the stack's first one.  Nothing that it could return to lies above: so it is
 * in the loader, which runs constructors from the stack that the kernel made.  Or it is _start's,
 * which sets the frame pointer to 0.  Source: System V ABI, AMD64 supplement, 3.4.1.
 */
static bool is_at_stack_end(const struct hs_stack_window *window, const struct hs_regs *regs)
{
	return window->size > 0 && is_near_end(window, regs->sp) &&
	       (regs->sp == window->start + window->size || hs_arch_frame_pointer(regs) == 0);
}

static enum hs_guess follow_frame_pointer(const struct hs_stack_window *window,
					  struct hs_regs *regs, bool is_guess)
{
	uint64_t record_address = hs_arch_frame_pointer(regs);
	uint64_t frame_record[2] = {0};
	bool is_last;

	if (record_address < regs->sp || record_address % sizeof frame_record[0] != 0)
		return HS_GUESS_NONE;
	for (size_t i = 0; i < 2; i++) {
		uint64_t address = record_address + i * sizeof frame_record[0];

		if (!hs_stack_window_read(window, address, &frame_record[i]))
			return hs_stack_window_is_cut_off(window, address) ? HS_GUESS_CUT
									   : HS_GUESS_NONE;
	}
	hs_arch_apply_frame_record(regs, frame_record);
	if (regs->pc != 0)
		return HS_GUESS_FRAME;
	/* If the frame pointer was none, zeros are what some variable happens to be. */
	is_last = window->cut ? is_guess : is_near_end(window, record_address);
	return frame_record[0] == 0 && is_last ? HS_GUESS_END : HS_GUESS_NONE;
}

enum hs_guess hs_frame_guess(const struct hs_stack_window *window, struct hs_regs *regs,
			     bool is_guess)
{
	return is_at_stack_end(window, regs) ? HS_GUESS_END
					     : follow_frame_pointer(window, regs, is_guess);
}

/* Whether generated code begins at pc that is returned to without having been called. */
static bool is_pushed_entry(struct hs_memory_cache *memory, const struct hs_mapping_table *table,
			    uint32_t mapping, uint64_t pc)
{
	uint8_t code[HS_ARCH_PUSHED_ENTRY_BYTES];

	return hs_mapping_table_is_anonymous(table, mapping) &&
	       hs_memory_cache_read(memory, pc, code, sizeof code) == 0 &&
	       hs_arch_is_pushed_entry(code);
}

enum hs_return hs_frame_guess_return(struct hs_memory_cache *memory,
				     const struct hs_mapping_table *table, uint32_t mapping,
				     uint64_t pc, struct hs_seen_returns *seen)
{
	uint8_t code[HS_ARCH_CALL_BYTES];

	if (pc <= sizeof code)
		return HS_RETURN_NONE;
	if (hs_memory_cache_read(memory, pc - sizeof code, code, sizeof code) != 0)
		return hs_mapping_table_is_anonymous(table, mapping) ? HS_RETURN_AFTER_CALL
								     : HS_RETURN_NONE;
	/* First: one byte behind a call may also look like the end of a call. */
	if (hs_arch_is_padded_entry(pc, code))
		return HS_RETURN_TO_ENTRY;
	if (!hs_arch_is_after_call(code))
		return is_pushed_entry(memory, table, mapping, pc) ? HS_RETURN_TO_ENTRY
								   : HS_RETURN_NONE;
	/* Asked each time: if the maps could not be read they may be now. */
	if (!hs_mapping_table_is_made_up(table))
		*hs_seen_returns_place(seen, pc) = pc;
	return HS_RETURN_AFTER_CALL;
}
