/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the program headers of hinted objects. */
#include "maps/hint_object.h"

#include <errno.h>
#include <string.h>

#include "base/assertion.h"
#include "base/libelf.h"
#include "base/sys.h"

/* hs_hint_object_use() with the file open. */
struct call {
	int fd;
	int (*use)(void *context, Elf *elf);
	void *context;
};

static int use_elf(void *context)
{
	const struct call *call = context;
	int result = -ENOEXEC;
	Elf *elf = hs_libelf_open(call->fd);

	if (hs_libelf_type(elf) != ET_NONE)
		result = call->use(call->context, elf);
	elf_end(elf);
	return result;
}

int hs_hint_object_use(const char *path, struct stat *file, int (*use)(void *context, Elf *elf),
		       void *context)
{
	struct call call = {.use = use, .context = context};
	int result;

	memset(file, 0, sizeof *file);
	call.fd = hs_sys_open_regular(path, file);
	if (call.fd < 0)
		return call.fd;
	result = hs_assertion_catch(use_elf, &call);
	(void)hs_sys_close_own(call.fd, file);
	return result;
}

static int read_code(void *context, Elf *elf)
{
	struct hs_hint_object *object = context;

	if (hs_libelf_type(elf) != ET_REL)
		hs_elf_code_read(&object->code, elf);
	return 0;
}

int hs_hint_object_read(const char *path, struct hs_hint_object *object)
{
	struct stat file;
	int result;

	memset(object, 0, sizeof *object);
	result = hs_hint_object_use(path, &file, read_code, object);
	object->device = file.st_dev;
	object->inode = file.st_ino;
	return result;
}
