/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Function symbols out of ELF symbol tables.  See symbol_list.h for the contract;
 * symbol_ranges.c resolves what overlaps.
 * Source: System V ABI, chapter 4 (symbol table); elf(5).
 */
#include "symbolize/symbol_list.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/libelf.h"

/*
 * Of a longer name so much is read, and in a table in memory it is taken for damage.  Bounds the
 * time that a file with many long names at one address can cost.
 */
#define NAME_READ_MAX_BYTES (64u << 10)
#define NAME_MAX_BYTES (16u << 10)

/* Read at a time; of a name, at first. */
#define CHUNK_SYMBOLS 512
#define NAME_READ_BYTES 256

/* Of the list's names. */
#define FIRST_NAMES_CAPACITY (4u << 10)

struct chunk {
	Elf64_Sym symbols[CHUNK_SYMBOLS];
	uint32_t sections[CHUNK_SYMBOLS]; /* of those with SHN_XINDEX */
};

struct reader {
	struct hs_symbol_list *list;
	const struct hs_elf_file *file;
	const struct hs_symbol_table *table;
	Elf64_Shdr long_sections;        /* SHT_SYMTAB_SHNDX of the table; of size 0: none */
	struct chunk *chunk;
	size_t text; /* of an ET_REL object: the section whose symbols count */
};

bool hs_symbol_table_find(struct hs_symbol_table *table, const struct hs_elf_file *file,
			  uint32_t type)
{
	size_t index = hs_elf_file_find_type(file, type);
	Elf64_Shdr symbols, names;

	if (index == 0 || !hs_elf_file_section(file, index, &symbols) ||
	    !hs_elf_file_has_contents(file, &symbols) || symbols.sh_entsize != sizeof(Elf64_Sym))
		return false;
	if (!hs_elf_file_section(file, symbols.sh_link, &names) || names.sh_type != SHT_STRTAB ||
	    !hs_elf_file_has_contents(file, &names))
		return false;
	*table = (struct hs_symbol_table){
		.file = file, .section = index, .symbols = symbols, .names = names
	};
	return true;
}

static Elf64_Shdr find_long_sections(const struct hs_elf_file *file, size_t table)
{
	Elf64_Shdr section;
	size_t i;

	for (i = 1; hs_elf_file_section(file, i, &section); i++) {
		if (section.sh_type == SHT_SYMTAB_SHNDX && section.sh_link == table &&
		    hs_elf_file_has_contents(file, &section))
			return section;
	}
	return (Elf64_Shdr){ 0 };
}

/* Whether a section defines a symbol: it is not undefined, absolute, common or damaged. */
static bool defining_section(const struct reader *reader, const Elf64_Sym *symbol,
			     uint32_t long_section, Elf64_Shdr *section)
{
	uint32_t index = symbol->st_shndx;

	if (index == SHN_XINDEX)
		index = long_section;
	else if (index >= SHN_LORESERVE)
		return false;
	if (reader->file->type == ET_REL && index != reader->text)
		return false;
	return index != SHN_UNDEF && hs_elf_file_section(reader->file, index, section) &&
	       section->sh_size <= UINT64_MAX - section->sh_addr;
}

/* Assembly written by hand often lacks the type, but then a size tells a function. */
static bool is_function(const Elf64_Sym *symbol, const Elf64_Shdr *section)
{
	switch (ELF64_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return (section->sh_flags & SHF_ALLOC) != 0;
	case STT_NOTYPE:
		return (section->sh_flags & SHF_EXECINSTR) != 0 && symbol->st_size > 0;
	default:
		return false;
	}
}

static unsigned symbol_rank(const Elf64_Sym *symbol)
{
	unsigned rank = symbol->st_size > 0 ? HS_SYMBOL_SIZED : 0;

	switch (ELF64_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return rank + HS_SYMBOL_GLOBAL;
	case STB_WEAK:
		return rank + HS_SYMBOL_WEAK;
	default:
		return rank + HS_SYMBOL_LOCAL;
	}
}

size_t hs_symbol_name_length(const char *names, size_t names_bytes, uint64_t offset)
{
	size_t left = offset < names_bytes ? names_bytes - (size_t)offset : 0;
	const char *end = NULL;

	if (left > 0)
		end = memchr(names + offset, '\0', left < NAME_MAX_BYTES ? left : NAME_MAX_BYTES);
	return end == NULL ? 0 : (size_t)(end - (names + offset));
}

