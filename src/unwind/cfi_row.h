/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a row (sample/unwind_row.h) of what the unwind tables say.
 *
 * Allocates: never.  Errno: preserved.
 */
#ifndef HS_UNWIND_CFI_ROW_H
#define HS_UNWIND_CFI_ROW_H

#include <stdint.h>

#include "sample/unwind_row.h"
#include "unwind/cfi_program.h"

/* The row for the rules at pc; HS_ROW_NONE if a row cannot express them. */
void hs_cfi_row_make(struct hs_unwind_row *row, const struct hs_cfi_rules *rules, uint64_t pc);

#endif
