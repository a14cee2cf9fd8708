/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes small ELF images for the tests of the symbol reader: sections have fixed indexes, their
 * contents are in the order of these, the section headers come last.
 */
#ifndef HS_TESTS_ELF_WRITER_H
#define HS_TESTS_ELF_WRITER_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/elf_header.h"

#define ELF_TEXT_START 0x1000
#define ELF_TEXT_BYTES 0x1000
#define ELF_DATA_START 0x4000
#define ELF_IMAGE_MAX (256 << 10)

enum {
	ELF_NULL,
	ELF_TEXT,
	ELF_DATA,
	ELF_NOTE,
	ELF_SYMTAB,
	ELF_STRTAB,
	ELF_DYNSYM,
	ELF_DYNSTR,
	ELF_SHNDX,
	ELF_DEBUG,
	ELF_NAMES,
	ELF_SECTIONS,
};

struct elf_symbol {
	const char *name;
	uint64_t value;
	uint64_t bytes;
	unsigned char binding; /* STB_* */
	unsigned char type;    /* STT_* */
	uint16_t section;
};

struct elf_spec {
	const struct elf_symbol *symbols; /* .symtab; NULL: none */
	size_t count;
	const struct elf_symbol *dynamic; /* .dynsym; NULL: none */
	size_t dynamic_count;
	const unsigned char *build_id;    /* NULL: none */
	size_t build_id_bytes;
	const char *debug_name;           /* name of a section of 16 bytes; NULL: none */
	bool many_sections;               /* as if many: numbers in section 0 and ELF_SHNDX */
};

struct elf_image {
	unsigned char data[ELF_IMAGE_MAX] __attribute__((aligned(16)));
	size_t bytes;
};

static inline Elf64_Ehdr *elf_header(struct elf_image *image)
{
	return (Elf64_Ehdr *)(void *)image->data;
}

static inline Elf64_Shdr *elf_section(struct elf_image *image, unsigned index)
{
	return (Elf64_Shdr *)(void *)(image->data + elf_header(image)->e_shoff) + index;
}

static inline size_t elf_append(struct elf_image *image, const void *data, size_t bytes)
{
	size_t at = image->bytes;

	if (bytes > sizeof image->data - at)
		__builtin_trap();
	memcpy(image->data + at, data, bytes);
	image->bytes += bytes;
	return at;
}

static inline void elf_align(struct elf_image *image)
{
	image->bytes = (image->bytes + 15) & ~(size_t)15;
}

static inline void elf_close_section(Elf64_Shdr *section, uint32_t type, size_t start, size_t end)
{
	section->sh_type = type;
	section->sh_offset = start;
	section->sh_size = end - start;
	section->sh_addralign = 1;
}

static inline void elf_add_table(struct elf_image *image, Elf64_Shdr *sections, unsigned index,
				 const struct elf_symbol *symbols, size_t count, bool long_index)
{
	Elf64_Sym none = { 0 };
	size_t start, name = 1, i;

	elf_align(image);
	start = elf_append(image, &none, sizeof none);
	for (i = 0; i < count; i++) {
		Elf64_Sym symbol = {
			.st_name = (uint32_t)name,
			.st_info = ELF64_ST_INFO(symbols[i].binding, symbols[i].type),
			.st_shndx = long_index ? SHN_XINDEX : symbols[i].section,
			.st_value = symbols[i].value,
			.st_size = symbols[i].bytes,
		};

		elf_append(image, &symbol, sizeof symbol);
		name += strlen(symbols[i].name) + 1;
	}
	elf_close_section(&sections[index], index == ELF_SYMTAB ? SHT_SYMTAB : SHT_DYNSYM, start,
			  image->bytes);
	sections[index].sh_entsize = sizeof none;
	sections[index].sh_link = index + 1;
	start = elf_append(image, "", 1);
	for (i = 0; i < count; i++)
		elf_append(image, symbols[i].name, strlen(symbols[i].name) + 1);
	elf_close_section(&sections[index + 1], SHT_STRTAB, start, image->bytes);
}

