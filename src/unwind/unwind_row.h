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
#ifndef HS_UNWIND_UNWIND_ROW_H
#define HS_UNWIND_UNWIND_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/unwind.h"
#include "unwind/cfi_program.h"
#include "unwind/stack_window.h"

enum hs_row_kind {
	HS_ROW_NONE,      /* libunwind's */
	HS_ROW_REGISTER,  /* the canonical frame address is register + offset */
	HS_ROW_REALIGNED, /* it stands there; registers are saved below the register's own word */
	HS_ROW_END,       /* there is no caller */
};

struct hs_row {
	int32_t cfa_offset;
	uint8_t kind;         /* enum hs_row_kind */
	uint8_t cfa_register; /* place in struct hs_regs */
	/* From HS_ARCH_FIRST_SAVED on: 0 = as in the frame, n = n words below where they end. */
	uint8_t saved[HS_ARCH_REGS - HS_ARCH_FIRST_SAVED];
};

/* The row for what the rules say at pc; of kind HS_ROW_NONE if it does not go. */
void hs_row_set(struct hs_row *row, const struct hs_cfi_rules *rules, uint64_t pc);

/*
 * Make the registers those of the caller.  Returns false, *regs as before, if a word is not
 * in the window.  Not for rows of the kinds NONE and END.
 */
bool hs_row_apply(const struct hs_row *row, const struct hs_stack_window *window,
		  struct hs_regs *regs);

#endif
