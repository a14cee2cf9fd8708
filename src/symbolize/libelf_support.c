/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What takes the place of libelf's elf_error.o in this library: its error number is in
 * thread-local storage of a kind (local-exec) that only a program itself can have, so
 * that archive member cannot be linked into a shared object.  An archive member is not
 * taken when its symbols are there already.
 *
 * The number says nothing to a user that our errors do not say, so none is kept.
 */
#include <libelf.h>

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
