/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libelf.a is to find in this library, hidden, instead of elsewhere.
 *
 * Its own elf_error.o: the error number is in thread-local storage of a kind (local-exec)
 * that only a program itself can have, so that archive member cannot be linked into a
 * shared object.  A member is not taken when its symbols are there already.  The number
 * says nothing to a user that our errors do not say, so none is kept.
 *
 * The system calls of reading: the C library's may be replaced in the program, and go
 * round the seam for failures (base/sys.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sys.h"

/* Of libelf's own headers, which are not installed. */
void __libelf_seterrno(int value);

void __libelf_seterrno(int value)
{
	(void)value;
}

int elf_errno(void)
{
	return 0;
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
