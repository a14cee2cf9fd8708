/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The procedure linkage table of x86-64: each slot jumps to the address in its slot of the
 * global offset table, which a relocation fills in.
 * Source: System V ABI, AMD64 supplement, 5.2 and 13.2 (with endbr64, or bnd).  mold's slots pass
 * their number in r11, and lead to the table's beginning before the first call.
 */
#ifndef HS_ARCH_X86_64_PLT_H
#define HS_ARCH_X86_64_PLT_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of a section that does not say it. */
#define HS_PLT_SLOT_BYTES 16

/* The most that hs_plt_decode() needs. */
#define HS_PLT_JUMP_BYTES 16

/* Whether a relocation puts a function's address into the GOT. */
static inline bool hs_plt_is_relocation(uint32_t type)
{
	return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}

/*
 * Whether code, which is at an ELF virtual address, is a slot's: [endbr64] [mov $number, %r11d]
 * [bnd] jmp *disp32(%rip).  *got: the ELF virtual address of its GOT slot.
 */
static inline bool hs_plt_decode(const unsigned char *code, size_t bytes, uint64_t address,
				 uint64_t *got)
{
	int32_t displacement;
	size_t at = 0;

	if (bytes >= 4 && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0)
		at = 4;
	if (bytes - at >= 6 && memcmp(code + at, "\x41\xbb", 2) == 0)
		at += 6;
	if (at < bytes && code[at] == 0xf2)
		at++;
	if (bytes - at < 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	memcpy(&displacement, code + at + 2, sizeof displacement);
	*got = address + at + 6 + (uint64_t)(int64_t)displacement;
	return true;
}

/*
 * Whether code is what the GOT leads to before the first call, with lazy binding: [endbr64] push
 * $number or %r11, and a jump to the loader.
 */
static inline bool hs_plt_is_unresolved(const unsigned char *code, size_t bytes)
{
	size_t at = bytes >= 4 && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;

	return at < bytes && (code[at] == 0x68 || code[at] == 0x6a ||
			      (bytes - at >= 2 && memcmp(code + at, "\x41\x53", 2) == 0));
}

#endif
