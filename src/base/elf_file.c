/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELF objects by libelf.  See elf_file.h for the contract.
 *
 * Headers are copied out (gelf_*): elf64_getshdr() and elf64_getphdr() give pointers into the
 * file, where a damaged one has them at any alignment.
 */
#include "base/elf_file.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "base/arena.h"
#include "base/assertion.h"
#include "base/file_version.h"
#include "base/libelf.h"
#include "base/sys.h"

/* A table larger than this is damaged, or no business of a profiler. */
#define CONTENTS_MAX_BYTES (1u << 30)

/* The vDSO has two or three pages; what was compressed in an object, some megabytes. */
#define IMAGE_MAX_BYTES (1u << 28)

/* Build ids have few neighbours; what is larger has other notes. */
#define NOTES_MAX_BYTES (64u << 10)
#define SEGMENTS_MAX 64

int hs_elf_file_read(const struct hs_elf_file *file, void *buffer, size_t bytes, uint64_t offset)
{
	int result = 0;

	if (offset > file->bytes || bytes > file->bytes - offset)
		return -ENODATA;
	if (file->image == NULL)
		result = hs_sys_pread_all(file->descriptor.fd, buffer, bytes, offset);
	else
		memcpy(buffer, file->image + offset, bytes);
	if (result < 0 && result != -ENODATA)
		hs_libelf_note_failure();
	return result;
}

/* Not by elf_getdata_rawchunk(): see base/libelf.c. */
static bool find_at(struct hs_elf_file *file, uint64_t offset, uint64_t bytes, uint64_t align)
{
	char *notes;
	bool found;

	if (bytes > NOTES_MAX_BYTES)
		return false;
	notes = hs_arena_alloc(bytes);
	found = notes != NULL && hs_elf_file_read(file, notes, bytes, offset) == 0 &&
		hs_build_id_find(notes, bytes, align, file->build_id);
	hs_arena_free(notes);
	return found;
}

static bool read_section_notes(struct hs_elf_file *file)
{
	Elf_Scn *section = NULL;
	Elf64_Shdr header;

	while ((section = elf_nextscn(file->elf, section)) != NULL) {
		if (gelf_getshdr(section, &header) != NULL && header.sh_type == SHT_NOTE &&
		    find_at(file, header.sh_offset, header.sh_size, header.sh_addralign))
			return true;
	}
	return false;
}

/* For objects without section headers. */
static void read_segment_notes(struct hs_elf_file *file)
{
	Elf64_Phdr segment;
	size_t count = 0, i;

	if (elf_getphdrnum(file->elf, &count) != 0 || count > SEGMENTS_MAX)
		return;
	for (i = 0; i < count && gelf_getphdr(file->elf, (int)i, &segment) != NULL; i++) {
		if (segment.p_type == PT_NOTE &&
		    find_at(file, segment.p_offset, segment.p_filesz, segment.p_align))
			return;
	}
}

/* On failure all is closed. */
static int begin(struct hs_elf_file *file, Elf *elf)
{
	file->elf = elf;
	file->type = hs_libelf_type(elf);
	if (file->type == ET_NONE) {
		hs_elf_file_close(file);
		return -ENOEXEC;
	}
	if (!read_section_notes(file))
		read_segment_notes(file);
	return 0;
}

/*
 * What says something of the path, or is our own shortage, is kept.  All else comes from a device
 * or a server, and says nothing about the file.
 */
static int open_error(int error)
{
	switch (error) {
	case -ENOENT:
	case -ENOTDIR:
	case -EACCES:
	case -EPERM:
	case -ELOOP:
	case -ENAMETOOLONG:
	case -EINVAL: /* not a regular file */
	case -ENOSYS: /* of a seccomp filter */
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
		return error;
	default:
		return -EIO;
	}
}

int hs_elf_file_open(struct hs_elf_file *file, const char *path)
{
	struct stat status;
	int result;

	*file = (struct hs_elf_file){.image = NULL};
	/* Devices are mapped too; only to open one may have effects. */
	result = hs_sys_stat(path, &status);
	if (result < 0)
		return open_error(result);
	if (!S_ISREG(status.st_mode))
		return -ENOEXEC;
	result = hs_descriptor_open_regular(&file->descriptor, path, &status);
	if (result < 0)
		return open_error(result);
	file->bytes = status.st_size > 0 ? (uint64_t)status.st_size : 0;
	file->version = hs_file_version(&status);
	return begin(file, hs_libelf_open(file->descriptor.fd));
}

