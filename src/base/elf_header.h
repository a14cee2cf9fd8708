/* SPDX-License-Identifier: BSD-2-Clause */
/* Which ELF objects are of this machine: those whose header says the same as our own. */
#ifndef HS_BASE_ELF_HEADER_H
#define HS_BASE_ELF_HEADER_H

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "base/visibility.h"

/* Our own ELF header (the linker's symbol). */
extern HS_HIDDEN const Elf64_Ehdr __ehdr_start;

static inline bool hs_elf_header_is_ours(const Elf64_Ehdr *header)
{
	/* Magic number, class and byte order at once. */
	return memcmp(header->e_ident, __ehdr_start.e_ident, EI_VERSION) == 0 &&
	       header->e_machine == __ehdr_start.e_machine;
}

#endif
