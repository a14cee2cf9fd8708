/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The separate debug file of a stripped object, found by build id:
 * ROOT/.build-id/ab/cdef....debug.
 *
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_SYMBOLIZE_DEBUG_FILE_H
#define HS_SYMBOLIZE_DEBUG_FILE_H

#include "symbolize/elf_file.h"

/* "/usr/lib/debug".  Set by tests only, before anything is read. */
extern const char *hs_debug_file_root;

/*
 * Open the debug file of a build id (lower-case hex, as of hs_elf_file).  Returns 0
 * (to be closed with hs_elf_file_close()) or -errno: that of hs_elf_file_open();
 * -ENOENT too for an empty id; -ESTALE: the file found is that of another object.
 */
int hs_debug_file_open(struct hs_elf_file *file, const char *build_id);

#endif
