/* SPDX-License-Identifier: BSD-2-Clause */
/* For preloaded libraries: the next definitions of malloc's family. */
#ifndef HS_BENCH_NEXT_H
#define HS_BENCH_NEXT_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static void *first_malloc(size_t size);
static void *first_calloc(size_t count, size_t size);
static void *first_realloc(void *block, size_t size);
static int first_posix_memalign(void **out, size_t alignment, size_t size);
static void *first_aligned_alloc(size_t alignment, size_t size);
static void first_free(void *block);

/* At first these are functions that look up the next definitions, so no call has to check. */
static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void (*free)(void *);
} next = {
	first_malloc,         first_calloc,        first_realloc,
	first_posix_memalign, first_aligned_alloc, first_free,
};

static void find_next(void)
{
	*(void **)&next.malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&next.calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&next.realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&next.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	*(void **)&next.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	*(void **)&next.free = dlsym(RTLD_NEXT, "free");
}

static void *first_malloc(size_t size)
{
	find_next();
	return next.malloc(size);
}

/* dlsym() of an old glibc calls calloc() itself, and copes with NULL. */
static void *first_calloc(size_t count, size_t size)
{
	static int asked;

	if (asked++ > 0)
		return NULL;
	find_next();
	return next.calloc(count, size);
}

static void *first_realloc(void *block, size_t size)
{
	find_next();
	return next.realloc(block, size);
}

static int first_posix_memalign(void **out, size_t alignment, size_t size)
{
	find_next();
	return next.posix_memalign(out, alignment, size);
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	find_next();
	return next.aligned_alloc(alignment, size);
}

static void first_free(void *block)
{
	find_next();
	next.free(block);
}

#endif
