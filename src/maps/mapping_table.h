/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is mapped where: executable mappings of the process, resolved by pc.
 *
 * A mapping, once made, keeps its id and never changes, except that anonymous memory may
 * grow: samples taken while it was there keep their names after it is gone.  What changes
 * with each re-read of /proc/self/maps is the index from addresses to mappings, and the
 * generation.
 *
 * Mappings of ELF files cover their executable segment, whatever the linker.  That span
 * does not change from dump to dump, and every pprof resolves it rightly: the one that
 * comes with Go takes the start of a mapping for the first page of the executable segment,
 * whatever the offset says (cmd/internal/objfile).
 *
 * Threads: the unwinding worker owns the table.  hs_mapping_table_get(), _is_anonymous()
 * and _count() may be called from the producer: entries are published with a release
 * store of the count and are immutable afterwards, but for `end`.
 * Memory: the arena.  Blocks: the arena's lock; reads /proc.
 */
#ifndef HS_MAPS_MAPPING_TABLE_H
#define HS_MAPS_MAPPING_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maps/mapping.h"

struct hs_mapping_table;

/* Makes an empty table.  Returns NULL when the arena is used up. */
struct hs_mapping_table *hs_mapping_table_create(void);

/* The profiler keeps its table to the end; tests make many. */
void hs_mapping_table_destroy(struct hs_mapping_table *table);

/*
 * Sets which mapping is this library's: the one that holds address (0 = none).  Before the first
 * refresh, because mappings are immutable.
 */
void hs_mapping_table_set_own(struct hs_mapping_table *table, uintptr_t address);

/*
 * Reads /proc/self/maps again and rebuilds the index.  A mapping that is already known
 * (same span, file offset, device, inode, path, build id or version) keeps its id; an anonymous
 * one keeps it while what is there begins in it (a JIT flips the protection of single pages,
 * and its heap grows).  The generation goes up if anything executable changed.  Counted: map_reads,
 * map_lines_skipped, mappings_skipped (no memory to note one: it is left out),
 * map_read_failures.  On failure the old index stays; if there is none yet, one mapping
 * "[unreadable maps]" stands for all addresses (maps_made_up) until a refresh succeeds.
 * Returns 0 or -errno.
 */
int hs_mapping_table_refresh(struct hs_mapping_table *table);
bool hs_mapping_table_is_made_up(const struct hs_mapping_table *table);

/* As in base/libraries.h: closes that were over, and opens begun, before the last refresh. */
uint32_t hs_mapping_table_closes(const struct hs_mapping_table *table);
uint64_t hs_mapping_table_opens(const struct hs_mapping_table *table);

/*
 * The number of closes that were over at the first refresh that found mapping id, which has been
 * there since and is in the index.
 */
uint32_t hs_mapping_table_since(const struct hs_mapping_table *table, uint32_t id);

/* Changes whenever an address may mean something else than before.  Starts at 0: never read. */
uint64_t hs_mapping_table_generation(const struct hs_mapping_table *table);

/*
 * Has map hints looked up before the index: see map_hints.h.  They belong to the table from then
 * on.  setting: HEAPSAMPLE_MAP, must stay valid.  Returns NULL when the arena is used up.
 */
struct hs_map_hints *hs_mapping_table_add_hints(struct hs_mapping_table *table,
						const char *setting);

/*
 * The id of the mapping that holds pc now, or HS_MAPPING_NONE: that of a hint, or else what
 * the maps say.  O(log n).
 */
uint32_t hs_mapping_table_find(const struct hs_mapping_table *table, uint64_t pc);

/* The same by the maps alone. */
uint32_t hs_mapping_table_find_recorded(const struct hs_mapping_table *table, uint64_t pc);

/*
 * The mapping of generated code that was at pc when the maps were read before.  JIT compilers make
 * code not executable while they change it, and unmap it at the end of the program: samples of that
 * code may not be unwound yet.
 */
uint32_t hs_mapping_table_find_former(const struct hs_mapping_table *table, uint64_t pc);

/*
 * Whether [address, address + bytes), which is of one thing, may be read for unwinding: lies in a
 * readable mapping of an ELF file, the vDSO or anonymous executable memory, not in a device
 * mapping, a stack or a heap (whose contents have changed since the sample).
 */
bool hs_mapping_table_is_readable(const struct hs_mapping_table *table, uint64_t address,
				  size_t bytes);

/*
 * Whether [address, address + bytes) may be read for unwinding, and the program cannot write to it:
 * it is what it was when the sample was taken.
 */
bool hs_mapping_table_is_constant(const struct hs_mapping_table *table, uint64_t address,
				  size_t bytes);

/*
 * What is mapped at a readable address: the same file at the same offset has the same tag
 * before and after a refresh.  0: not readable, or memory whose contents change (JIT code).
 */
uint32_t hs_mapping_table_page_tag(const struct hs_mapping_table *table, uint64_t address);

/* Entry id, immutable but for `end`, valid as long as the table; NULL if id is not in the table. */
const struct hs_mapping *hs_mapping_table_get(const struct hs_mapping_table *table, uint32_t id);

/* Whether id is anonymous memory's: its code is a JIT compiler's, without unwind information. */
bool hs_mapping_table_is_anonymous(const struct hs_mapping_table *table, uint32_t id);

uint32_t hs_mapping_table_count(const struct hs_mapping_table *table);

#endif
