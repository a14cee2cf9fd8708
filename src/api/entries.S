/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entries of reports; the macro is in src/arch.
 */
#include "arch/entry.h"

#define HS_ENTRY_SECTION .text

HS_ENTRY(hs_entry_report_allocation, hs_slow_report_allocation)
HS_ENTRY_4(hs_entry_report_sample, hs_slow_report_sample)

	.section .note.GNU-stack, "", @progbits
