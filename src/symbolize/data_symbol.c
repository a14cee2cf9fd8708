/* SPDX-License-Identifier: BSD-2-Clause */
/* Searches symbol tables for one name.  Runs on the producer. */
#include "symbolize/data_symbol.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "symbolize/object_file.h"
#include "symbolize/symbol_list.h"

enum { CHUNK_SYMBOLS = 2048 };
#define CHUNK_BYTES (CHUNK_SYMBOLS * sizeof(Elf64_Sym))

/* Names are read with what follows them: the next ones asked for are often there. */
#define NAMES_BYTES ((size_t)4096)

/* A variable may have more members than are asked for: so much larger at most. */
#define MOST_TIMES 3

/* Linked objects have a few dozen sections; variables in those further on are not found. */
#define MOST_SECTIONS 256

struct search {
	const struct hs_mapping *object;
	const char *name;
	size_t name_bytes; /* with the NUL */
	size_t bytes;      /* of the variable */
	struct hs_elf_file *file;
	bool writable[MOST_SECTIONS];
	char *chunk;
	char *names;       /* bytes of the table's names that have been read: */
	uint64_t names_at; /* from here on, */
	size_t names_read; /* so many */
	uint64_t searched; /* bytes of the table that has been */
	uint64_t address;  /* found */
};

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

/* Not those of constants with addresses: vtables, type_info. */
static void find_writable(struct search *search)
{
	size_t relocated = hs_elf_file_find_name(search->file, ".data.rel.ro");
	Elf64_Shdr header;

	for (size_t i = 1; i < MOST_SECTIONS && hs_elf_file_section(search->file, i, &header); i++)
		search->writable[i] = (header.sh_flags & SHF_WRITE) != 0 && i != relocated;
}

/* In .symtab a version may follow: that of a library's variable that the linker has copied. */
static bool begins_with_name(const char *text, const struct search *search)
{
	size_t length = search->name_bytes - 1;

	return memcmp(text, search->name, length) == 0 &&
	       (text[length] == '\0' || text[length] == '@');
}

static bool is_named(struct search *search, const Elf64_Shdr *names, uint64_t name)
{
	uint64_t end = name + search->name_bytes;

	if (name >= names->sh_size || search->name_bytes > names->sh_size - name)
		return false;
	if (name < search->names_at || end > search->names_at + search->names_read) {
		search->names_at = name;
		search->names_read = (size_t)at_most(names->sh_size - name, NAMES_BYTES);
		if (hs_elf_file_read(search->file, search->names, search->names_read,
				     names->sh_offset + name) < 0) {
			search->names_read = 0;
			return false;
		}
	}
	return begins_with_name(search->names + (name - search->names_at), search);
}

/* Few symbols are of the variable's kind and about its size: their names alone are read. */
static bool is_wanted(struct search *search, const Elf64_Shdr *names, const Elf64_Sym *symbol)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size >= search->bytes &&
	       symbol->st_size <= MOST_TIMES * search->bytes &&
	       symbol->st_shndx < MOST_SECTIONS && search->writable[symbol->st_shndx] &&
	       is_named(search, names, symbol->st_name);
}

static int search_table(struct search *search, uint32_t type)
{
	struct hs_symbol_table table;

	/* The dynamic symbols are among all, unless most of those have been stripped. */
	if (!hs_symbol_table_find(&table, search->file, type) ||
	    table.symbols.sh_size <= search->searched)
		return -ENOENT;
	search->searched = table.symbols.sh_size;
	search->names_read = 0;
	for (uint64_t at = 0; at < table.symbols.sh_size; at += CHUNK_BYTES) {
		size_t bytes = (size_t)at_most(table.symbols.sh_size - at, CHUNK_BYTES);
		int error = hs_elf_file_read(search->file, search->chunk, bytes,
					     table.symbols.sh_offset + at);

		if (error < 0)
			return error;
		for (size_t i = 0; i < bytes / sizeof(Elf64_Sym); i++) {
			Elf64_Sym symbol;

			memcpy(&symbol, search->chunk + i * sizeof symbol, sizeof symbol);
			if (is_wanted(search, &table.names, &symbol)) {
				search->address = symbol.st_value;
				return 0;
			}
		}
	}
	return -ENOENT;
}

static int search_object(void *context, struct hs_elf_file *file)
{
	struct search *search = context;
	int result = hs_object_file_open(file, search->object);

	if (result < 0)
		return result;
	search->file = file;
	find_writable(search);
	result = search_table(search, SHT_SYMTAB);
	if (result == -ENOENT)
		result = search_table(search, SHT_DYNSYM);
	return result;
}

int hs_data_symbol_find(const struct hs_mapping *object, const char *name, size_t bytes,
			uint64_t *address)
{
	struct search search = {
		.object = object,
		.name = name,
		.name_bytes = strlen(name) + 1,
		.bytes = bytes,
	};
	int result;

	if (search.name_bytes > NAMES_BYTES)
		return -EINVAL;
	search.chunk = hs_arena_alloc(CHUNK_BYTES + NAMES_BYTES);
	if (search.chunk == NULL)
		return -ENOMEM;
	search.names = search.chunk + CHUNK_BYTES;
	result = hs_elf_file_use(search_object, &search);
	hs_arena_free(search.chunk);
	if (result == 0)
		*address = search.address;
	return result;
}
