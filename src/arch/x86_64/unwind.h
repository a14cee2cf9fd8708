/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the unwinder has to know about x86-64: DWARF's registers, the frame-pointer
 * chain, and how calls and the signal trampoline look in memory.
 */
#ifndef HS_ARCH_X86_64_UNWIND_H
#define HS_ARCH_X86_64_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ucontext.h>

#include "arch/x86_64/regs.h"

/* Places in struct hs_regs, as an array; those from HS_ARCH_FIRST_SAVED on a callee saves. */
enum { HS_ARCH_PC, HS_ARCH_SP, HS_ARCH_FP, HS_ARCH_FIRST_SAVED = HS_ARCH_FP, HS_ARCH_REGS = 8 };

static inline uint64_t *hs_arch_register(struct hs_regs *regs, unsigned index)
{
	return (uint64_t *)(void *)regs + index;
}

/* Registers that unwind information may be about have numbers below this. */
#define HS_ARCH_DWARF_REGISTERS 17
/* The numbers of the stack pointer, and of what stands for the return address. */
#define HS_ARCH_DWARF_SP 7
#define HS_ARCH_DWARF_RETURN 16

/* The place of a register by DWARF's number.  -1: not captured. */
static inline int hs_arch_register_index(uint64_t number)
{
	static const int8_t indexes[HS_ARCH_DWARF_REGISTERS] = {
		-1, -1, -1, 3, -1, -1, 2, HS_ARCH_SP, -1, -1, -1, -1, 4, 5, 6, 7, HS_ARCH_PC,
	};

	return number < HS_ARCH_DWARF_REGISTERS ? indexes[number] : -1;
}

/* The other way round: DWARF's numbers of the registers of struct hs_regs. */
#define HS_ARCH_DWARF_NUMBERS { HS_ARCH_DWARF_RETURN, HS_ARCH_DWARF_SP, 6, 3, 12, 13, 14, 15 }

/* The word below the canonical frame address in which a call left the return address. */
#define HS_ARCH_RETURN_WORD 1

/*
 * The canonical frame address in the entries of a procedure linkage table, where it depends
 * on how far into the entry pc is: linkers write DW_OP_breg7 8, DW_OP_breg16 0, DW_OP_lit15,
 * DW_OP_and, DW_OP_litN, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus.
 * *offset: from the stack pointer.  Returns false for any other expression.
 */
static inline bool hs_arch_plt_cfa(const uint8_t *expression, size_t bytes, uint64_t pc,
				   int64_t *offset)
{
	static const uint8_t start[] = { 0x77, 8, 0x80, 0, 0x3f, 0x1a };
	static const uint8_t end[] = { 0x2a, 0x33, 0x24, 0x22 };
	unsigned pushed_at;

	if (bytes != sizeof start + 1 + sizeof end ||
	    memcmp(expression, start, sizeof start) != 0 ||
	    memcmp(expression + sizeof start + 1, end, sizeof end) != 0)
		return false;
	pushed_at = expression[sizeof start] - 0x30u;
	*offset = pc % 16 >= pushed_at ? 16 : 8;
	return pushed_at < 16;
}

/*
 * The frame record: {caller's frame pointer, return address} at the frame
 * pointer; the caller's stack pointer is just above it.
 */
static inline uint64_t hs_arch_frame_pointer(const struct hs_regs *regs)
{
	return regs->bp;
}

static inline void hs_arch_apply_frame_record(struct hs_regs *regs, const uint64_t record[2])
{
	regs->sp = regs->bp + 16;
	regs->bp = record[0];
	regs->pc = record[1];
}

/* Bytes of code before a return address that are looked at. */
#define HS_ARCH_CALL_BYTES 8

/* Whether code that ends with these bytes ends with FF and this operation of its group. */
static inline bool hs_arch_is_after_ff(const uint8_t code[HS_ARCH_CALL_BYTES], unsigned operation)
{
	static const uint8_t lengths[] = { 2, 3, 4, 6, 7 };

	for (unsigned i = 0; i < sizeof lengths; i++) {
		const uint8_t *at = code + HS_ARCH_CALL_BYTES - lengths[i];
		if (at[0] == 0xff && (at[1] >> 3 & 7) == operation)
			return true;
	}
	return false;
}

/* The same with a call: E8 rel32 or FF /2. */
static inline bool hs_arch_is_after_call(const uint8_t code[HS_ARCH_CALL_BYTES])
{
	return code[HS_ARCH_CALL_BYTES - 5] == 0xe8 || hs_arch_is_after_ff(code, 2);
}

/*
 * The same with an instruction that what follows is not reached from: a jump (EB rel8, E9 rel32,
 * FF /4), a return, INT3, HLT or UD2.
 */
