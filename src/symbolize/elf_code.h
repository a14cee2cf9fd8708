/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where an object's code is in its file, and at which ELF virtual addresses: for code that was
 * mapped without the object's first pages, which say so.
 * Threads: profiler threads.
 */
#ifndef HS_SYMBOLIZE_ELF_CODE_H
#define HS_SYMBOLIZE_ELF_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/elf_file.h"

/* Executable segments kept; linkers make one, rarely two. */
#define HS_ELF_CODE_SEGMENTS 4

struct hs_elf_code_segment {
	uint64_t offset; /* in the file */
	uint64_t bytes;
	uint64_t address;
};

struct hs_elf_code {
	struct hs_elf_code_segment segments[HS_ELF_CODE_SEGMENTS];
	unsigned count;
};

/* Inside hs_assertion_catch(), as all of elf_file.h. */
void hs_elf_code_read(struct hs_elf_code *code, const struct hs_elf_file *file);

/* Make an address of an offset into the file.  False: that is no code. */
bool hs_elf_code_place(const struct hs_elf_code *code, uint64_t *address);

#endif
