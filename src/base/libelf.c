/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens objects with libelf (see libelf.h), and has what libelf.a is to find in this library,
 * hidden, instead of elsewhere.  In one file: who opens objects is linked with the rest then.
 *
 * Its own elf_error.o: the error number is in thread-local storage of a kind (local-exec)
 * that only a program itself can have, so that archive member cannot be linked into a
 * shared object.  A member is not taken when its symbols are there already.  The number
 * says nothing to a user that our errors do not say, so none is kept.
 *
 * A tree of the pieces that elf_getdata_rawchunk() reads: elfutils since 0.192 begins and ends one
 * with each object, by functions that Debian 13's archive does not have.  That is not called, so
 * it is empty.
 *
 * The system calls of reading: the C library's may be replaced in the program, and go
 * round the seam for failures (base/sys.h).
 */
#include "base/libelf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	return with_errno(hs_sys_pread(fd, buffer, bytes, (uint64_t)offset));
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
