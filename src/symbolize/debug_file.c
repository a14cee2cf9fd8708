/* SPDX-License-Identifier: BSD-2-Clause */
/* Separate debug files.  See debug_file.h for the contract. */
#include "symbolize/debug_file.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/file_version.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/sys.h"

#define CHECKSUM_PIECE (64u << 10)

const char *hs_debug_file_root = "/usr/lib/debug";

void hs_debug_key_set_link(struct hs_debug_key *key, const char *text, size_t bytes)
{
	/* The name, NULs up to a multiple of 4, the checksum. */
	size_t at = (strnlen(text, bytes) + 4) & ~(size_t)3;

	if (at > sizeof key->link || at + sizeof key->checksum > bytes || strchr(text, '/') != NULL)
		return;
	strncpy(key->link, text, at);
	memcpy(&key->checksum, text + at, sizeof key->checksum);
}

void hs_debug_key_read_link(struct hs_debug_key *key, const struct hs_elf_file *object)
{
	size_t index = hs_elf_file_find_name(object, ".gnu_debuglink");
	char text[HS_DEBUG_LINK_MAX_BYTES];
	Elf64_Shdr section;

	if (index != 0 && hs_elf_file_section(object, index, &section) &&
	    section.sh_size <= sizeof text &&
	    hs_elf_file_read(object, text, section.sh_size, section.sh_offset) == 0)
		hs_debug_key_set_link(key, text, section.sh_size);
}

enum { BY_BUILD_ID, BESIDE, IN_DEBUG, UNDER_ROOT };

bool hs_debug_file_path(const struct hs_debug_key *key, unsigned number, char path[PATH_MAX])
{
	const char *slash = strrchr(key->path, '/'), *id = key->build_id;
	char directory[PATH_MAX];
	size_t length;

	if (number == BY_BUILD_ID) {
		if (strlen(id) < 3)
			return false;
		length = hs_format(path, PATH_MAX, "%s/.build-id/%c%c/%s.debug",
				   hs_debug_file_root, id[0], id[1], id + 2);
		return length < PATH_MAX - 1;
	}
	if (key->link[0] == '\0' || slash == NULL || key->path[0] != '/')
		return false;
	length = (size_t)(slash - key->path);
	if (length >= sizeof directory)
		return false;
	memcpy(directory, key->path, length);
	directory[length] = '\0';
	length = hs_format(path, PATH_MAX, "%s%s/%s%s",
			   number == UNDER_ROOT ? hs_debug_file_root : "", directory,
			   number == IN_DEBUG ? ".debug/" : "", key->link);
	return length < PATH_MAX - 1;
}

static bool has_checksum(const struct hs_elf_file *file, uint32_t checksum)
{
	unsigned long sum = crc32(0, NULL, 0);
	unsigned char *piece;
	uint64_t at;

	piece = file->bytes <= HS_DEBUG_CHECKSUM_MAX_BYTES ? hs_arena_alloc(CHECKSUM_PIECE)
							  : NULL;
	if (piece == NULL)
		return false;
	for (at = 0; at < file->bytes; at += CHECKSUM_PIECE) {
		uint64_t left = file->bytes - at;
		unsigned bytes = left < CHECKSUM_PIECE ? (unsigned)left : CHECKSUM_PIECE;

		if (hs_elf_file_read(file, piece, bytes, at) < 0)
			break;
		sum = crc32(sum, piece, bytes);
	}
	hs_arena_free(piece);
	return at >= file->bytes && sum == checksum;
}

static bool is_object(const struct hs_debug_key *key, uint64_t device, uint64_t inode)
{
	return inode == key->inode && device == key->device;
}

static bool belongs(const struct hs_elf_file *file, const struct hs_debug_key *key, unsigned number)
{
	if (is_object(key, file->descriptor.device, file->descriptor.inode) ||
	    hs_elf_file_find_type(file, SHT_SYMTAB) == 0)
		return false;
	if (key->build_id[0] != '\0' && file->build_id[0] != '\0')
		return strcmp(file->build_id, key->build_id) == 0;
	return number != BY_BUILD_ID && has_checksum(file, key->checksum);
}

int hs_debug_file_open(struct hs_elf_file *file, const struct hs_debug_key *key)
{
	char path[PATH_MAX];
	int result = -ENOENT;

	for (unsigned number = 0; number < HS_DEBUG_PATHS; number++) {
		int error = -ENOENT;

		if (hs_debug_file_path(key, number, path))
			error = hs_elf_file_open(file, path);
		if (hs_elf_file_is_shortage(error))
			result = error;
		if (error < 0)
			continue;
		if (belongs(file, key, number))
			return 0;
		hs_elf_file_close(file);
	}
	return result;
}

uint64_t hs_debug_file_version(const struct hs_debug_key *key)
{
	uint64_t version = 0;
	char path[PATH_MAX];

	for (unsigned number = 0; number < HS_DEBUG_PATHS; number++) {
		struct stat status;

		if (!hs_debug_file_path(key, number, path) || hs_sys_stat(path, &status) < 0 ||
		    is_object(key, status.st_dev, status.st_ino))
			continue;
		version = hs_hash_add(version + number + 1, status.st_ino);
		version = hs_hash_add(version, hs_file_version(&status));
	}
	return version;
}
