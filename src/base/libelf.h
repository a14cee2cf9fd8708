/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens ELF objects with libelf, which reads them by way of base/sys.h then.
 *
 * libelf has assertions: call it inside hs_assertion_catch().
 * Threads: profiler threads.  Memory: the arena.
 */
#ifndef HS_BASE_LIBELF_H
#define HS_BASE_LIBELF_H

#include <libelf.h>
#include <stddef.h>

/* NULL: no memory.  What is no ELF object has another elf_kind().  To be closed by elf_end(). */
Elf *hs_libelf_open(int fd);

/* image: the caller's, and to stay as long. */
Elf *hs_libelf_open_image(char *image, size_t bytes);

#endif
