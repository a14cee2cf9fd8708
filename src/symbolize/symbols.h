/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of functions, from an object's ELF symbol tables.
 *
 * Which file: object_file.h.  Read with pread into the arena, never mapped: a file that is
 * truncated while we read it gives an error, not SIGBUS.  Sources: .symtab of the object or
 * that of its separate debug file (debug_file.h), the larger of them; where there is neither,
 * that in .gnu_debugdata; .dynsym, since a stripped library still has names there that the
 * others may lack; the slots of procedure linkage tables (plt.h).  If the object's file is out of
 * reach, .symtab of its debug file, by the build id in memory.  If there is none, or there are no
 * tables in the object's file (no section headers), the dynamic symbols in memory
 * (dynamic_image.h).
 *
 * A symbol names an address only if it contains it: value <= address < value +
 * size; a symbol without a size names only its own address, and only if none with a
 * size contains that.  The next lower symbol is never taken as a guess.  Of several
 * that contain it the innermost is taken, the one that starts last.
 *
 * The addresses of an ET_REL object (a .o file) are relative to its text section, those of a flat
 * one (HS_MAPPING_FLAT) are offsets into its file.
 *
 * Threads: profiler threads, each object on one at a time.  Memory: the arena.
 */
#ifndef HS_SYMBOLIZE_SYMBOLS_H
#define HS_SYMBOLIZE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pauses.h"
#include "symbolize/debug_file.h"
#include "symbolize/object_file.h"
#include "symbolize/symbol_list.h"

struct hs_symbols;

/*
 * Reads the tables of an object, for the names of wanted addresses: memory is needed for
 * these only.  NULL: for all.  Returns 0 and *out, or -errno (-ENOEXEC: not an ELF file
 * of this machine; -ESTALE: another object is at its path, and the object itself is out of
 * reach; -ENOMEM; -EIO, if a read failed, or another error of open; -ENOTRECOVERABLE for an object
 * that libelf fails on, which should not be tried again).  Damaged tables are used as far as they
 * make sense; no usable one is no error, and nothing is found then.
 *
 * pauses, NULL: none, are taken while symbols are decompressed.  *out is set before, for a child of
 * a fork in a pause, which closes the files in the fork, and later frees what there is.  NULL after
 * a failure.
 */
int hs_symbols_load(const struct hs_mapping *object, const struct hs_wanted *wanted,
		    struct hs_pauses *pauses, struct hs_symbols **out);
void hs_symbols_after_fork(struct hs_symbols *symbols);

/*
 * As above, from an ELF image that is mapped as a whole at [start, start + bytes):
 * the vDSO, which has no file ("[vdso]").  Read without dereferencing it.
 */
int hs_symbols_load_memory(uint64_t start, uint64_t bytes, const struct hs_wanted *wanted,
			   struct hs_symbols **out);

/* NULL is allowed. */
void hs_symbols_free(struct hs_symbols *symbols);

/* The memory that they take, bytes. */
size_t hs_symbols_bytes(const struct hs_symbols *symbols);

/*
 * The linkage name of the function that contains an ELF virtual address, one that was wanted,
 * or NULL.
 * Among aliases the same one is chosen each time: global before weak before local,
 * then the one without leading underscores, then the shortest (libc's __clone3 is also
 * __GI___clone3), then the first in the alphabet.
 * The text lives as long as symbols.  O(log n).
 */
const char *hs_symbols_find(const struct hs_symbols *symbols, uint64_t address);

/* An address as the object's own tables count. */
uint64_t hs_symbols_address(const struct hs_symbols *symbols, uint64_t address);

/*
 * Whether the object itself (not its debug file), at its path, has DWARF line or debug
 * information: then pprof can do better than our names and should be let to.
 */
bool hs_symbols_object_has_dwarf(const struct hs_symbols *symbols);

/*
 * Whether there may be more names, but there was no memory or no descriptor to read them, or a read
 * failed.
 */
bool hs_symbols_is_partial(const struct hs_symbols *symbols);

/*
 * What the object's debug file was looked for by, but for the path, which is NULL, and
 * hs_debug_file_version() before that.  NULL: there can be none.
 */
const struct hs_debug_key *hs_symbols_debug_key(const struct hs_symbols *symbols);
uint64_t hs_symbols_debug_version(const struct hs_symbols *symbols);

#endif
