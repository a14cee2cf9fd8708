/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the program headers of hinted objects. */
#include "maps/hint_object.h"

#include <string.h>

#include "base/elf_file.h"
#include "base/file_version.h"
#include "base/sys.h"

struct reading {
	const char *path;
	struct hs_hint_object *object;
};

static int read_file(void *context, struct hs_elf_file *file)
{
	const struct reading *reading = context;
	struct hs_hint_object *object = reading->object;
	int result = hs_elf_file_open(file, reading->path);

	if (result < 0)
		return result;
	object->device = file->descriptor.device;
	object->inode = file->descriptor.inode;
	object->version = file->build_id[0] == '\0' ? file->version : 0;
	memcpy(object->build_id, file->build_id, sizeof object->build_id);
	object->is_relocatable = file->type == ET_REL;
	if (!object->is_relocatable)
		hs_elf_code_read(&object->code, file->elf);
	return 0;
}

int hs_hint_object_read(const char *path, struct hs_hint_object *object)
{
	struct reading reading = {path, object};
	struct stat file;
	int result;

	memset(object, 0, sizeof *object);
	result = hs_elf_file_use(read_file, &reading);
	if (hs_elf_file_is_shortage(result) && hs_sys_stat(path, &file) == 0) {
		object->device = file.st_dev;
		object->inode = file.st_ino;
		object->version = hs_file_version(&file);
	}
	return result;
}
