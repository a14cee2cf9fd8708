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
	hs_sys_close(call.fd);
	return result;
}

static void add_segment(struct hs_hint_object *object, const GElf_Phdr *header)
{
	if (header->p_type != PT_LOAD || (header->p_flags & PF_X) == 0 || header->p_filesz == 0 ||
	    header->p_offset > INT64_MAX || header->p_filesz > INT64_MAX - header->p_offset ||
	    object->segment_count == HS_HINT_OBJECT_SEGMENTS)
		return;
	object->segments[object->segment_count++] = (struct hs_hint_segment){
		.offset = header->p_offset,
		.bytes = header->p_filesz,
		.address = header->p_vaddr,
	};
}

static int read_segments(void *context, Elf *elf)
{
	struct hs_hint_object *object = context;
	GElf_Phdr header;
	size_t count = 0;

	if (hs_libelf_type(elf) == ET_REL || elf_getphdrnum(elf, &count) != 0)
		return 0;
	for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &header) != NULL; i++)
		add_segment(object, &header);
	return 0;
}

int hs_hint_object_read(const char *path, struct hs_hint_object *object)
{
	struct stat file;
	int result;

	memset(object, 0, sizeof *object);
	result = hs_hint_object_use(path, &file, read_segments, object);
	object->device = file.st_dev;
	object->inode = file.st_ino;
	return result;
}
