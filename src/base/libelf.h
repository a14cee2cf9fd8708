/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens ELF objects with libelf, and finds sections.  Its reads are made by base/sys.h.
 *
 * libelf has assertions: call it inside hs_assertion_catch().
 * Threads: profiler threads.  Memory: the arena.
 */
#ifndef HS_BASE_LIBELF_H
#define HS_BASE_LIBELF_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * NULL: no memory.  For a file that is no ELF object elf_kind() is not ELF_K_ELF.  The caller ends
 * it with elf_end() and keeps the file open, or the image, until then.
 */
Elf *hs_libelf_open(int fd);
Elf *hs_libelf_open_image(char *image, size_t bytes);

/* ET_EXEC, ET_DYN or ET_REL of such an object of this machine; ET_NONE of all else, and of NULL. */
uint16_t hs_libelf_type(Elf *elf);

/* The first section of a name, and its header.  NULL: there is none. */
Elf_Scn *hs_libelf_find_section(Elf *elf, const char *name, GElf_Shdr *header);

/*
 * libelf takes what it cannot read for missing.  Whether a read of a file has failed on this thread
 * since this was last called: by libelf, or as noted.
 */
bool hs_libelf_take_failure(void);
void hs_libelf_note_failure(void);

/*
 * The text section of an ET_REL object, whose addresses are relative to it, and its header: .text,
 * or if that is missing or empty, the only section with code.  NULL: there is none, or several.
 */
Elf_Scn *hs_libelf_find_text(Elf *elf, GElf_Shdr *header);

#endif
