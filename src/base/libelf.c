/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens and reads ELF objects with libelf (see libelf.h), and defines, hidden, functions that
 * libelf.a calls.
 * All in one file, so that whatever opens objects is linked with them.
 *
 * - Those of its elf_error.o.  That archive member keeps its error number in thread-local storage
 *   of the local-exec model, which a shared object cannot have.  The linker leaves it out when its
 *   symbols are defined already.  No error number is kept: ours say as much.
 * - Those of a tree of what elf_getdata_rawchunk() has read, which elfutils since 0.192 calls for
 *   each object and Debian 13's archive lacks.  We do not call that function: the tree is empty.
 * - The system calls that read files: the program may have replaced libc's, and tests inject
 *   failures into ours (base/sys.h).
 */

/* With these, which compilers may be given, headers call pread() and the like pread64(). */
#undef _FILE_OFFSET_BITS
#undef _TIME_BITS

#include "base/libelf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/elf_header.h"
#include "base/sys.h"

/* Of libelf's own headers, which are not installed. */
void __libelf_seterrno(int value);
void eu_search_tree_init(void *tree);
void eu_search_tree_fini(void *tree, void (*free_node)(void *node));

Elf *hs_libelf_open(int fd)
{
	elf_version(EV_CURRENT);
	return elf_begin(fd, ELF_C_READ, NULL);
}

Elf *hs_libelf_open_image(char *image, size_t bytes)
{
	elf_version(EV_CURRENT);
	return elf_memory(image, bytes);
}

uint16_t hs_libelf_type(Elf *elf)
{
	GElf_Ehdr header;

	if (elf == NULL || elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == NULL ||
	    !hs_elf_header_is_ours(&header))
		return ET_NONE;
	return header.e_type == ET_EXEC || header.e_type == ET_DYN || header.e_type == ET_REL
		       ? header.e_type
		       : ET_NONE;
}

Elf_Scn *hs_libelf_find_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		const char *text = gelf_getshdr(section, header) != NULL
					   ? elf_strptr(elf, names, header->sh_name)
					   : NULL;

		if (text != NULL && strcmp(text, name) == 0)
			return section;
	}
	return NULL;
}

Elf_Scn *hs_libelf_find_text(Elf *elf, GElf_Shdr *header)
{
	Elf_Scn *found = hs_libelf_find_section(elf, ".text", header), *section = NULL;
	GElf_Shdr each;

	if (found != NULL && header->sh_size != 0)
		return found;
	found = NULL;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		if (gelf_getshdr(section, &each) == NULL || (each.sh_flags & SHF_EXECINSTR) == 0 ||
		    each.sh_size == 0)
			continue;
		if (found != NULL)
			return NULL;
		found = section;
		*header = each;
	}
	return found;
}

static __thread bool has_failed;

bool hs_libelf_take_failure(void)
{
	bool failed = has_failed;

	has_failed = false;
	return failed;
}

void hs_libelf_note_failure(void)
{
	has_failed = true;
}

void __libelf_seterrno(int value)
{
	(void)value;
}

int elf_errno(void)
{
	return 0;
}

void eu_search_tree_init(void *tree)
{
	(void)tree;
}

void eu_search_tree_fini(void *tree, void (*free_node)(void *node))
{
	(void)tree, (void)free_node;
}

static long with_errno(long result)
{
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

ssize_t pread(int fd, void *buffer, size_t bytes, off_t offset)
{
	ssize_t result = hs_sys_pread(fd, buffer, bytes, (uint64_t)offset);

	if (result < 0)
		hs_libelf_note_failure();
	return with_errno(result);
}

int fstat(int fd, struct stat *out)
{
	return (int)with_errno(hs_sys_fstat(fd, out));
}

int fcntl(int fd, int command, ...)
{
	va_list arguments;
	long argument;

	va_start(arguments, command);
	argument = va_arg(arguments, long);
	va_end(arguments);
	return (int)with_errno(hs_syscall(SYS_fcntl, fd, command, argument, 0, 0, 0));
}
