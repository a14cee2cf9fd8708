/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions from ELF symbol tables.  See symbols.h for the contract. */
#include "symbolize/symbols.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/assertion.h"
#include "symbolize/debug_file.h"
#include "symbolize/elf_file.h"
#include "symbolize/symbol_list.h"

struct hs_symbols {
	struct hs_symbol_list list; /* resolved: sorted and disjoint */
	bool has_dwarf;
};

/* What is being loaded; all that is to be given back when libelf fails an assertion. */
struct load {
	const char *path; /* NULL: the memory [start, start + bytes) */
	const char *build_id;
	uint64_t start;
	uint64_t bytes;
	struct hs_elf_file object;
	struct hs_elf_file debug;
	struct hs_symbols *symbols;
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
	    (count == 0 || separate.symbols.sh_size > tables[0].symbols.sh_size)) {
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

static int read_symbols(struct load *load)
{
	struct hs_symbol_table tables[2];
	size_t count = find_tables(&load->object, &load->debug, tables), first;
	int result = 0;

	load->symbols->has_dwarf = hs_elf_file_has_dwarf(&load->object);
	/* Where memory is short, the names of the smaller table alone. */
	for (first = 0; first < count; first++) {
		result = read_tables(&load->symbols->list, tables + first, count - first);
		if (result != -ENOMEM)
			break;
	}
	return result;
}

static int open_object(struct load *load)
{
	struct hs_elf_file *object = &load->object;
	int result;

	if (load->path == NULL)
		return hs_elf_file_open_memory(object, load->start, load->bytes);
	result = hs_elf_file_open(object, load->path);
	if (result == 0 && load->build_id[0] != '\0' &&
	    strcmp(load->build_id, object->build_id) != 0)
		result = -ESTALE;
	return result;
}

static int read_object(void *context)
{
	struct load *load = context;
	int result = open_object(load);

	if (result == 0)
		result = read_symbols(load);
	hs_elf_file_close(&load->debug);
	hs_elf_file_close(&load->object);
	return result;
}

static int run(struct load *load, struct hs_symbols **out)
{
	int result;

	load->object = (struct hs_elf_file)HS_ELF_FILE_CLOSED;
	load->debug = (struct hs_elf_file)HS_ELF_FILE_CLOSED;
	load->symbols = hs_arena_zalloc(sizeof *load->symbols);
	if (load->symbols == NULL)
		return -ENOMEM;
	result = hs_assertion_catch(read_object, load);
	hs_elf_file_abandon(&load->debug);
	hs_elf_file_abandon(&load->object);
	if (result < 0)
		hs_symbols_free(load->symbols);
	else
		*out = load->symbols;
	return result;
}

int hs_symbols_load(const char *path, const char *build_id, struct hs_symbols **out)
{
	struct load load = { .path = path, .build_id = build_id };

	return run(&load, out);
}

int hs_symbols_load_memory(uint64_t start, uint64_t bytes, struct hs_symbols **out)
{
	struct load load = { .start = start, .bytes = bytes };

	return run(&load, out);
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
