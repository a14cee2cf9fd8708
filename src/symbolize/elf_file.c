/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounds-checked reading of ELF objects.  See elf_file.h for the contract.
 * Source: System V ABI, chapter 4 (object files); elf(5).
 */
#include "symbolize/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/arena.h"
#include "base/sys.h"

/* A linked object has some 30 sections; this many headers take 16 MiB. */
#define SECTIONS_MAX (1u << 18)
#define SECTION_NAMES_MAX_BYTES (1u << 20)

/* The build id comes first among few notes; what lies further is not looked at. */
#define NOTES_MAX_BYTES 2048
#define NOTE_PARTS_MAX 64

/* Our own ELF header (the linker's symbol): it says which machine this is. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

static int read_memory_all(uint64_t address, char *buffer, size_t bytes)
{
	while (bytes > 0) {
		ssize_t got = hs_sys_read_memory((uintptr_t)address, buffer, bytes);
		if (got == -EINTR)
			continue;
		if (got < 0)
			return (int)got;
		if (got == 0)
			return -ENODATA;
		address += (uint64_t)got;
		buffer += got;
		bytes -= (size_t)got;
	}
	return 0;
}

int hs_elf_file_read(const struct hs_elf_file *file, void *buffer, size_t bytes, uint64_t offset)
{
	if (offset > file->bytes || bytes > file->bytes - offset)
		return -ENODATA;
	if (file->fd >= 0)
		return hs_sys_pread_all(file->fd, buffer, bytes, offset);
	return read_memory_all(file->memory + offset, buffer, bytes);
}

static int read_header(const struct hs_elf_file *file, Elf64_Ehdr *header)
{
	int result = hs_elf_file_read(file, header, sizeof *header, 0);

	if (result == -ENODATA)
		return -ENOEXEC;
	if (result < 0)
		return result;
	/* Magic number, class (64 bits) and byte order at once. */
	if (memcmp(header->e_ident, __ehdr_start.e_ident, EI_VERSION) != 0)
		return -ENOEXEC;
	if (header->e_machine != __ehdr_start.e_machine)
		return -ENOEXEC;
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return -ENOEXEC;
	return 0;
}

/*
 * Numbers that do not fit the header are in the fields of section 0.  Returns
 * false where there is no table.
 */
static bool count_sections(struct hs_elf_file *file, const Elf64_Ehdr *header)
{
	uint64_t count = header->e_shnum;
	Elf64_Shdr first;

	file->name_section = header->e_shstrndx;
	if (header->e_shoff == 0 || header->e_shentsize != sizeof(Elf64_Shdr))
		return false;
	if (count == 0 || header->e_shstrndx == SHN_XINDEX) {
		if (hs_elf_file_read(file, &first, sizeof first, header->e_shoff) < 0)
			return false;
		if (count == 0)
			count = first.sh_size;
		if (header->e_shstrndx == SHN_XINDEX)
			file->name_section = first.sh_link;
	}
	if (count == 0 || count > SECTIONS_MAX || count * sizeof(Elf64_Shdr) > file->bytes)
		return false;
	file->section_count = (uint32_t)count;
	return true;
}

static int read_sections(struct hs_elf_file *file, const Elf64_Ehdr *header)
{
	size_t bytes;

	if (!count_sections(file, header))
		return 0;
	bytes = file->section_count * sizeof(Elf64_Shdr);
	file->sections = hs_arena_alloc(bytes);
	if (file->sections == NULL)
		return -ENOMEM;
	if (hs_elf_file_read(file, file->sections, bytes, header->e_shoff) < 0) {
		hs_arena_free(file->sections);
		file->sections = NULL;
		file->section_count = 0;
	}
	return 0;
}

static void format_build_id(char *hex, const unsigned char *id, size_t bytes)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < bytes && 2 * i + 2 < HS_ELF_BUILD_ID_HEX_BYTES; i++) {
		hex[2 * i] = digits[id[i] >> 4];
		hex[2 * i + 1] = digits[id[i] & 15];
	}
	hex[2 * i] = '\0';
}

static bool find_build_id_note(char *hex, const unsigned char *notes, size_t bytes, size_t align)
{
	size_t at = 0;

	while (bytes - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, id, next;

		memcpy(&note, notes + at, sizeof note);
		name = at + sizeof note;
		id = (name + note.n_namesz + align - 1) & ~(align - 1);
		next = (id + note.n_descsz + align - 1) & ~(align - 1);
		if (id > bytes || note.n_descsz > bytes - id)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
		    memcmp(notes + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 &&
		    note.n_descsz > 0) {
			format_build_id(hex, notes + id, note.n_descsz);
			return true;
		}
		if (next > bytes)
			return false;
		at = next;
	}
	return false;
}

