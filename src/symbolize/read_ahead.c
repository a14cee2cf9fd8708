/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads symbol tables into the kernel's cache.  See read_ahead.h.
 *
 * Not with libelf: a fork may come at any time, and the child's arena must be whole.
 */
#include "symbolize/read_ahead.h"

#include <elf.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/elf_header.h"
#include "base/file_version.h"
#include "base/hash.h"
#include "base/sys.h"

/* Of a file at most: the rest is read when it is needed. */
#define FILE_MAX_BYTES (UINT64_C(1) << 30)

/* Larger ones are not of linkage tables, and those are rarely asked for. */
#define RELOCATIONS_MAX_BYTES (4u << 20)

/* Read at a time: of a table; section headers. */
#define PIECE_BYTES (16u << 10)
#define CHUNK_SECTIONS 32

/* The longest name that is looked for, with its NUL. */
#define NAME_BYTES sizeof ".gnu_debuglink"

struct work {
	struct hs_read_ahead *ahead;
	struct hs_pauses *pauses;
	struct hs_read_ahead_files *files;
	struct hs_debug_key key;

	/* Of the file that is open. */
	uint64_t bytes;
	uint64_t left; /* of FILE_MAX_BYTES */
	uint64_t version;
	uint64_t *known; /* the version that has been read before */
	bool has_failed;
};

/* Whether path is a regular file, which is open then.  known: of it, in work->files. */
static bool open_file(struct work *work, const char *path, uint64_t *known)
{
	struct hs_read_ahead *ahead = work->ahead;
	struct stat file;

	/* Only to open a device may have effects. */
	if (hs_sys_stat(path, &file) < 0 || !S_ISREG(file.st_mode))
		return false;
	work->pauses->at_file(HS_AT_FILE_OPENS);
	(void)hs_descriptor_open_regular(&ahead->file, path, &file);
	work->pauses->at_file(HS_AT_FILE_OPENED);
	work->bytes = (uint64_t)file.st_size;
	work->left = FILE_MAX_BYTES;
	work->version = hs_hash_add(hs_file_version(&file), file.st_ino);
	work->known = known;
	work->has_failed = false;
	return ahead->file.is_open;
}

static void close_file(struct work *work)
{
	if (!work->has_failed)
		*work->known = work->version;
	work->pauses->at_file(HS_AT_FILE_OPENS);
	(void)hs_descriptor_close(&work->ahead->file);
	work->pauses->at_file(HS_AT_FILE_OPENED);
}

static void read_range(struct work *work, uint64_t offset, uint64_t bytes)
{
	char piece[PIECE_BYTES];

	if (bytes > work->left)
		bytes = work->left;
	work->left -= bytes;
	while (bytes > 0) {
		size_t most = bytes < sizeof piece ? (size_t)bytes : sizeof piece;
		ssize_t got = hs_sys_pread(work->ahead->file.fd, piece, most, offset);

		work->has_failed |= got < 0;
		if (got <= 0)
			break;
		offset += (uint64_t)got;
		bytes -= (uint64_t)got;
	}
}

static bool read_all(struct work *work, void *buffer, size_t bytes, uint64_t offset)
{
	int result = hs_sys_pread_all(work->ahead->file.fd, buffer, bytes, offset);

	work->has_failed |= result < 0;
	return result == 0;
}

static bool is_wanted(const struct work *work, const Elf64_Shdr *section,
		      const char name[NAME_BYTES])
{
	bool is_known = *work->known == work->version;

	switch (section->sh_type) {
	case SHT_SYMTAB:
	case SHT_SYMTAB_SHNDX:
	case SHT_DYNSYM:
	case SHT_NOTE:
		return true;
	case SHT_STRTAB:
		return !is_known;
	case SHT_RELA:
		return (section->sh_flags & SHF_ALLOC) != 0 &&
		       section->sh_size <= RELOCATIONS_MAX_BYTES && !is_known;
	case SHT_PROGBITS:
		return strncmp(name, ".plt", 4) == 0 || strcmp(name, ".gnu_debugdata") == 0;
	default:
		return false;
	}
}

