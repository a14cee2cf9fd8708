/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions from ELF symbol tables.  See symbols.h for the contract. */
#include "symbolize/symbols.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/assertion.h"
#include "base/elf_code.h"
#include "base/elf_file.h"
#include "symbolize/debug_data.h"
#include "symbolize/debug_file.h"
#include "symbolize/dynamic_image.h"
#include "symbolize/plt.h"

/* .symtab of the object, its debug file or its compressed part; .dynsym. */
#define TABLES_MAX 2

struct hs_symbols {
	struct hs_symbol_list list; /* resolved: sorted and disjoint */
	struct hs_debug_key debug_key; /* path: not set */
	uint64_t debug_version;
	bool has_debug_key;
	bool is_flat;            /* HS_MAPPING_FLAT */
	struct hs_elf_code code; /* if it is */
	bool has_dwarf;
	bool is_partial;
	/* Open while it is loaded: what is to be given back when libelf fails an assertion. */
	struct hs_elf_file file;
	struct hs_elf_file debug;
	struct hs_debug_data *data; /* that is being decompressed; NULL: none */
};

/* Of a .symtab that may be what a stripper has left: 64 symbols. */
#define SMALL_TABLE_BYTES (64 * sizeof(Elf64_Sym))

/* What is being loaded. */
struct load {
	const struct hs_mapping *object; /* NULL: the memory [start, start + bytes) */
	uint64_t start;
	uint64_t bytes;
	const struct hs_wanted *wanted;
	struct hs_pauses *pauses;
	struct hs_symbols *symbols;
};

/* Of reading a part of the symbols, without which there are the others. */
static void note_result(struct hs_symbols *symbols, int result)
{
	symbols->is_partial |= hs_elf_file_is_shortage(result);
}

/* The debug file, by build id or, if the object is open, .gnu_debuglink. */
static int open_debug_file(struct load *load, const char build_id[HS_BUILD_ID_HEX_BYTES])
{
	struct hs_symbols *symbols = load->symbols;
	struct hs_debug_key *key = &symbols->debug_key;
	int result;

	hs_debug_key_read_link(key, &symbols->file);
	key->path = load->object != NULL ? load->object->path : "";
	memcpy(key->build_id, build_id, sizeof key->build_id);
	key->device = symbols->file.descriptor.device;
	key->inode = symbols->file.descriptor.inode;
	symbols->has_debug_key = true;
	symbols->debug_version = hs_debug_file_version(key);
	result = hs_debug_file_open(&symbols->debug, key);
	key->path = NULL;
	return result;
}

/*
 * The tables to be read, the largest first.  Some strippers leave a few symbols in the object, so
 * its debug file is looked for even if it has a .symtab, and its .gnu_debugdata if that is small.
 */
static size_t find_tables(struct load *load, struct hs_symbol_table tables[TABLES_MAX])
{
	struct hs_symbols *symbols = load->symbols;
	const struct hs_elf_file *file = &symbols->file;
	struct hs_symbol_table separate;
	size_t count = 0;
	int result;

	if (hs_symbol_table_find(&tables[0], file, SHT_SYMTAB))
		count = 1;
	if (file->type == ET_REL)
		return count;
	result = open_debug_file(load, file->build_id);
	note_result(symbols, result);
	if (result < 0 && (count == 0 || tables[0].symbols.sh_size < SMALL_TABLE_BYTES))
		note_result(symbols, hs_debug_data_open(&symbols->debug, file, &symbols->data,
							load->pauses));
	if (symbols->debug.elf != NULL &&
	    hs_symbol_table_find(&separate, &symbols->debug, SHT_SYMTAB) &&
	    (count == 0 || separate.symbols.sh_size > tables[0].symbols.sh_size)) {
		tables[0] = separate;
		count = 1;
	}
	if (hs_symbol_table_find(&tables[count], file, SHT_DYNSYM))
		count++;
	return count;
}

static int read_tables(struct hs_symbols *symbols, struct hs_symbol_table *tables, size_t count)
{
	struct hs_symbol_list *list = &symbols->list;
	int result = hs_symbol_list_read(list, tables, count);

	if (result == 0 && tables[count - 1].symbols.sh_type == SHT_DYNSYM)
		note_result(symbols, hs_plt_read(list, &tables[count - 1]));
	if (result == 0)
		result = hs_symbol_list_resolve(list);
	if (result < 0)
		hs_symbol_list_free(list);
	return result;
}

/* In place of the file, which has no tables or could not be opened: result. */
static int read_image(struct load *load, int result)
{
	struct hs_symbol_list *list = &load->symbols->list;

	if (hs_dynamic_image_read(list, load->object) == 0)
		result = hs_symbol_list_resolve(list);
	return result;
}

static int read_symbols(struct load *load)
{
	struct hs_symbol_table tables[TABLES_MAX];
	size_t count = find_tables(load, tables);

	if (count > 0)
		return read_tables(load->symbols, tables, count);
	return load->object != NULL ? read_image(load, 0) : 0;
}

