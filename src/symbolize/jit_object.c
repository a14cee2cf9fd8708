/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the functions of objects in memory.  Runs on the producer. */
#include "symbolize/jit_object.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/elf_file.h"
#include "base/stats.h"
#include "symbolize/symbol_list.h"

struct reading {
	struct hs_jit_map *map;
	uint32_t number;
	char *image;
	size_t bytes;
	struct hs_elf_file *file;
};

/* The address of a function's code.  false: it is none. */
static bool locate(const struct reading *reading, const Elf64_Sym *symbol, uint64_t *address)
{
	Elf64_Shdr section;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_size == 0 ||
	    symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE ||
	    !hs_elf_file_section(reading->file, symbol->st_shndx, &section))
		return false;
	*address = symbol->st_value;
	if (reading->file->type == ET_REL)
		*address += section.sh_addr;
	return *address >= symbol->st_value && symbol->st_size <= UINT64_MAX - *address;
}

/* Adds a symbol, if it is a function's.  Returns 0 or -ENOMEM. */
static int add(struct reading *reading, const Elf64_Shdr *names, const Elf64_Sym *symbol)
{
	uint64_t address;
	const char *name;
	int error = -EINVAL;

	if (symbol->st_name >= names->sh_size || !locate(reading, symbol, &address))
		return 0;
	name = reading->file->image + names->sh_offset + symbol->st_name;
	if (memchr(name, '\0', names->sh_size - symbol->st_name) != NULL)
		error = hs_jit_map_add(reading->map, address, address + symbol->st_size, name,
				       strlen(name), reading->number);
	if (error == -EINVAL)
		hs_stats_add(jit_skipped, 1);
	return error == -ENOMEM ? error : 0;
}

static int read_functions(struct reading *reading)
{
	struct hs_symbol_table table;
	int error = 0;

	if (!hs_symbol_table_find(&table, reading->file, SHT_SYMTAB) &&
	    !hs_symbol_table_find(&table, reading->file, SHT_DYNSYM))
		return -ENOENT;
	for (uint64_t at = 0; at < table.symbols.sh_size && error == 0; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		error = hs_elf_file_read(reading->file, &symbol, sizeof symbol,
					 table.symbols.sh_offset + at);
		if (error == 0)
			error = add(reading, &table.names, &symbol);
	}
	return error;
}

static int read_object(void *context, struct hs_elf_file *file)
{
	struct reading *reading = context;
	int result = hs_elf_file_open_image(file, reading->image, reading->bytes);

	reading->file = file;
	return result == 0 ? read_functions(reading) : result;
}

int hs_jit_object_read(struct hs_jit_map *map, char *image, size_t bytes, uint32_t number)
{
	struct reading reading = {
		.map = map,
		.number = number,
		.image = image,
		.bytes = bytes,
	};

	return hs_elf_file_use(read_object, &reading);
}
