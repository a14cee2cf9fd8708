/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HS_ENTRY(name, target), HS_ENTRY_4(name, target): the entry of a sampled call of at
 * most three, or of four, arguments, for assembly files.
 * HS_ENTRY_SECTION: the code section that entries are put into from here on; defined by the file.
 *
 * The compiled fast path jumps here with the stack pointer, the argument
 * registers and the callee-saved registers as the program's call left them.  The
 * stub saves the caller's registers as a struct hs_regs on the stack and calls
 * target with the same arguments and the struct's address as the fourth, or fifth.
 * It aligns the stack, which hand-written callers may not have done: most allocators
 * do not mind.  Unwinding (exceptions of operator new, debuggers) works through it.
 */
#ifndef HS_ARCH_X86_64_ENTRY_H
#define HS_ARCH_X86_64_ENTRY_H

/* 64 bytes of struct hs_regs. */
#define HS_ENTRY(name, target) HS_ENTRY_(name, target, %rcx)
#define HS_ENTRY_4(name, target) HS_ENTRY_(name, target, %r8)

#define HS_ENTRY_(name, target, regs_argument)                                                     \
	.section HS_ENTRY_SECTION, "ax", @progbits;                                                \
	.p2align 4;                                                                                \
	.globl name;                                                                               \
	.hidden name;                                                                              \
	.hidden target;                                                                            \
	.type name, @function;                                                                     \
name:;                                                                                             \
	.cfi_startproc;                                                                            \
	endbr64;                                                                                   \
	subq $64, %rsp;                                                                            \
	.cfi_adjust_cfa_offset 64;                                                                 \
	movq 64(%rsp), %rax;                                                                       \
	movq %rax, 0(%rsp);                                                                        \
	leaq 72(%rsp), %rax;                                                                       \
	movq %rax, 8(%rsp);                                                                        \
	movq %rbp, 16(%rsp);                                                                       \
	movq %rbx, 24(%rsp);                                                                       \
	movq %r12, 32(%rsp);                                                                       \
	movq %r13, 40(%rsp);                                                                       \
	movq %r14, 48(%rsp);                                                                       \
	movq %r15, 56(%rsp);                                                                       \
	movq %rsp, regs_argument;                                                                  \
	movq %rsp, %rbx;                                                                           \
	.cfi_def_cfa_register %rbx;                                                                \
	.cfi_offset %rbx, -48;                                                                     \
	andq $-16, %rsp;                                                                           \
	call target;                                                                               \
	movq %rbx, %rsp;                                                                           \
	.cfi_def_cfa_register %rsp;                                                                \
	movq 24(%rsp), %rbx;                                                                       \
	.cfi_restore %rbx;                                                                         \
	addq $64, %rsp;                                                                            \
	.cfi_adjust_cfa_offset -64;                                                                \
	ret;                                                                                       \
	.cfi_endproc;                                                                              \
	.size name, . - name

#endif