static void read_link(struct work *work, const Elf64_Shdr *section)
{
	char text[HS_DEBUG_LINK_MAX_BYTES];

	if (section->sh_size <= sizeof text &&
	    read_all(work, text, section->sh_size, section->sh_offset))
		hs_debug_key_set_link(&work->key, text, section->sh_size);
}

static void read_section(struct work *work, const Elf64_Shdr *section, uint64_t names)
{
	char name[NAME_BYTES] = "";

	if (hs_sys_pread(work->ahead->file.fd, name, sizeof name - 1,
			 names + section->sh_name) < 0)
		work->has_failed = true;
	if (is_wanted(work, section, name))
		read_range(work, section->sh_offset, section->sh_size);
	else if (strcmp(name, ".gnu_debuglink") == 0)
		read_link(work, section);
}

/* Objects whose sections are too many for their header are left. */
static void read_sections(struct work *work)
{
	Elf64_Shdr chunk[CHUNK_SECTIONS], names;
	Elf64_Ehdr header;

	if (!read_all(work, &header, sizeof header, 0) || !hs_elf_header_is_ours(&header) ||
	    header.e_shentsize != sizeof names ||
	    !read_all(work, &names, sizeof names,
		      header.e_shoff + header.e_shstrndx * sizeof names))
		return;
	for (unsigned first = 0; first < header.e_shnum; first += CHUNK_SECTIONS) {
		unsigned left = header.e_shnum - first;
		unsigned count = left < CHUNK_SECTIONS ? left : CHUNK_SECTIONS;

		if (!read_all(work, chunk, count * sizeof *chunk,
			      header.e_shoff + first * sizeof *chunk))
			break;
		for (unsigned i = 0; i < count; i++)
			read_section(work, &chunk[i], names.sh_offset);
	}
}

/* Whether path is the object, as it seems: another one is read too, to tell that it is another. */
static bool read_object(struct work *work, const char *path, uint64_t *known,
			const struct hs_mapping *object)
{
	bool is_object;

	if (!open_file(work, path, known))
		return false;
	is_object = object->inode == work->ahead->file.inode;
	read_sections(work);
	close_file(work);
	return is_object;
}

static void read_objects(struct work *work, const struct hs_mapping *object)
{
	char room[HS_OBJECT_PATH_BYTES];

	for (unsigned number = 0; number < HS_OBJECT_PATHS; number++) {
		const char *path = hs_object_file_path(object, number, room);

		if (path != NULL && read_object(work, path, &work->files->versions[number], object))
			break;
	}
}

/* Without a build id all of a file is read, for its checksum, or it is not used. */
static void read_debug_file(struct work *work)
{
	if (work->key.build_id[0] != '\0')
		read_sections(work);
	else if (work->bytes <= HS_DEBUG_CHECKSUM_MAX_BYTES)
		read_range(work, 0, work->bytes);
}

static void read_debug_files(struct work *work)
{
	char path[PATH_MAX];

	for (unsigned number = 0; number < HS_DEBUG_PATHS; number++) {
		uint64_t *known = &work->files->versions[HS_OBJECT_PATHS + number];

		if (!hs_debug_file_path(&work->key, number, path) || !open_file(work, path, known))
			continue;
		read_debug_file(work);
		close_file(work);
	}
}

void hs_read_ahead(struct hs_read_ahead *ahead, const struct hs_mapping *object,
		   struct hs_read_ahead_files *files, struct hs_pauses *pauses)
{
	struct work work = {.ahead = ahead, .files = files, .pauses = pauses};

	if (pauses->at_file == NULL)
		return;
	work.key.path = object->path;
	memcpy(work.key.build_id, object->build_id, sizeof work.key.build_id);
	pauses->at_file(HS_AT_FILE_BEGINS);
	read_objects(&work, object);
	read_debug_files(&work);
	pauses->at_file(HS_AT_FILE_ENDS);
}

void hs_read_ahead_after_fork(struct hs_read_ahead *ahead)
{
	(void)hs_descriptor_close(&ahead->file);
}
