/* SPDX-License-Identifier: BSD-2-Clause */
/* Procedure linkage tables.  See plt.h for the contract. */
#include "symbolize/plt.h"

#include <errno.h>

#include "arch/plt.h"
#include "base/arena.h"
#include "base/interner.h"

/* An object has some thousand slots. */
#define PLT_MAX_BYTES (4u << 20)
#define CHUNK_RELOCATIONS 512

/* Of all sections together, which a damaged object may have at the same place. */
#define RELOCATIONS_MAX_BYTES ((uint64_t)1 << 30)

/* By the GOT slot, which is the key. */
struct slot {
	uint64_t got;
	uint64_t value;
	uint32_t bytes;
	uint32_t symbol; /* index into the dynamic symbols; 0: not known */
};

struct reader {
	struct hs_symbol_list *list;
	const struct hs_symbol_table *table;
	const struct hs_elf_file *file;
	struct hs_interner slots;
};

static int decode_slots(struct reader *reader, const Elf64_Shdr *section, const unsigned char *code)
{
	uint64_t step = section->sh_entsize, at;

	if (step != 8 && step != 16)
		step = HS_PLT_SLOT_BYTES;
	for (at = 0; at + step <= section->sh_size; at += step) {
		struct slot slot = {.value = section->sh_addr + at, .bytes = (uint32_t)step};

		if (hs_symbol_list_wants(reader->list, slot.value, step) &&
		    hs_plt_decode(code + at, step, slot.value, &slot.got) &&
		    hs_interner_add(&reader->slots, &slot) == HS_INTERNER_NONE)
			return -ENOMEM;
	}
	return 0;
}

static int read_section(struct reader *reader, const char *name)
{
	size_t index = hs_elf_file_find_name(reader->file, name);
	unsigned char *code;
	Elf64_Shdr section;
	int result = 0;

	if (index == 0 || !hs_elf_file_section(reader->file, index, &section) ||
	    section.sh_size > PLT_MAX_BYTES || (section.sh_flags & SHF_EXECINSTR) == 0)
		return 0;
	code = hs_arena_alloc(section.sh_size);
	if (code == NULL)
		return -ENOMEM;
	if (hs_elf_file_read(reader->file, code, section.sh_size, section.sh_offset) == 0)
		result = decode_slots(reader, &section, code);
	hs_arena_free(code);
	return result;
}

static void use_relocations(struct reader *reader, const Elf64_Rela *relocations, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const Elf64_Rela *relocation = &relocations[i];
		uint32_t number;

		if (!hs_plt_is_relocation(ELF64_R_TYPE(relocation->r_info)))
			continue;
		number = hs_interner_find(&reader->slots, &relocation->r_offset);
		if (number != HS_INTERNER_NONE) {
			struct slot *slot = hs_interner_item(&reader->slots, number);
			slot->symbol = ELF64_R_SYM(relocation->r_info);
		}
	}
}

static int read_relocations(struct reader *reader)
{
	Elf64_Rela *chunk = hs_arena_alloc(CHUNK_RELOCATIONS * sizeof *chunk);
	uint64_t more_bytes = RELOCATIONS_MAX_BYTES;
	Elf64_Shdr section;

	if (chunk == NULL)
		return -ENOMEM;
	for (size_t i = 1; hs_elf_file_section(reader->file, i, &section); i++) {
		uint64_t total = section.sh_size / sizeof *chunk, first;

		if (section.sh_type != SHT_RELA || section.sh_link != reader->table->section ||
		    !hs_elf_file_has_contents(reader->file, &section) ||
		    section.sh_size > more_bytes)
			continue;
		more_bytes -= section.sh_size;
		for (first = 0; first < total; first += CHUNK_RELOCATIONS) {
			uint64_t left = total - first;
			size_t count = left < CHUNK_RELOCATIONS ? (size_t)left : CHUNK_RELOCATIONS;

			if (hs_elf_file_read(reader->file, chunk, count * sizeof *chunk,
					     section.sh_offset + first * sizeof *chunk) < 0)
				break;
			use_relocations(reader, chunk, count);
		}
	}
	hs_arena_free(chunk);
	return 0;
}

/* Returns 0 or -ENOMEM. */
static int add_slot(struct reader *reader, const struct slot *slot)
{
	const struct hs_symbol_table *table = reader->table;
	uint64_t offset = (uint64_t)slot->symbol * sizeof(Elf64_Sym);
	Elf64_Sym symbol;
	uint32_t name;
	int error;

	if (slot->symbol == 0 || offset + sizeof symbol > table->symbols.sh_size ||
	    hs_elf_file_read(reader->file, &symbol, sizeof symbol,
			     table->symbols.sh_offset + offset) < 0)
		return 0;
	error = hs_symbol_list_read_name(reader->list, table, symbol.st_name, "@plt", &name);
	if (error < 0)
		return error == -ENOMEM ? error : 0;
	symbol = (Elf64_Sym){.st_value = slot->value, .st_size = slot->bytes};
	return hs_symbol_list_add(reader->list, &symbol, slot->value, slot->bytes, name);
}

static int add_slots(struct reader *reader)
{
	int result = 0;

	for (uint32_t i = 0; i < reader->slots.count && result == 0; i++)
		result = add_slot(reader, hs_interner_item(&reader->slots, i));
	return result;
}

int hs_plt_read(struct hs_symbol_list *list, const struct hs_symbol_table *table)
{
	struct reader reader = {.list = list, .table = table, .file = table->file};
	int result = hs_interner_init(&reader.slots, sizeof(struct slot), sizeof(uint64_t));

	if (result < 0)
		return result;
	result = read_section(&reader, ".plt");
	if (result == 0)
		result = read_section(&reader, ".plt.sec");
	if (result == 0)
		result = read_section(&reader, ".plt.got");
	if (result == 0 && reader.slots.count > 0)
		result = read_relocations(&reader);
	if (result == 0)
		result = add_slots(&reader);
	hs_interner_fini(&reader.slots);
	return result;
}
