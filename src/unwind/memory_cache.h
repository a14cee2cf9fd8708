/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cache of pages of the process's own memory, copied with process_vm_readv(): unwind tables and
 * code, which unwinding reads again and again.  Memory whose contents change (JIT code) is read
 * again for each batch of samples.
 *
 * Only what hs_mapping_table_is_readable() allows is read.  When a library was closed since
 * the table was refreshed, that is done again before a page is read, so that none is taken
 * for another library's.  hs_memory_cache_drop_stale() is due when the table's generation
 * has changed.
 *
 * Threads: the unwinding worker.  Blocks: where it refreshes the table, on /proc/self/maps.
 * Memory: the arena.
 */
#ifndef HS_UNWIND_MEMORY_CACHE_H
#define HS_UNWIND_MEMORY_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "maps/mapping_table.h"

struct hs_memory_cache;

/* Returns NULL when the arena is used up. */
struct hs_memory_cache *hs_memory_cache_create(struct hs_mapping_table *table);
void hs_memory_cache_destroy(struct hs_memory_cache *cache);

/*
 * The table was refreshed: drops the pages of objects that are not there any more.
 */
void hs_memory_cache_drop_stale(struct hs_memory_cache *cache);

/* What changes (JIT code) is to be read again from now on. */
void hs_memory_cache_forget_changing(struct hs_memory_cache *cache);

/* Copies bytes at address, aligned or not.  Returns 0 or -EFAULT. */
int hs_memory_cache_read(struct hs_memory_cache *cache, uint64_t address, void *buffer,
			 size_t bytes);

#endif
