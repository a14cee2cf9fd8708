/* SPDX-License-Identifier: BSD-2-Clause */
/* Searches symbol tables for one name.  Runs on the producer. */
#include "symbolize/data_symbol.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/assertion.h"
#include "symbolize/elf_file.h"
#include "symbolize/symbol_list.h"

enum { CHUNK_SYMBOLS = 2048 };
#define CHUNK_BYTES (CHUNK_SYMBOLS * sizeof(Elf64_Sym))

struct search {
	const char *path;
	const char *build_id;
	const char *name;
	size_t name_bytes; /* with the NUL */
	struct hs_elf_file file;
	char *chunk;
	uint64_t address; /* found */
};

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

/* Where the name begins among the names of a table.  Returns 0 or -errno. */
static int find_name(struct search *search, const Elf64_Shdr *names, uint64_t *offset)
{
	size_t overlap = search->name_bytes - 1;

	/* Each chunk begins with the end of the one before, for the name may lie on both. */
	for (uint64_t at = 0; at < names->sh_size; at += CHUNK_BYTES - overlap) {
		size_t bytes = (size_t)at_most(names->sh_size - at, CHUNK_BYTES);
		int error = hs_elf_file_read(&search->file, search->chunk, bytes,
					     names->sh_offset + at);
		const char *found;

		if (error < 0)
			return error;
		found = memmem(search->chunk, bytes, search->name, search->name_bytes);
		if (found != NULL) {
			*offset = at + (uint64_t)(found - search->chunk);
			return 0;
		}
	}
	return -ENOENT;
}

static int find_symbol(struct search *search, const Elf64_Shdr *symbols, uint64_t name)
{
	for (uint64_t at = 0; at < symbols->sh_size; at += CHUNK_BYTES) {
		size_t bytes = (size_t)at_most(symbols->sh_size - at, CHUNK_BYTES);
		int error = hs_elf_file_read(&search->file, search->chunk, bytes,
					     symbols->sh_offset + at);

		if (error < 0)
			return error;
		for (size_t i = 0; i < bytes / sizeof(Elf64_Sym); i++) {
			Elf64_Sym symbol;

			memcpy(&symbol, search->chunk + i * sizeof symbol, sizeof symbol);
			if (symbol.st_name == name && symbol.st_shndx != SHN_UNDEF &&
			    ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT) {
				search->address = symbol.st_value;
				return 0;
			}
		}
	}
	return -ENOENT;
}

static int search_table(struct search *search, uint32_t type)
{
	struct hs_symbol_table table;
	uint64_t name = 0;
	int error;

	if (!hs_symbol_table_find(&table, &search->file, type))
		return -ENOENT;
	error = find_name(search, &table.names, &name);
	return error < 0 ? error : find_symbol(search, &table.symbols, name);
}

static int search_object(void *context)
{
	struct search *search = context;
	int result = hs_elf_file_open(&search->file, search->path);

	if (result < 0)
		return result;
	if (search->build_id[0] != '\0' && strcmp(search->build_id, search->file.build_id) != 0)
		result = -ESTALE;
	if (result == 0)
		result = search_table(search, SHT_DYNSYM);
	if (result == -ENOENT)
		result = search_table(search, SHT_SYMTAB);
	hs_elf_file_close(&search->file);
	return result;
}

int hs_data_symbol_find(const char *path, const char *build_id, const char *name, uint64_t *address)
{
	struct search search = {
		.path = path,
		.build_id = build_id,
		.name = name,
		.name_bytes = strlen(name) + 1,
		.file = HS_ELF_FILE_CLOSED,
	};
	int result;

	search.chunk = hs_arena_alloc(CHUNK_BYTES);
	if (search.chunk == NULL)
		return -ENOMEM;
	result = hs_assertion_catch(search_object, &search);
	hs_elf_file_abandon(&search.file);
	hs_arena_free(search.chunk);
	if (result == 0)
		*address = search.address;
	return result;
}
