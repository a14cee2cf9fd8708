/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A row: how to get from a frame to its caller at one pc, in so few bytes that it can be kept
 * for each pc.
 *
 * What a row cannot say is left to libunwind: other expressions than those of procedure
 * linkage tables and realigned stacks, registers saved elsewhere than below the frame's top,
 * return addresses elsewhere than a call leaves them.
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
	HS_ROW_NONE,      /* libunwind's */
	HS_ROW_NO_INFO,   /* there is no unwind information */
	HS_ROW_REGISTER,  /* the canonical frame address is register + offset */
	HS_ROW_REALIGNED, /* it stands there; registers are saved below the register's own word */
	HS_ROW_END,       /* there is no caller */
};

struct hs_row {
	int32_t cfa_offset;
	uint8_t kind : 4;         /* enum hs_row_kind */
	uint8_t cfa_register : 4; /* place in struct hs_regs */
	uint8_t deepest;          /* the largest of saved */
	/* From HS_ARCH_FIRST_SAVED on: 0 = as in the frame, n = n words below where they end. */
	uint8_t saved[HS_ARCH_REGS - HS_ARCH_FIRST_SAVED];
};

/*
 * Whether it is of code that has made a frame: not as a call leaves the stack, which is also what
 * an assembler says of code that is no function.
 */
static inline bool hs_row_has_frame(const struct hs_row *row)
{
	return row->kind > HS_ROW_NO_INFO &&
	       !(row->kind == HS_ROW_REGISTER && row->cfa_register == HS_ARCH_SP &&
		 row->cfa_offset == HS_ROW_WORD);
}

/* Load the saved registers from the words below end.  Returns false if they are not there. */
static inline bool hs_row_load(const struct hs_row *row, const struct hs_stack_window *window,
			       uint64_t end, struct hs_regs *regs)
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
 * Make the registers those of the caller.  Returns false, *regs as before, if a word is not
 * in the window.  Only for rows of kinds with an address.
 */
static inline bool hs_row_apply(const struct hs_row *row, const struct hs_stack_window *window,
				struct hs_regs *regs)
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
