/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens ELF objects with libelf.  Its reads are made by base/sys.h.
 *
 * libelf has assertions: call it inside hs_assertion_catch().
 * Threads: profiler threads.  Memory: the arena.
 */
#ifndef HS_BASE_LIBELF_H
#define HS_BASE_LIBELF_H

#include <libelf.h>
#include <stddef.h>

/*
 * NULL: no memory.  For a file that is no ELF object elf_kind() is not ELF_K_ELF.  The caller ends
 * it with elf_end() and keeps the file open, or the image, until then.
 */
Elf *hs_libelf_open(int fd);
Elf *hs_libelf_open_image(char *image, size_t bytes);

#endif