static inline bool hs_arch_is_after_end(const uint8_t code[HS_ARCH_CALL_BYTES])
{
	const uint8_t *end = code + HS_ARCH_CALL_BYTES;

	return end[-1] == 0xc3 || end[-1] == 0xcc || end[-1] == 0xf4 ||
	       (end[-2] == 0x0f && end[-1] == 0x0b) || end[-2] == 0xeb || end[-5] == 0xe9 ||
	       hs_arch_is_after_ff(code, 4);
}

/* Whether the code ends, at pc, with E8 rel32, a call of *target. */
static inline bool hs_arch_call_target(const uint8_t code[HS_ARCH_CALL_BYTES], uint64_t pc,
				       uint64_t *target)
{
	int32_t distance;

	memcpy(&distance, code + HS_ARCH_CALL_BYTES - sizeof distance, sizeof distance);
	*target = pc + (uint64_t)(int64_t)distance;
	return code[HS_ARCH_CALL_BYTES - 5] == 0xe8;
}

/*
 * Whether the code ends, at pc, with FF 15 disp32, a call of what the word at *slot points to: a
 * slot of the GOT, or any variable.
 */
static inline bool hs_arch_call_slot(const uint8_t code[HS_ARCH_CALL_BYTES], uint64_t pc,
				     uint64_t *slot)
{
	int32_t distance;

	memcpy(&distance, code + HS_ARCH_CALL_BYTES - sizeof distance, sizeof distance);
	*slot = pc + (uint64_t)(int64_t)distance;
	return code[HS_ARCH_CALL_BYTES - 6] == 0xff && code[HS_ARCH_CALL_BYTES - 5] == 0x15;
}

/*
 * Whether pc is where code begins that a JIT compiler has padded: V8 aligns its built-in code to 32
 * bytes and fills what is left with INT3.  code: what ends at pc.
 */
static inline bool hs_arch_is_padded_entry(uint64_t pc, const uint8_t code[HS_ARCH_CALL_BYTES])
{
	return pc % 32 == 0 && code[HS_ARCH_CALL_BYTES - 1] == 0xcc;
}

/*
 * Whether code begins as that whose address OpenJDK's interpreter pushes before it jumps to a Java
 * method: it takes the stack pointer from the frame, where it then puts 0.  Up to version 21:
 * mov -16(%rbp), %rsp; movq $0, -16(%rbp).  Since: mov -16(%rbp), %rcx; lea 0(%rbp, %rcx, 8), %rsp;
 * movq $0, -16(%rbp).
 * Source: HotSpot's generate_return_entry_for(), x86; JDK-8308984.
 */
#define HS_ARCH_PUSHED_ENTRY_BYTES 17

static inline bool hs_arch_is_pushed_entry(const uint8_t code[HS_ARCH_PUSHED_ENTRY_BYTES])
{
	return memcmp(code, "\x48\x8b\x65\xf0\x48\xc7\x45\xf0\0\0\0\0", 12) == 0 ||
	       memcmp(code, "\x48\x8b\x4d\xf0\x48\x8d\x64\xcd\0\x48\xc7\x45\xf0\0\0\0\0",
		      HS_ARCH_PUSHED_ENTRY_BYTES) == 0;
}

/* The code that a signal handler returns to: mov $__NR_rt_sigreturn, %rax; syscall. */
#define HS_ARCH_SIGNAL_RETURN_BYTES 9

static inline bool hs_arch_is_signal_return(const uint8_t code[HS_ARCH_SIGNAL_RETURN_BYTES])
{
	return memcmp(code, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05",
		      HS_ARCH_SIGNAL_RETURN_BYTES) == 0;
}

/*
 * There the stack pointer is at what the kernel restores, a ucontext_t: where in it each register
 * of struct hs_regs is.
 */
#define HS_ARCH_INTERRUPTED(number) offsetof(ucontext_t, uc_mcontext.gregs[number])
#define HS_ARCH_INTERRUPTED_REGS                                                                   \
	{ HS_ARCH_INTERRUPTED(REG_RIP), HS_ARCH_INTERRUPTED(REG_RSP),                              \
	  HS_ARCH_INTERRUPTED(REG_RBP), HS_ARCH_INTERRUPTED(REG_RBX),                              \
	  HS_ARCH_INTERRUPTED(REG_R12), HS_ARCH_INTERRUPTED(REG_R13),                              \
	  HS_ARCH_INTERRUPTED(REG_R14), HS_ARCH_INTERRUPTED(REG_R15) }

_Static_assert(HS_ARCH_INTERRUPTED(REG_R8) == 40 && HS_ARCH_INTERRUPTED(REG_RIP) == 168,
	       "the kernel's layout");

#endif
