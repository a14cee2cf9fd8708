/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The relocations of .eh_frame sections in ET_REL objects.
 * Source: System V ABI, AMD64 supplement, "Relocation".
 */
#ifndef HS_ARCH_X86_64_RELOCATION_H
#define HS_ARCH_X86_64_RELOCATION_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Relocates the field at `field`, of which room bytes may be written.  value: symbol +
 * addend; place: the address of the field.  Returns false, the field untouched, for other
 * types and where there is no room.  A value too large for a field of 4 bytes is cut.
 */
static inline bool hs_arch_relocate(uint8_t *field, size_t room, uint32_t type, uint64_t value,
				    uint64_t place)
{
	size_t bytes = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;

	if (bytes > room)
		return false;
	switch (type) {
	case R_X86_64_PC32:
	case R_X86_64_PC64:
		value -= place;
		break;
	case R_X86_64_64:
	case R_X86_64_32:
		break;
	default:
		return false;
	}
	memcpy(field, &value, bytes);
	return true;
}

#endif