/* Room for so many bytes more among the names. */
static int grow_names(struct hs_symbol_list *list, size_t bytes)
{
	size_t capacity = list->names_capacity > 0 ? list->names_capacity : FIRST_NAMES_CAPACITY;
	char *names;

	while (capacity - list->names_bytes < bytes)
		capacity *= 2;
	if (capacity == list->names_capacity)
		return 0;
	names = capacity <= UINT32_MAX ? hs_arena_realloc(list->names, capacity) : NULL;
	if (names == NULL)
		return -ENOMEM;
	list->names = names;
	list->names_capacity = capacity;
	return 0;
}

/*
 * Puts the name at offset, or NAME_READ_MAX_BYTES of it, behind the list's names, which do not grow
 * by it yet.  Returns its length, or -errno.
 */
static ssize_t append_name(struct hs_symbol_list *list, const struct hs_symbol_table *table,
			   uint64_t offset)
{
	uint64_t end = table->names.sh_size, at = offset;

	/* What is read doubles each time, but for the first. */
	while (at < end && at - offset < NAME_READ_MAX_BYTES) {
		size_t most = at > offset ? (size_t)(at - offset) : NAME_READ_BYTES, length;
		size_t part = end - at < most ? (size_t)(end - at) : most;
		char *text;

		if (grow_names(list, (size_t)(at - offset) + part) < 0)
			return -ENOMEM;
		text = list->names + list->names_bytes + (at - offset);
		if (hs_elf_file_read(table->file, text, part, table->names.sh_offset + at) < 0)
			break;
		length = strnlen(text, part);
		at += length;
		if (length < part)
			return (ssize_t)(at - offset);
	}
	return at - offset == NAME_READ_MAX_BYTES ? (ssize_t)NAME_READ_MAX_BYTES : -ENOENT;
}

static bool is_of_version(char byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= 'a' && byte <= 'z') || strchr("_.+-", byte) != NULL;
}

/* The length without "@VERSION" or "@@VERSION".  Crystal's names have an '@' too. */
static size_t without_version(const char *text, size_t length)
{
	const char *at = memrchr(text, '@', length);
	size_t end = at != NULL ? (size_t)(at - text) : length;

	for (size_t i = end + 1; i < length; i++) {
		if (!is_of_version(text[i]))
			return length;
	}
	return end > 0 && end < length && text[end - 1] == '@' ? end - 1 : end;
}

/* Rust's v0 names tell of their scope only to a demangler, which needs the whole. */
static bool is_beyond_demangling(const char *text, size_t length)
{
	return length == NAME_READ_MAX_BYTES && text[0] == '_' && text[1] == 'R';
}

int hs_symbol_list_read_name(struct hs_symbol_list *list, const struct hs_symbol_table *table,
			     uint32_t offset, const char *suffix, uint32_t *name)
{
	ssize_t length = append_name(list, table, offset);
	size_t suffix_bytes = strlen(suffix) + 1;
	char *text;

	if (length < 0)
		return (int)length;
	if (grow_names(list, (size_t)length + suffix_bytes) < 0)
		return -ENOMEM;
	text = list->names + list->names_bytes;
	if (is_beyond_demangling(text, (size_t)length))
		return -ENOENT;
	if (table->symbols.sh_type == SHT_SYMTAB)
		length = (ssize_t)without_version(text, (size_t)length);
	if (length == 0)
		return -ENOENT;
	memcpy(text + length, suffix, suffix_bytes);
	*name = (uint32_t)list->names_bytes;
	list->names_bytes += (size_t)length + suffix_bytes;
	return 0;
}

static int grow(struct hs_symbol_list *list)
{
	size_t capacity = list->capacity > 0 ? 2 * list->capacity : 256;
	struct hs_symbol *symbols = hs_arena_realloc(list->symbols, capacity * sizeof *symbols);

	if (symbols == NULL)
		return -ENOMEM;
	list->symbols = symbols;
	list->capacity = capacity;
	return 0;
}

int hs_symbol_list_add(struct hs_symbol_list *list, const Elf64_Sym *symbol, uint64_t start,
		       uint64_t limit, uint32_t name)
{
	/* Wraps to a large value before the start. */
	uint64_t offset = symbol->st_value - start;
	uint64_t bytes = symbol->st_size > 0 ? symbol->st_size : 1;

	if (offset >= limit || !hs_symbol_list_wants(list, symbol->st_value, symbol->st_size))
		return 0;
	if (bytes > limit - offset)
		bytes = limit - offset;
	if (bytes > HS_SYMBOL_MAX_BYTES)
		bytes = HS_SYMBOL_MAX_BYTES;
	if (list->count == list->capacity && grow(list) < 0)
		return -ENOMEM;
	hs_symbol_list_note_named(list, symbol->st_value, bytes);
	list->symbols[list->count++] = (struct hs_symbol){
		.value = symbol->st_value,
		.name = name,
		.bytes = (uint32_t)bytes & HS_SYMBOL_MAX_BYTES,
		.rank = symbol_rank(symbol) & 7,
	};
	return 0;
}

