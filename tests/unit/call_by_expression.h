/* SPDX-License-Identifier: BSD-2-Clause */
/* A function that only libunwind can unwind: no row has its expression. */
#ifndef HS_TESTS_CALL_BY_EXPRESSION_H
#define HS_TESTS_CALL_BY_EXPRESSION_H

/* Calls f.  The canonical frame address is DW_OP_breg7 8, DW_OP_plus_uconst 8. */
void call_by_expression(void (*f)(void));
__asm__(".text\n"
	"call_by_expression: .cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_escape 0x0f, 4, 0x77, 8, 0x23, 8\n"
	"	call *%rdi\n"
	"	add $8, %rsp\n"
	"	ret\n"
	"	.cfi_endproc\n");

#endif
