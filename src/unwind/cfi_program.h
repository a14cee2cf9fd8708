/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs call frame instructions (DWARF CFI), to get the register rules at one pc.
 * Source: DWARF 5, 6.4.
 *
 * The programs are untrusted.  One that uses what is not known here, or makes no sense, has
 * no rules.  It is run once, from its start to the pc, in time linear in its bytes.
 *
 * Allocates: never.  Errno: preserved.
 */
#ifndef HS_UNWIND_CFI_PROGRAM_H
#define HS_UNWIND_CFI_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/unwind.h"
#include "unwind/eh_frame_entry.h"

enum hs_cfi_kind {
	HS_CFI_SAME,       /* as in the frame itself */
	HS_CFI_OFFSET,     /* in memory, at the canonical frame address + offset */
	HS_CFI_EXPRESSION, /* in memory, at what the expression says */
	HS_CFI_UNDEFINED,  /* not known */
	HS_CFI_OTHER,      /* anything else: a value, another register */
};

/* Where the caller's value of a register is. */
struct hs_cfi_rule {
	uint32_t expression_bytes;
	uint8_t kind; /* enum hs_cfi_kind */
	union {
		int64_t offset;
		const uint8_t *expression; /* in the program */
	};
};

struct hs_cfi_rules {
	/* The canonical frame address: a register, by DWARF's number, and an offset ... */
	uint64_t cfa_register;
	int64_t cfa_offset;
	/* ... or, if not NULL, what this says. */
	const uint8_t *cfa_expression;
	uint32_t cfa_expression_bytes;
	/* By place in struct hs_regs. */
	struct hs_cfi_rule of[HS_ARCH_REGS];
};

/*
 * The rules at pc, which is one of the FDE's, and *end: the first address past pc for which
 * they need not hold any more.  Returns false if there are none.
 */
bool hs_cfi_run(const struct hs_eh_cie *cie, const struct hs_eh_fde *fde, uint64_t pc,
		struct hs_cfi_rules *rules, uint64_t *end);

#endif