static int add_symbol(struct reader *reader, const Elf64_Sym *symbol, uint32_t long_section)
{
	struct hs_symbol_list *list = reader->list;
	Elf64_Shdr section;
	uint32_t name;
	int error;

	if (!hs_symbol_list_wants(list, symbol->st_value, symbol->st_size) ||
	    !defining_section(reader, symbol, long_section, &section) ||
	    !is_function(symbol, &section))
		return 0;
	error = hs_symbol_list_read_name(list, reader->table, symbol->st_name, "", &name);
	if (error < 0)
		return error == -ENOMEM ? error : 0;
	return hs_symbol_list_add(list, symbol, section.sh_addr, section.sh_size, name);
}

/* Symbols first .. first + count - 1 into the chunk.  Returns 0 or -errno. */
static int read_chunk(struct reader *reader, uint64_t first, size_t count)
{
	struct chunk *chunk = reader->chunk;
	uint64_t at = first * sizeof(uint32_t);
	size_t bytes = count * sizeof(uint32_t);
	int result = 0;

	memset(chunk->sections, 0, sizeof chunk->sections);
	if (at + bytes <= reader->long_sections.sh_size)
		result = hs_elf_file_read(reader->file, chunk->sections, bytes,
					  reader->long_sections.sh_offset + at);
	if (result < 0)
		return result;
	return hs_elf_file_read(reader->file, chunk->symbols, count * sizeof(Elf64_Sym),
				reader->table->symbols.sh_offset + first * sizeof(Elf64_Sym));
}

/* A table that cannot be read to its end is used up to there. */
static int read_symbols(struct reader *reader)
{
	uint64_t total = reader->table->symbols.sh_size / sizeof(Elf64_Sym), first;
	size_t i;

	for (first = 0; first < total; first += CHUNK_SYMBOLS) {
		uint64_t left = total - first;
		size_t count = left < CHUNK_SYMBOLS ? (size_t)left : CHUNK_SYMBOLS;

		if (read_chunk(reader, first, count) < 0)
			return 0;
		for (i = 0; i < count; i++) {
			int result = add_symbol(reader, &reader->chunk->symbols[i],
						reader->chunk->sections[i]);
			if (result < 0)
				return result;
		}
	}
	return 0;
}

static size_t text_of(const struct hs_elf_file *file)
{
	GElf_Shdr header;

	return file->type == ET_REL ? elf_ndxscn(hs_libelf_find_text(file->elf, &header)) : 0;
}

static int read_table(struct hs_symbol_list *list, const struct hs_symbol_table *table,
		      struct chunk *chunk)
{
	struct reader reader = {
		.list = list,
		.file = table->file,
		.table = table,
		.long_sections = find_long_sections(table->file, table->section),
		.chunk = chunk,
		.text = text_of(table->file),
	};

	return read_symbols(&reader);
}

/*
 * Whether a table need not be read: all functions that are wanted have been found in the first,
 * and this one's are among those.  That is so of the dynamic symbols and a .symtab, unless most of
 * it has been stripped, or it is the compressed part of an object, which is an image.
 */
static bool is_needless(const struct hs_symbol_list *list, const struct hs_symbol_table *first,
			const struct hs_symbol_table *table)
{
	return list->named != NULL && list->unnamed == 0 && first->file->image == NULL &&
	       first->symbols.sh_size > table->symbols.sh_size;
}

int hs_symbol_list_read(struct hs_symbol_list *list, const struct hs_symbol_table *tables,
			size_t table_count)
{
	struct chunk *chunk = hs_arena_alloc(sizeof *chunk);
	int result = chunk != NULL ? 0 : -ENOMEM;

	/* Without memory for it all tables are read. */
	if (list->wanted != NULL) {
		list->named = hs_arena_zalloc(list->wanted->count);
		list->unnamed = list->wanted->count;
	}
	for (size_t i = 0; i < table_count && result == 0; i++) {
		if (i == 0 || !is_needless(list, &tables[0], &tables[i]))
			result = read_table(list, &tables[i], chunk);
	}
	hs_arena_free(list->named);
	list->named = NULL;
	hs_arena_free(chunk);
	return result;
}

void hs_symbol_list_free(struct hs_symbol_list *list)
{
	hs_arena_free(list->symbols);
	hs_arena_free(list->names);
	list->symbols = NULL;
	list->names = NULL;
	list->count = list->capacity = list->names_bytes = list->names_capacity = 0;
}
