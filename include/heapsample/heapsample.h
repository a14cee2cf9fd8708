/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libheapsample: a sampling heap profiler that is preloaded into a program.
 *
 * The profiler needs nothing of the program.  This header is for programs that
 * want to know whether it is there, or have to tell it something.  Include it, and
 * link nothing (before glibc 2.34: -ldl).
 *
 * heapsample_version() is declared weak: compare it with NULL before the call.
 *
 *     if (heapsample_version)
 *         printf("profiled by libheapsample %s\n", heapsample_version());
 *
 * The other functions can be called in any case.  Where the library is not preloaded they
 * do nothing and return -ENOSYS.
 */
#ifndef HEAPSAMPLE_HEAPSAMPLE_H
#define HEAPSAMPLE_HEAPSAMPLE_H

/* The version, here and nowhere else: configure.ac and the library read it. */
#define HEAPSAMPLE_VERSION_MAJOR 0
#define HEAPSAMPLE_VERSION_MINOR 1
#define HEAPSAMPLE_VERSION_PATCH 0

#ifndef HEAPSAMPLE_IN_LIBRARY
#include <dlfcn.h>
#include <errno.h>
#endif
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Return the version of the preloaded library as "MAJOR.MINOR.PATCH".
 *
 * The string is static.  Any thread may call it, in a signal handler too; it
 * does not allocate, block or touch errno.
 */
extern const char *heapsample_version(void) __attribute__((weak));

#ifdef HEAPSAMPLE_IN_LIBRARY

int heapsample_map_hint(const char *objfile, const void *start, size_t length, uint64_t offset);
int heapsample_unmap_hint(const void *start, size_t length);

#else

/*
 * The library's function of a name, or NULL.  found: what is known of it; looked up
 * once, for a library cannot be preloaded later.
 */
static __inline__ void *heapsample_find_(void **found, const char *name)
{
	static char none;
	void *function = __atomic_load_n(found, __ATOMIC_RELAXED);

	if (function == 0) {
		/* RTLD_DEFAULT, which not every C mode declares. */
		function = dlsym((void *)0, name);
		__atomic_store_n(found, function ? function : (void *)&none, __ATOMIC_RELAXED);
	}
	return function == (void *)&none ? (void *)0 : function;
}

/*
 * Say that [start, start + length) holds code of the file objfile, from its byte `offset` on:
 * code that the program has copied there itself.  For an ET_REL object (a .o file) offset
 * counts from the start of its text section.  Call it after the copy and before the code
 * runs.  Samples taken from then on have the object's names, and stacks unwound by its
 * .eh_frame.
 *
 * The hint wins over what is mapped there, and over earlier hints where they overlap.  It
 * holds until heapsample_unmap_hint(), in forked children too, and not in a program
 * that the process executes.  objfile is copied; a relative name is looked for in
 * the directory in which the program started; the file is read when it is needed.
 *
 * Returns 0; -EINVAL (no objfile; length 0 or above 4 GiB; an end that wraps);
 * -ENAMETOOLONG; -EAGAIN: too much is waiting for the profiler's thread, the hint is not
 * taken; -ENOSYS: the process is not profiled.
 *
 * Any thread may call it, in a signal handler too once it has been called outside of one.
 * It does not wait or touch errno.  Where the library is not preloaded, its first call is a
 * dlsym() that fails, which dlerror() tells.
 */
static __inline__ int heapsample_map_hint(const char *objfile, const void *start, size_t length,
					  uint64_t offset)
{
	static void *found;
	int (*function)(const char *, const void *, size_t, uint64_t);
	void *address = heapsample_find_(&found, "heapsample_map_hint");

	if (!address)
		return -ENOSYS;
	__builtin_memcpy(&function, &address, sizeof function);
	return function(objfile, start, length, offset);
}

/*
 * Say that [start, start + length) holds no hinted code any more, before the memory is used
 * for something else.  Hints that reach out of it keep what is outside.  Samples
 * taken before keep their names.  Returns as above.
 */
static __inline__ int heapsample_unmap_hint(const void *start, size_t length)
{
	static void *found;
	int (*function)(const void *, size_t);
	void *address = heapsample_find_(&found, "heapsample_unmap_hint");

	if (!address)
		return -ENOSYS;
	__builtin_memcpy(&function, &address, sizeof function);
	return function(start, length);
}

#endif

#ifdef __cplusplus
}
#endif

#endif
