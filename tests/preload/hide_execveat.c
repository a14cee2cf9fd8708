/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library that hides libc's execveat() from dlsym(RTLD_NEXT), as if libc had none (glibc before
 * 2.34).
 */
#include <dlfcn.h>
#include <string.h>

/* RTLD_NEXT depends on the address that dlsym() returns to: the last call must be a jump. */
__attribute__((optimize("optimize-sibling-calls"))) void *dlsym(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);

	if (next == NULL)
		*(void **)(void *)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	if (handle == RTLD_NEXT && strcmp(name, "execveat") == 0)
		return NULL;
	return next(handle, name);
}
