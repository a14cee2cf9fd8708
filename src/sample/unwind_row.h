/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A row: the unwind rule of one pc, how to get from a frame to its caller, small enough to be
 * cached for each pc.
 *
 * libunwind handles what a row cannot express: DWARF expressions other than those of PLTs and
 * realigned stacks, registers saved elsewhere than below the frame's top, return addresses
 * elsewhere than a call leaves them.
 *
 * Allocates: never.  Errno: preserved.
 */
#ifndef HS_SAMPLE_UNWIND_ROW_H
#define HS_SAMPLE_UNWIND_ROW_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "arch/unwind.h"
#include "sample/stack_window.h"

/* Bytes of a saved register. */
#define HS_ROW_WORD 8

enum hs_row_kind {
	HS_ROW_NONE,      /* left to libunwind */
	HS_ROW_SIGNAL,    /* a signal handler returns there: the kernel saved all registers */
	HS_ROW_NO_INFO,   /* there is no unwind information */
	HS_ROW_REGISTER,  /* the canonical frame address (CFA) is register + offset */
	HS_ROW_REALIGNED, /* the CFA is stored there; registers are saved below *register */
	HS_ROW_END,       /* there is no caller */
};

struct hs_unwind_row {
	int32_t cfa_offset;
	uint8_t kind : 4;         /* enum hs_row_kind */
	uint8_t cfa_register : 4; /* place in struct hs_regs */
	uint8_t deepest;          /* the largest of saved */
	/* From HS_ARCH_FIRST_SAVED on: 0 = as in the frame, n = n words below where they end. */
	uint8_t saved[HS_ARCH_REGS - HS_ARCH_FIRST_SAVED];
};

/*
 * Whether it is a row of code that has set up a frame.  False for the stack as a call leaves it,
 * which assemblers also claim for code that is no function.
 */
static inline bool hs_row_has_frame(const struct hs_unwind_row *row)
{
	return row->kind > HS_ROW_NO_INFO &&
	       !(row->kind == HS_ROW_REGISTER && row->cfa_register == HS_ARCH_SP &&
		 row->cfa_offset == HS_ARCH_RETURN_WORD * HS_ROW_WORD);
}

/* Loads the saved registers from the words below `end`.  False: they are not in the window. */
static inline bool hs_row_load(const struct hs_unwind_row *row,
			       const struct hs_stack_window *window, uint64_t end,
			       struct hs_regs *regs)
{
	uint64_t top = end - window->start;

	if (row->deepest == 0)
		return true;
	if (top > window->size || top < row->deepest * HS_ROW_WORD)
		return false;
#pragma GCC unroll 8
	for (unsigned i = HS_ARCH_FIRST_SAVED; i < HS_ARCH_REGS; i++) {
		unsigned words = row->saved[i - HS_ARCH_FIRST_SAVED];

		if (words > 0)
			memcpy(hs_arch_register(regs, i), window->bytes + top - words * HS_ROW_WORD,
			       HS_ROW_WORD);
	}
	return true;
}

/*
 * Makes the registers those of the caller.  False, and *regs is as before, if a word is not in the
 * window.  For HS_ROW_REGISTER and HS_ROW_REALIGNED only.
 */
static inline bool hs_row_apply(const struct hs_unwind_row *row,
				const struct hs_stack_window *window, struct hs_regs *regs)
{
	uint64_t base = *hs_arch_register(regs, row->cfa_register);
	uint64_t cfa = base + (uint64_t)(int64_t)row->cfa_offset, end = cfa, pc;

	if (row->kind == HS_ROW_REALIGNED) {
		end = base + HS_ROW_WORD;
		if (!hs_stack_window_read(window, cfa, &cfa))
			return false;
	}
	if (!hs_stack_window_read(window, cfa - HS_ARCH_RETURN_WORD * HS_ROW_WORD, &pc) ||
	    !hs_row_load(row, window, end, regs))
		return false;
	regs->pc = pc;
	regs->sp = cfa;
	return true;
}

#endif