static bool read_notes(struct hs_elf_file *file, uint64_t offset, uint64_t bytes, uint64_t align)
{
	unsigned char notes[NOTES_MAX_BYTES];
	size_t part = bytes < sizeof notes ? (size_t)bytes : sizeof notes;

	if (hs_elf_file_read(file, notes, part, offset) < 0)
		return false;
	/* Notes are padded to 4 bytes, but to 8 where their section is. */
	return find_build_id_note(file->build_id, notes, part, align == 8 ? 8 : 4);
}

static void read_section_notes(struct hs_elf_file *file)
{
	unsigned parts = 0;
	uint32_t i;

	for (i = 0; i < file->section_count && parts < NOTE_PARTS_MAX; i++) {
		const Elf64_Shdr *section = &file->sections[i];

		if (section->sh_type != SHT_NOTE)
			continue;
		parts++;
		if (read_notes(file, section->sh_offset, section->sh_size, section->sh_addralign))
			return;
	}
}

/* For objects without section headers. */
static void read_segment_notes(struct hs_elf_file *file, const Elf64_Ehdr *header)
{
	uint16_t i;

	if (header->e_phentsize != sizeof(Elf64_Phdr))
		return;
	for (i = 0; i < header->e_phnum && i < NOTE_PARTS_MAX; i++) {
		Elf64_Phdr segment;

		if (header->e_phoff > file->bytes ||
		    hs_elf_file_read(file, &segment, sizeof segment,
				     header->e_phoff + i * sizeof segment) < 0)
			return;
		if (segment.p_type == PT_NOTE &&
		    read_notes(file, segment.p_offset, segment.p_filesz, segment.p_align))
			return;
	}
}

static int read_tables(struct hs_elf_file *file)
{
	Elf64_Ehdr header;
	int result = read_header(file, &header);

	if (result == 0)
		result = read_sections(file, &header);
	if (result < 0)
		return result;
	read_section_notes(file);
	if (file->build_id[0] == '\0')
		read_segment_notes(file, &header);
	return 0;
}

int hs_elf_file_open(struct hs_elf_file *file, const char *path)
{
	struct stat status;
	int result;

	memset(file, 0, sizeof *file);
	file->fd = -1;
	/* Devices are mapped too; only to open one may have effects. */
	result = hs_sys_stat(path, &status);
	if (result < 0)
		return result;
	if (!S_ISREG(status.st_mode))
		return -ENOEXEC;
	file->fd = hs_sys_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (file->fd < 0)
		return file->fd;
	result = hs_sys_fstat(file->fd, &status);
	if (result == 0) {
		file->bytes = status.st_size > 0 ? (uint64_t)status.st_size : 0;
		result = read_tables(file);
	}
	if (result < 0)
		hs_elf_file_close(file);
	return result;
}

int hs_elf_file_open_memory(struct hs_elf_file *file, uint64_t start, uint64_t bytes)
{
	int result;

	memset(file, 0, sizeof *file);
	file->fd = -1;
	file->memory = start;
	file->bytes = bytes;
	result = bytes > UINT64_MAX - start ? -EINVAL : read_tables(file);
	if (result < 0)
		hs_elf_file_close(file);
	return result;
}

void hs_elf_file_close(struct hs_elf_file *file)
{
	hs_arena_free(file->sections);
	if (file->fd >= 0)
		hs_sys_close(file->fd);
	memset(file, 0, sizeof *file);
	file->fd = -1;
}

const Elf64_Shdr *hs_elf_file_section(const struct hs_elf_file *file, uint32_t index)
{
	return index < file->section_count ? &file->sections[index] : NULL;
}

uint32_t hs_elf_file_find_section(const struct hs_elf_file *file, uint32_t type)
{
	uint32_t i;

	for (i = 1; i < file->section_count; i++) {
		if (file->sections[i].sh_type == type)
			return i;
	}
	return 0;
}

static bool is_dwarf_name(const char *name)
{
	/* .zdebug_*: compressed the old GNU way. */
	return strcmp(name, ".debug_info") == 0 || strcmp(name, ".debug_line") == 0 ||
	       strcmp(name, ".zdebug_info") == 0 || strcmp(name, ".zdebug_line") == 0;
}

bool hs_elf_file_has_dwarf(const struct hs_elf_file *file)
{
	const Elf64_Shdr *names = hs_elf_file_section(file, file->name_section);
	bool found = false;
	char *text;
	uint32_t i;

	if (names == NULL || names->sh_type != SHT_STRTAB ||
	    names->sh_size > SECTION_NAMES_MAX_BYTES)
		return false;
	text = hs_arena_alloc(names->sh_size + 1);
	if (text == NULL)
		return false;
	if (hs_elf_file_read(file, text, names->sh_size, names->sh_offset) == 0) {
		text[names->sh_size] = '\0';
		for (i = 0; i < file->section_count && !found; i++) {
			const Elf64_Shdr *section = &file->sections[i];

			found = section->sh_name < names->sh_size && section->sh_size > 0 &&
				section->sh_type != SHT_NOBITS &&
				is_dwarf_name(text + section->sh_name);
		}
	}
	hs_arena_free(text);
	return found;
}
