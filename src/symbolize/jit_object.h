/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of an ELF object that a compiler has made in memory, for debuggers.
 *
 * Of a relocatable object (LLVM's) a section's header has its address in memory and
 * symbols are relative to that; of others they are addresses themselves.
 *
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_SYMBOLIZE_JIT_OBJECT_H
#define HS_SYMBOLIZE_JIT_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "symbolize/jit_map.h"

/*
 * Adds the functions of the image to the map, as code of object number; frees the image, an arena
 * block.  Returns 0 or -errno (-ENOEXEC: not an ELF object of this machine;
 * -ENOENT: it has no symbols; -ENOMEM: not all are added).  Damaged symbols are passed over.
 */
int hs_jit_object_read(struct hs_jit_map *map, char *image, size_t bytes, uint32_t number);

#endif