/* The opening of the object failed with result. */
static int read_without_file(struct load *load, int result)
{
	const struct hs_mapping *object = load->object;
	struct hs_symbols *symbols = load->symbols;
	struct hs_symbol_table table;

	note_result(symbols, result);
	if ((object->flags & HS_MAPPING_FLAT) == 0)
		note_result(symbols, open_debug_file(load, object->build_id));
	if (symbols->debug.elf != NULL &&
	    hs_symbol_table_find(&table, &symbols->debug, SHT_SYMTAB))
		return read_tables(symbols, &table, 1);
	return read_image(load, result);
}

static int close_files(void *context)
{
	struct hs_symbols *symbols = context;

	hs_elf_file_close(&symbols->debug);
	hs_elf_file_close(&symbols->file);
	return 0;
}

static int load_object(void *context)
{
	struct load *load = context;
	struct hs_symbols *symbols = load->symbols;
	int result;

	if (load->object == NULL)
		result = hs_elf_file_open_memory(&symbols->file, load->start, load->bytes);
	else
		result = hs_object_file_open(&symbols->file, load->object);
	if (result >= 0) {
		/* An ET_REL object's symbols are offsets into its text, as those of a hint are. */
		symbols->is_flat = load->object != NULL && symbols->file.type != ET_REL &&
				   (load->object->flags & HS_MAPPING_FLAT) != 0;
		if (symbols->is_flat)
			hs_elf_code_read(&symbols->code, symbols->file.elf);
		/* Readers of profiles look at the path. */
		symbols->has_dwarf = result == 0 && hs_elf_file_has_dwarf(&symbols->file);
		result = read_symbols(load);
	} else if (load->object != NULL) {
		result = read_without_file(load, result);
	}
	close_files(symbols);
	return result;
}

static int run(struct load *load, struct hs_symbols **out)
{
	struct hs_symbols *symbols = hs_arena_zalloc(sizeof *symbols);
	bool failed;
	int result;

	*out = NULL;
	if (symbols == NULL)
		return -ENOMEM;
	load->symbols = *out = symbols;
	hs_symbol_list_want(&symbols->list, load->wanted);
	result = hs_elf_file_catch(load_object, load, &failed);
	symbols->is_partial |= failed;
	hs_symbol_list_want(&symbols->list, NULL);
	hs_elf_file_abandon(&symbols->debug);
	hs_elf_file_abandon(&symbols->file);
	if (result < 0) {
		hs_symbols_free(symbols);
		*out = NULL;
	}
	return result;
}

int hs_symbols_load(const struct hs_mapping *object, const struct hs_wanted *wanted,
		    struct hs_pauses *pauses, struct hs_symbols **out)
{
	struct load load = {.object = object, .wanted = wanted, .pauses = pauses};

	/* They are no addresses before the file is open. */
	if ((object->flags & HS_MAPPING_FLAT) != 0)
		load.wanted = NULL;
	return run(&load, out);
}

int hs_symbols_load_memory(uint64_t start, uint64_t bytes, const struct hs_wanted *wanted,
			   struct hs_symbols **out)
{
	struct load load = {.start = start, .bytes = bytes, .wanted = wanted};

	return run(&load, out);
}

void hs_symbols_after_fork(struct hs_symbols *symbols)
{
	hs_elf_file_close_descriptor(&symbols->debug);
	hs_elf_file_close_descriptor(&symbols->file);
}

void hs_symbols_free(struct hs_symbols *symbols)
{
	if (symbols == NULL)
		return;
	/* Open in a child only, see hs_symbols_after_fork(). */
	hs_debug_data_end(symbols->data);
	hs_assertion_catch(close_files, symbols);
	hs_symbol_list_free(&symbols->list);
	hs_arena_free(symbols);
}

size_t hs_symbols_bytes(const struct hs_symbols *symbols)
{
	const struct hs_symbol_list *list = &symbols->list;

	return sizeof *symbols + list->capacity * sizeof *list->symbols + list->names_capacity;
}

uint64_t hs_symbols_address(const struct hs_symbols *symbols, uint64_t address)
{
	if (symbols->is_flat)
		(void)hs_elf_code_place(&symbols->code, &address);
	return address;
}

const char *hs_symbols_find(const struct hs_symbols *symbols, uint64_t address)
{
	const struct hs_symbol_list *list = &symbols->list;
	size_t low = 0, high = list->count;
	const struct hs_symbol *symbol;

	if (symbols->is_flat && !hs_elf_code_place(&symbols->code, &address))
		return NULL;
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

bool hs_symbols_is_partial(const struct hs_symbols *symbols)
{
	return symbols->is_partial;
}

const struct hs_debug_key *hs_symbols_debug_key(const struct hs_symbols *symbols)
{
	return symbols->has_debug_key ? &symbols->debug_key : NULL;
}

uint64_t hs_symbols_debug_version(const struct hs_symbols *symbols)
{
	return symbols->debug_version;
}
