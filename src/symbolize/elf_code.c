/* SPDX-License-Identifier: BSD-2-Clause */
/* See elf_code.h. */
#include "symbolize/elf_code.h"

#include <gelf.h>

void hs_elf_code_read(struct hs_elf_code *code, const struct hs_elf_file *file)
{
	size_t count = 0;
	GElf_Phdr header;

	code->count = 0;
	if (elf_getphdrnum(file->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count && gelf_getphdr(file->elf, (int)i, &header) != NULL; i++) {
		if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0)
			continue;
		code->segments[code->count++] = (struct hs_elf_code_segment){
			.offset = header.p_offset,
			.bytes = header.p_filesz,
			.address = header.p_vaddr,
		};
		if (code->count == HS_ELF_CODE_SEGMENTS)
			return;
	}
}

bool hs_elf_code_place(const struct hs_elf_code *code, uint64_t *address)
{
	for (unsigned i = 0; i < code->count; i++) {
		const struct hs_elf_code_segment *segment = &code->segments[i];

		/* Wraps to a large value before the segment. */
		uint64_t offset = *address - segment->offset;

		if (offset < segment->bytes) {
			*address = segment->address + offset;
			return true;
		}
	}
	return false;
}
