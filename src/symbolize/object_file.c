/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of mapped objects.  See object_file.h for the contract. */
#include "symbolize/object_file.h"

#include <errno.h>
#include <stddef.h>

#include "base/format.h"

static int try(struct hs_elf_file *file, const char *path, const struct hs_mapping *object)
{
	int result = hs_elf_file_open(file, path);

	if (result < 0)
		return result;
	if (file->type == ET_REL && (object->flags & HS_MAPPING_HINT) == 0)
		result = -ENOEXEC;
	else if (!hs_mapping_is_of_file(object, file))
		result = -ESTALE;
	if (result < 0)
		hs_elf_file_close(file);
	return result;
}

enum { AT_PATH, PROGRAM, MAPPED };

const char *hs_object_file_path(const struct hs_mapping *object, unsigned number,
				char room[HS_OBJECT_PATH_BYTES])
{
	switch (number) {
	case AT_PATH:
		return (object->flags & HS_MAPPING_FILE) != 0 ? object->path : NULL;
	case PROGRAM:
		return (object->flags & HS_MAPPING_MAIN) != 0 ? "/proc/thread-self/exe" : NULL;
	case MAPPED:
		hs_format(room, HS_OBJECT_PATH_BYTES, "/proc/self/map_files/%llx-%llx",
			  (unsigned long long)object->start, (unsigned long long)object->end);
		return object->end > 0 ? room : NULL;
	default:
		return NULL;
	}
}

int hs_object_file_open(struct hs_elf_file *file, const struct hs_mapping *object)
{
	char room[HS_OBJECT_PATH_BYTES];
	int result = -ENOENT;

	for (unsigned number = 0; number < HS_OBJECT_PATHS; number++) {
		const char *path = hs_object_file_path(object, number, room);
		int error = path != NULL ? try(file, path, object) : -ENOENT;

		if (error == 0)
			return number == AT_PATH ? 0 : 1;
		if (number == AT_PATH)
			result = error;
	}
	return result;
}
