/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library that makes libc one without execveat(), as glibc before 2.34: the next one is
 * not found.
 */
#include <dlfcn.h>
#include <string.h>

/* dlsym() goes by the address it returns to: the last call must be a jump. */
__attribute__((optimize("optimize-sibling-calls"))) void *dlsym(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);

	if (next == NULL)
		*(void **)(void *)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	if (handle == RTLD_NEXT && strcmp(name, "execveat") == 0)
		return NULL;
	return next(handle, name);
}
