/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions from ELF symbol tables.  See symbols.h for the contract. */
#include "symbolize/symbols.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "symbolize/debug_file.h"
#include "symbolize/elf_file.h"
#include "symbolize/symbol_list.h"

struct hs_symbols {
	struct hs_symbol_list list; /* resolved: sorted and disjoint */
	bool has_dwarf;
};

/*
 * The tables to be read, the largest first.  Some strippers leave a few symbols in
 * the object, so its debug file is looked for even if it has a .symtab.
 */
static size_t find_tables(const struct hs_elf_file *object, struct hs_elf_file *debug,
			  struct hs_symbol_table tables[2])
{
	struct hs_symbol_table separate;
	size_t count = 0;

	if (hs_symbol_table_find(&tables[0], object, SHT_SYMTAB))
		count = 1;
	if (hs_debug_file_open(debug, object->build_id) == 0 &&
	    hs_symbol_table_find(&separate, debug, SHT_SYMTAB) &&
	    (count == 0 || separate.bytes > tables[0].bytes)) {
		tables[0] = separate;
		count = 1;
	}
	if (hs_symbol_table_find(&tables[count], object, SHT_DYNSYM))
		count++;
	return count;
}

static int read_tables(struct hs_symbol_list *list, const struct hs_symbol_table *tables,
		       size_t count)
{
	int result = hs_symbol_list_read(list, tables, count);

	if (result == 0)
		result = hs_symbol_list_resolve(list);
	if (result < 0)
		hs_symbol_list_free(list);
	return result;
}

static int read_object(struct hs_symbols *symbols, const struct hs_elf_file *object)
{
	struct hs_elf_file debug = { .fd = -1 };
	struct hs_symbol_table tables[2];
	size_t count = find_tables(object, &debug, tables), first = 0;
	int result = 0;

	symbols->has_dwarf = hs_elf_file_has_dwarf(object);
	/* Where memory is short, the names of the smaller table alone. */
	for (first = 0; first < count; first++) {
		result = read_tables(&symbols->list, tables + first, count - first);
		if (result != -ENOMEM)
			break;
	}
	hs_elf_file_close(&debug);
	return result;
}

static int make_symbols(const struct hs_elf_file *object, struct hs_symbols **out)
{
	struct hs_symbols *symbols = hs_arena_zalloc(sizeof *symbols);
	int result;

	if (symbols == NULL)
		return -ENOMEM;
	result = read_object(symbols, object);
	if (result < 0)
		hs_symbols_free(symbols);
	else
		*out = symbols;
	return result;
}

int hs_symbols_load(const char *path, const char *build_id, struct hs_symbols **out)
{
	struct hs_elf_file object;
	int result = hs_elf_file_open(&object, path);

	if (result < 0)
		return result;
	if (build_id[0] != '\0' && strcmp(build_id, object.build_id) != 0)
		result = -ESTALE;
	else
		result = make_symbols(&object, out);
	hs_elf_file_close(&object);
	return result;
}

int hs_symbols_load_memory(uint64_t start, uint64_t bytes, struct hs_symbols **out)
{
	struct hs_elf_file object;
	int result = hs_elf_file_open_memory(&object, start, bytes);

	if (result < 0)
		return result;
	result = make_symbols(&object, out);
	hs_elf_file_close(&object);
	return result;
}

void hs_symbols_free(struct hs_symbols *symbols)
{
	if (symbols == NULL)
		return;
	hs_symbol_list_free(&symbols->list);
	hs_arena_free(symbols);
}

const char *hs_symbols_find(const struct hs_symbols *symbols, uint64_t address)
{
	const struct hs_symbol_list *list = &symbols->list;
	size_t low = 0, high = list->count;
	const struct hs_symbol *symbol;

	/* The last range that starts at or below address is low - 1. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->symbols[middle].value <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	symbol = &list->symbols[low - 1];
	return address - symbol->value < symbol->bytes ? list->names + symbol->name : NULL;
}

bool hs_symbols_object_has_dwarf(const struct hs_symbols *symbols)
{
	return symbols->has_dwarf;
}
