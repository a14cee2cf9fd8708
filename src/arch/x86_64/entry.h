/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HS_ENTRY(name, target), HS_ENTRY_4(name, target): the entry of a sampled call of at
 * most three, or of four, arguments, for assembly files.
 *
 * The compiled fast path jumps here with the stack pointer, the argument
 * registers and the callee-saved registers as the program's call left them.  The
 * stub saves the caller's registers as a struct hs_regs on the stack and calls
 * target with the same arguments and the struct's address as the fourth, or fifth.
 * Unwinding (exceptions of operator new, debuggers) works through it.
 */
#ifndef HS_ARCH_X86_64_ENTRY_H
#define HS_ARCH_X86_64_ENTRY_H

/* 64 bytes of struct hs_regs and 8 that align the stack for the call. */
#define HS_ENTRY(name, target) HS_ENTRY_(name, target, %rcx)
#define HS_ENTRY_4(name, target) HS_ENTRY_(name, target, %r8)

#define HS_ENTRY_(name, target, regs_argument)                                                     \
	.section .text.hot, "ax", @progbits;                                                       \
	.p2align 4;                                                                                \
	.globl name;                                                                               \
	.hidden name;                                                                              \
	.hidden target;                                                                            \
	.type name, @function;                                                                     \
name:;                                                                                             \
	.cfi_startproc;                                                                            \
	endbr64;                                                                                   \
	subq $72, %rsp;                                                                            \
	.cfi_adjust_cfa_offset 72;                                                                 \
	movq 72(%rsp), %rax;                                                                       \
	movq %rax, 0(%rsp);                                                                        \
	leaq 80(%rsp), %rax;                                                                       \
	movq %rax, 8(%rsp);                                                                        \
	movq %rbp, 16(%rsp);                                                                       \
	movq %rbx, 24(%rsp);                                                                       \
	movq %r12, 32(%rsp);                                                                       \
	movq %r13, 40(%rsp);                                                                       \
	movq %r14, 48(%rsp);                                                                       \
	movq %r15, 56(%rsp);                                                                       \
	movq %rsp, regs_argument;                                                                  \
	call target;                                                                               \
	addq $72, %rsp;                                                                            \
	.cfi_adjust_cfa_offset -72;                                                                \
	ret;                                                                                       \
	.cfi_endproc;                                                                              \
	.size name, . - name

#endif
