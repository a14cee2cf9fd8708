/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of mapped objects.  See object_file.h for the contract. */
#include "symbolize/object_file.h"

#include <errno.h>

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

int hs_object_file_open(struct hs_elf_file *file, const struct hs_mapping *object)
{
	char path[64];
	int result = -ENOENT;

	if ((object->flags & HS_MAPPING_FILE) != 0)
		result = try(file, object->path, object);
	if (result == 0)
		return 0;
	if ((object->flags & HS_MAPPING_MAIN) != 0 &&
	    try(file, "/proc/thread-self/exe", object) == 0)
		return 1;
	hs_format(path, sizeof path, "/proc/self/map_files/%llx-%llx",
		  (unsigned long long)object->start, (unsigned long long)object->end);
	return object->end > 0 && try(file, path, object) == 0 ? 1 : result;
}