int hs_elf_file_open_image(struct hs_elf_file *file, char *image, size_t bytes)
{
	*file = (struct hs_elf_file){.image = NULL};
	file->image = image;
	file->bytes = bytes;
	return begin(file, hs_libelf_open_image(image, bytes));
}

int hs_elf_file_open_memory(struct hs_elf_file *file, uint64_t start, uint64_t bytes)
{
	char *image;
	int result;

	*file = (struct hs_elf_file){.image = NULL};
	if (bytes > UINT64_MAX - start || bytes > IMAGE_MAX_BYTES)
		return -EINVAL;
	image = hs_arena_alloc(bytes);
	if (image == NULL)
		return -ENOMEM;
	result = hs_sys_read_memory_all(start, image, bytes);
	if (result < 0) {
		hs_arena_free(image);
		return result;
	}
	return hs_elf_file_open_image(file, image, bytes);
}

bool hs_elf_file_is_shortage(int error)
{
	return error == -ENOMEM || error == -EMFILE || error == -ENFILE || error == -EIO;
}

int hs_elf_file_catch(int (*function)(void *context), void *context, bool *failed)
{
	bool outer = hs_libelf_take_failure(); /* of a call that this one is inside of */
	int result = hs_assertion_catch(function, context);

	*failed = hs_libelf_take_failure();
	if (outer)
		hs_libelf_note_failure();
	return result < 0 && *failed ? -EIO : result;
}

void hs_elf_file_close(struct hs_elf_file *file)
{
	elf_end(file->elf);
	hs_arena_free(file->image);
	hs_elf_file_abandon(file);
}

void hs_elf_file_close_descriptor(struct hs_elf_file *file)
{
	(void)hs_descriptor_close(&file->descriptor);
}

void hs_elf_file_abandon(struct hs_elf_file *file)
{
	hs_elf_file_close_descriptor(file);
	*file = (struct hs_elf_file){.image = NULL};
}

/* hs_elf_file_use() under way. */
struct use {
	int (*function)(void *context, struct hs_elf_file *file);
	void *context;
	struct hs_elf_file file;
};

static int use_and_close(void *context)
{
	struct use *use = context;
	int result = use->function(use->context, &use->file);

	hs_elf_file_close(&use->file);
	return result;
}

int hs_elf_file_use(int (*function)(void *context, struct hs_elf_file *file), void *context)
{
	struct use use = {.function = function, .context = context};
	bool failed;
	int result = hs_elf_file_catch(use_and_close, &use, &failed);

	hs_elf_file_abandon(&use.file);
	return result;
}

bool hs_elf_file_section(const struct hs_elf_file *file, size_t index, Elf64_Shdr *out)
{
	Elf_Scn *section = elf_getscn(file->elf, index);

	return section != NULL && gelf_getshdr(section, out) != NULL;
}

bool hs_elf_file_has_contents(const struct hs_elf_file *file, const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NOBITS && section->sh_size > 0 &&
	       section->sh_size <= CONTENTS_MAX_BYTES && section->sh_offset <= file->bytes &&
	       section->sh_size <= file->bytes - section->sh_offset;
}

size_t hs_elf_file_find_type(const struct hs_elf_file *file, uint32_t type)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(file->elf, section)) != NULL) {
		Elf64_Shdr header;

		if (gelf_getshdr(section, &header) != NULL && header.sh_type == type)
			return elf_ndxscn(section);
	}
	return 0;
}

size_t hs_elf_file_find_name(const struct hs_elf_file *file, const char *name)
{
	Elf64_Shdr header;
	Elf_Scn *section = hs_libelf_find_section(file->elf, name, &header);

	return section != NULL && hs_elf_file_has_contents(file, &header) ? elf_ndxscn(section) : 0;
}

bool hs_elf_file_has_dwarf(const struct hs_elf_file *file)
{
	/* .zdebug_*: compressed the old GNU way. */
	return hs_elf_file_find_name(file, ".debug_info") != 0 ||
	       hs_elf_file_find_name(file, ".debug_line") != 0 ||
	       hs_elf_file_find_name(file, ".zdebug_info") != 0 ||
	       hs_elf_file_find_name(file, ".zdebug_line") != 0;
}
