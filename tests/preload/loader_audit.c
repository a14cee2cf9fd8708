/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An audit library (LD_AUDIT) that is told of each object, each binding and each call through the
 * PLT.  The loader gives it a namespace with a libc of its own; it allocates there.
 */
#include <link.h>
#include <stdlib.h>

static _Atomic long calls;

unsigned int la_version(unsigned int version)
{
	(void)version;
	return LAV_CURRENT;
}

unsigned int la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
	(void)map, (void)namespace, (void)cookie;
	free(malloc(100));
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int index, uintptr_t *from, uintptr_t *to,
		       unsigned int *flags, const char *name)
{
	(void)index, (void)from, (void)to, (void)flags, (void)name;
	return symbol->st_value;
}

#ifdef __x86_64__
/* A frame size makes the loader copy the frame and call the function instead of jumping to it. */
Elf64_Addr la_x86_64_gnu_pltenter(Elf64_Sym *symbol, unsigned int index, uintptr_t *from,
				  uintptr_t *to, La_x86_64_regs *registers, unsigned int *flags,
				  const char *name, long int *frame)
{
	(void)index, (void)from, (void)to, (void)registers, (void)flags, (void)name;
	calls++;
	*frame = 64;
	return symbol->st_value;
}
#endif
