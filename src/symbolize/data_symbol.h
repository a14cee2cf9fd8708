/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the address of a variable of an object, by its name.
 *
 * Takes little memory: reads the symbols in pieces, and the names of few of them only.
 *
 * Threads: the producer.  Memory: the arena, given back.
 */
#ifndef HS_SYMBOLIZE_DATA_SYMBOL_H
#define HS_SYMBOLIZE_DATA_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

#include "maps/mapping.h"

/*
 * Finds the ELF virtual address of a writable variable that the object defines, by the symbol table
 * or the dynamic symbols of its file.  bytes: the variable's size is this or slightly more.
 * Returns 0, -ENOENT (there is none, or no file) or -errno: that of hs_object_file_open(); -EINVAL,
 * a name of more than 4,095 bytes.
 */
int hs_data_symbol_find(const struct hs_mapping *object, const char *name, size_t bytes,
			uint64_t *address);

#endif
