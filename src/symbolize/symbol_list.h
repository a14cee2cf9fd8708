/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A list of function symbols on its way from ELF symbol tables to ranges of
 * addresses that do not overlap.
 *
 * Threads: profiler threads.  Memory: the arena.
 */
#ifndef HS_SYMBOLIZE_SYMBOL_LIST_H
#define HS_SYMBOLIZE_SYMBOL_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/elf_file.h"

/* Among aliases the higher rank is chosen. */
enum hs_symbol_rank {
	HS_SYMBOL_LOCAL,
	HS_SYMBOL_WEAK,
	HS_SYMBOL_GLOBAL,
	HS_SYMBOL_SIZED, /* added to one of the above: the symbol has a size */
};

/* Longer functions (512 MiB) are cut. */
#define HS_SYMBOL_MAX_BYTES ((1u << 29) - 1)

/* The ELF virtual addresses whose names are asked for. */
struct hs_wanted {
	const uint64_t *addresses; /* sorted; equal ones are allowed */
	size_t count;
};

/* Blocks of addresses of this size, by their number modulo how many the filter has. */
#define HS_WANTED_BLOCK_BYTES 4096
#define HS_WANTED_BLOCKS 4096

/* A function, or a part of one that no better symbol names. */
struct hs_symbol {
	uint64_t value;      /* ELF virtual address */
	uint32_t name;       /* offset into the list's names */
	uint32_t bytes : 29; /* at least 1; value + bytes does not wrap */
	uint32_t rank : 3;   /* of no meaning once resolved */
};

struct hs_symbol_list {
	struct hs_symbol *symbols;
	size_t count;
	size_t capacity;
	char *names;         /* each ends in a NUL within names_bytes */
	size_t names_bytes;  /* used; at most 2^32 */
	size_t names_capacity;
	const struct hs_wanted *wanted; /* only symbols that contain one are added; NULL: all */
	/* A bit for each block that has a wanted address. */
	uint64_t wanted_blocks[HS_WANTED_BLOCKS / 64];
	/* While tables are read: whether a symbol has a wanted address, and how many none has. */
	unsigned char *named; /* NULL: not kept */
	size_t unnamed;
};

/* A symbol table of an object.  Belongs to file. */
struct hs_symbol_table {
	const struct hs_elf_file *file;
	size_t section;
	Elf64_Shdr symbols;
	Elf64_Shdr names;
};

/*
 * Looks for the table of a type (SHT_SYMTAB or SHT_DYNSYM).  Returns false where
 * there is none, or a damaged or absurd one.
 */
bool hs_symbol_table_find(struct hs_symbol_table *table, const struct hs_elf_file *file,
			  uint32_t type);

/*
 * Fills a list from tables: the functions that are defined and wanted, with their names.  The
 * dynamic symbols are not read if a larger table has a function for each wanted address.
 * Objects have 10^5 symbols and more, so neither the table nor its names are in memory
 * as a whole.  What is damaged is left out.  Returns 0 or -ENOMEM.
 */
int hs_symbol_list_read(struct hs_symbol_list *list, const struct hs_symbol_table *tables,
			size_t table_count);

/* Sets what is wanted from now on; it stays the caller's.  NULL: all. */
void hs_symbol_list_want(struct hs_symbol_list *list, const struct hs_wanted *wanted);

/* Whether a symbol of these bytes (0: no size) contains a wanted address. */
bool hs_symbol_list_wants(const struct hs_symbol_list *list, uint64_t value, uint64_t bytes);

/* A symbol of these bytes has been added. */
void hs_symbol_list_note_named(struct hs_symbol_list *list, uint64_t value, uint64_t bytes);

/*
 * Reads the name of a symbol of a table into the list's names, without its version
 * ("memcpy@@GLIBC_2.14"), with suffix behind it, and sets *name for hs_symbol_list_add().  Of a
 * longer name the first 64 KiB are read, unless it is one of Rust's that begin with _R: what a
 * filter would have to hide does not show in a part of these.
 * Returns 0 or -errno: -ENOENT, it has none, or none to show; -ENOMEM.
 */
int hs_symbol_list_read_name(struct hs_symbol_list *list, const struct hs_symbol_table *table,
			     uint32_t offset, const char *suffix, uint32_t *name);

/*
 * Adds a function that is defined in [start, start + limit), its section or segment, and is
 * cut to that.  name: offset into the list's names.  One that begins elsewhere, or is not
 * wanted, is left out.
 * Returns 0 or -ENOMEM.
 */
int hs_symbol_list_add(struct hs_symbol_list *list, const Elf64_Sym *symbol, uint64_t start,
		       uint64_t limit, uint32_t name);

/* The length of the name at offset in a table of names; 0: none, or one of 16 KiB or more. */
size_t hs_symbol_name_length(const char *names, size_t names_bytes, uint64_t offset);

/*
 * Sorts the list and turns it into disjoint ranges: each address keeps the innermost
 * of the symbols that contain it (the one that starts last), of aliases the one
 * that symbols.h prefers; a symbol without size where there is no other.  Returns 0
 * or -ENOMEM (the list is of no use then).
 */
int hs_symbol_list_resolve(struct hs_symbol_list *list);

/* Empties it; what is wanted stays. */
void hs_symbol_list_free(struct hs_symbol_list *list);

#endif