static inline void elf_add_note(struct elf_image *image, Elf64_Shdr *section,
				const unsigned char *id, size_t bytes)
{
	/* Another note first, as linkers do with .note.ABI-tag. */
	static const uint32_t other[] = { 4, 4, 1, 0x00554e47, 0 };
	Elf64_Nhdr note = { 4, (uint32_t)bytes, NT_GNU_BUILD_ID };
	size_t start;

	elf_align(image);
	start = elf_append(image, other, sizeof other);
	elf_append(image, &note, sizeof note);
	elf_append(image, ELF_NOTE_GNU, 4);
	elf_append(image, id, bytes);
	elf_close_section(section, SHT_NOTE, start, image->bytes);
	section->sh_addralign = 4;
}

static inline void elf_add_long_indexes(struct elf_image *image, Elf64_Shdr *section,
					const struct elf_spec *spec)
{
	uint32_t index = 0;
	size_t i, start;

	elf_align(image);
	start = elf_append(image, &index, sizeof index);
	for (i = 0; i < spec->count; i++) {
		index = spec->symbols[i].section;
		elf_append(image, &index, sizeof index);
	}
	elf_close_section(section, SHT_SYMTAB_SHNDX, start, image->bytes);
	section->sh_link = ELF_SYMTAB;
}

static inline void elf_add_contents(struct elf_image *image, Elf64_Shdr *sections,
				    const struct elf_spec *spec)
{
	size_t start;

	sections[ELF_TEXT] = (Elf64_Shdr){.sh_type = SHT_NOBITS,
					  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					  .sh_addr = ELF_TEXT_START,
					  .sh_size = ELF_TEXT_BYTES};
	sections[ELF_DATA] = (Elf64_Shdr){.sh_type = SHT_NOBITS,
					  .sh_flags = SHF_ALLOC | SHF_WRITE,
					  .sh_addr = ELF_DATA_START,
					  .sh_size = 0x1000};
	if (spec->build_id != NULL)
		elf_add_note(image, &sections[ELF_NOTE], spec->build_id, spec->build_id_bytes);
	if (spec->symbols != NULL)
		elf_add_table(image, sections, ELF_SYMTAB, spec->symbols, spec->count,
			      spec->many_sections);
	if (spec->dynamic != NULL)
		elf_add_table(image, sections, ELF_DYNSYM, spec->dynamic, spec->dynamic_count,
			      false);
	if (spec->many_sections)
		elf_add_long_indexes(image, &sections[ELF_SHNDX], spec);
	start = elf_append(image, "", 1);
	if (spec->debug_name != NULL) {
		elf_append(image, spec->debug_name, strlen(spec->debug_name) + 1);
		elf_close_section(&sections[ELF_DEBUG], SHT_PROGBITS, start, start + 16);
		sections[ELF_DEBUG].sh_name = 1;
	}
	elf_close_section(&sections[ELF_NAMES], SHT_STRTAB, start, image->bytes);
}

static inline void elf_write(struct elf_image *image, const struct elf_spec *spec)
{
	Elf64_Shdr sections[ELF_SECTIONS] = { { 0 } };
	Elf64_Ehdr *header = elf_header(image);

	memset(image, 0, sizeof *image);
	image->bytes = sizeof *header;
	elf_add_contents(image, sections, spec);
	elf_align(image);
	memcpy(header->e_ident, __ehdr_start.e_ident, EI_NIDENT);
	header->e_type = ET_DYN;
	header->e_machine = __ehdr_start.e_machine;
	header->e_version = EV_CURRENT;
	header->e_ehsize = sizeof *header;
	header->e_shentsize = sizeof(Elf64_Shdr);
	header->e_shnum = spec->many_sections ? 0 : ELF_SECTIONS;
	header->e_shstrndx = spec->many_sections ? SHN_XINDEX : ELF_NAMES;
	if (spec->many_sections) {
		sections[ELF_NULL].sh_size = ELF_SECTIONS;
		sections[ELF_NULL].sh_link = ELF_NAMES;
	}
	header->e_shoff = elf_append(image, sections, sizeof sections);
}

#endif
