/* SPDX-License-Identifier: BSD-2-Clause */
/* See elf_code.h. */
#include "base/elf_code.h"

#include <gelf.h>
#include <stddef.h>

static void add_segment(struct hs_elf_code *code, const GElf_Phdr *header)
{
	if (header->p_type != PT_LOAD || (header->p_flags & PF_X) == 0 || header->p_filesz == 0 ||
	    header->p_offset > INT64_MAX || header->p_filesz > INT64_MAX - header->p_offset ||
	    code->count == HS_ELF_CODE_SEGMENTS)
		return;
	code->segments[code->count++] = (struct hs_elf_code_segment){
		.offset = header->p_offset,
		.bytes = header->p_filesz,
		.address = header->p_vaddr,
	};
}

void hs_elf_code_read(struct hs_elf_code *code, Elf *elf)
{
	size_t count = 0;
	GElf_Phdr header;

	code->count = 0;
	if (elf_getphdrnum(elf, &count) != 0)
		return;
	for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &header) != NULL; i++)
		add_segment(code, &header);
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
