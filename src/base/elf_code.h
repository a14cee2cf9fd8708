/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where an object's code is in its file, and at which ELF virtual addresses: for code that is in
 * memory without the object's first pages, which say so.
 *
 * Threads: any.  Allocates: hs_elf_code_read(), as libelf does.
 */
#ifndef HS_BASE_ELF_CODE_H
#define HS_BASE_ELF_CODE_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

/* Executable segments kept; linkers make one, rarely two. */
#define HS_ELF_CODE_SEGMENTS 4

struct hs_elf_code_segment {
	uint64_t offset; /* in the file */
	uint64_t bytes;  /* in the file */
	uint64_t address;
};

struct hs_elf_code {
	struct hs_elf_code_segment segments[HS_ELF_CODE_SEGMENTS];
	unsigned count;
};

/* Inside hs_assertion_catch(), as all of libelf. */
void hs_elf_code_read(struct hs_elf_code *code, Elf *elf);

/* Makes an address of an offset into the file.  False: that is no code. */
bool hs_elf_code_place(const struct hs_elf_code *code, uint64_t *address);

#endif
