/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the program headers of hinted objects. */
#include "maps/hint_object.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <string.h>

#include "arch/unwind.h"
#include "base/assertion.h"
#include "base/libelf.h"
#include "base/sys.h"

static bool is_usable(Elf *elf)
{
	const char *ident = elf_getident(elf, NULL);
	GElf_Ehdr header;

	return elf_kind(elf) == ELF_K_ELF && ident != NULL && ident[EI_CLASS] == ELFCLASS64 &&
	       ident[EI_DATA] == ELFDATA2LSB && gelf_getehdr(elf, &header) != NULL &&
	       header.e_machine == HS_ARCH_ELF_MACHINE &&
	       (header.e_type == ET_REL || header.e_type == ET_DYN || header.e_type == ET_EXEC);
}

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

	if (elf != NULL && is_usable(elf))
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
	GElf_Ehdr file_header;
	GElf_Phdr header;
	size_t count = 0;

	if (gelf_getehdr(elf, &file_header) == NULL || file_header.e_type == ET_REL ||
	    elf_getphdrnum(elf, &count) != 0)
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
