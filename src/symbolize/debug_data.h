/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The symbol table that some distributions leave in a stripped object: an ELF image,
 * compressed with xz, in the section .gnu_debugdata ("MiniDebugInfo").
 *
 * Threads: profiler threads.  Memory: the arena; some 9 MiB while it is decompressed.
 */
#ifndef HS_SYMBOLIZE_DEBUG_DATA_H
#define HS_SYMBOLIZE_DEBUG_DATA_H

#include "base/elf_file.h"
#include "base/pauses.h"

struct hs_debug_data;

/*
 * Opens the image in an object (to be closed with hs_elf_file_close()).  Returns 0 or
 * -errno: -ENOENT, there is none; -EBADMSG, damaged; -EFBIG, above 32 MiB, or the
 * decompressor asks for more memory than that; -ENOMEM; those of hs_elf_file_open_image().
 *
 * pauses: taken during the decompression; may be NULL.  *work: NULL, and again on return; in a
 * pause the decompression's memory, which a child forked then gives back with hs_debug_data_end().
 */
int hs_debug_data_open(struct hs_elf_file *data, const struct hs_elf_file *object,
		       struct hs_debug_data **work, struct hs_pauses *pauses);
void hs_debug_data_end(struct hs_debug_data *work);

#endif
