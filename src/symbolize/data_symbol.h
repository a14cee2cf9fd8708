/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The address of one variable of an object, by its name.
 *
 * An object without the variable costs a read of its symbols, of the names of few of them, and no
 * memory.
 *
 * Threads: the producer.  Memory: the arena, given back.
 */
#ifndef HS_SYMBOLIZE_DATA_SYMBOL_H
#define HS_SYMBOLIZE_DATA_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Find the ELF virtual address of a variable of so many bytes, or some more, not a constant, that
 * the object at path defines, in its symbol table or its dynamic symbols.  build_id: of the image
 * in memory, "" = not known.  Returns 0, -ENOENT (there is none) or -errno (-EINVAL: a name of more
 * than 4,095 bytes).
 */
int hs_data_symbol_find(const char *path, const char *build_id, const char *name, size_t bytes,
			uint64_t *address);

#endif
