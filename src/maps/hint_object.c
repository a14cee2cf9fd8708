/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the program headers of hinted objects. */
#include "maps/hint_object.h"

#include <string.h>

#include "base/assertion.h"
#include "base/file_version.h"
#include "base/sys.h"

/* hs_hint_object_use() with the file open. */
struct call {
	const char *path;
	struct hs_elf_file file;
	hs_hint_object_fn use;
	void *context;
};

static int use_file(void *context)
{
	struct call *call = context;
	int result = hs_elf_file_open(&call->file, call->path);

	if (result < 0)
		return result;
	result = call->use(call->context, &call->file);
	hs_elf_file_close(&call->file);
	return result;
}

int hs_hint_object_use(const char *path, hs_hint_object_fn use, void *context)
{
	struct call call = {
		.path = path,
		.file = HS_ELF_FILE_CLOSED,
		.use = use,
		.context = context,
	};
	int result = hs_assertion_catch(use_file, &call);

	hs_elf_file_abandon(&call.file);
	return result;
}

static int read_file(void *context, const struct hs_elf_file *file)
{
	struct hs_hint_object *object = context;

	object->device = file->device;
	object->inode = file->inode;
	object->version = file->build_id[0] == '\0' ? file->version : 0;
	memcpy(object->build_id, file->build_id, sizeof object->build_id);
	object->is_relocatable = file->type == ET_REL;
	if (!object->is_relocatable)
		hs_elf_code_read(&object->code, file->elf);
	return 0;
}

int hs_hint_object_read(const char *path, struct hs_hint_object *object)
{
	struct stat file;
	int result;

	memset(object, 0, sizeof *object);
	result = hs_hint_object_use(path, read_file, object);
	if (hs_elf_file_is_shortage(result) && hs_sys_stat(path, &file) == 0) {
		object->device = file.st_dev;
		object->inode = file.st_ino;
		object->version = hs_file_version(&file);
	}
	return result;
}
