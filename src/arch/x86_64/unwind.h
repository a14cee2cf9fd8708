/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the unwinder has to know about x86-64: DWARF's registers, the frame-pointer
 * chain, and how calls and the signal trampoline look in memory.
 */
#ifndef HS_ARCH_X86_64_UNWIND_H
#define HS_ARCH_X86_64_UNWIND_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "arch/x86_64/regs.h"

/* e_machine of the objects that this code can run with (EM_X86_64). */
#define HS_ARCH_ELF_MACHINE 62

/* The field of a register by libunwind's number, which is DWARF's.  NULL: not captured. */
static inline uint64_t *hs_arch_unwind_register(struct hs_regs *regs, int number)
{
	switch (number) {
	case 3:
		return &regs->bx;
	case 6:
		return &regs->bp;
	case 7:
		return &regs->sp;
	case 12:
		return &regs->r12;
	case 13:
		return &regs->r13;
	case 14:
		return &regs->r14;
	case 15:
		return &regs->r15;
	case 16:
		return &regs->pc;
	default:
		return NULL;
	}
}

/* The captured registers by number, for walking over them. */
#define HS_ARCH_UNWIND_REGISTERS { 3, 6, 7, 12, 13, 14, 15, 16 }

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

/* Bytes of code before a return address that hs_arch_is_after_call() looks at. */
#define HS_ARCH_CALL_BYTES 8

/* Whether code that ends with these bytes ends with a call: E8 rel32 or FF /2. */
static inline bool hs_arch_is_after_call(const uint8_t code[HS_ARCH_CALL_BYTES])
{
	static const uint8_t lengths[] = { 2, 3, 4, 6, 7 };

	if (code[HS_ARCH_CALL_BYTES - 5] == 0xe8)
		return true;
	for (unsigned i = 0; i < sizeof lengths; i++) {
		const uint8_t *call = code + HS_ARCH_CALL_BYTES - lengths[i];
		if (call[0] == 0xff && (call[1] & 0x38) == 0x10)
			return true;
	}
	return false;
}

/* The code that a signal handler returns to: mov $__NR_rt_sigreturn, %rax; syscall. */
#define HS_ARCH_SIGNAL_RETURN_BYTES 9

static inline bool hs_arch_is_signal_return(const uint8_t code[HS_ARCH_SIGNAL_RETURN_BYTES])
{
	return memcmp(code, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05",
		      HS_ARCH_SIGNAL_RETURN_BYTES) == 0;
}

#endif
