/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The address of one variable of an object, by its name.
 *
 * Names are searched as they stand in the file, so an object without the variable costs a
 * read of its strings and no memory.
 *
 * Threads: the producer.  Memory: the arena, given back.
 */
#ifndef HS_SYMBOLIZE_DATA_SYMBOL_H
#define HS_SYMBOLIZE_DATA_SYMBOL_H

#include <stdint.h>

/* Longest name, with the NUL. */
#define HS_DATA_SYMBOL_BYTES 64

/*
 * Find the ELF virtual address of a variable that the object at path defines, in its
 * dynamic symbols or its symbol table.  build_id: of the image in memory, "" = not known.
 * Returns 0, -ENOENT (there is none) or -errno.
 */
int hs_data_symbol_find(const char *path, const char *build_id, const char *name,
			uint64_t *address);

#endif
