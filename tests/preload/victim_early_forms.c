/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library that has some forms of operator new and delete, as -DLIBRARY, calls another form in its
 * constructor.  The program's dlsym() calls that too, as another thread might meanwhile.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *_Znwm(size_t bytes);
void *_Znam(size_t bytes) __attribute__((weak));
void _ZdlPv(void *block);
void allocate(void);

#ifdef LIBRARY

void *_Znwm(size_t bytes)
{
	return malloc(bytes);
}

void _ZdlPv(void *block)
{
	free(block);
}

void allocate(void)
{
	if (_Znam != NULL)
		_ZdlPv(_Znam(10));
}

__attribute__((constructor)) static void begin(void)
{
	allocate();
}

#else

/* Ends with a jump: libc's looks at its caller. */
void *dlsym(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);

	if (next == NULL)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (next == NULL)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	if (strncmp(name, "_Zd", 3) == 0)
		allocate();
	return next(handle, name);
}

int main(void)
{
	allocate();
	puts("ok");
	return 0;
}

#endif
