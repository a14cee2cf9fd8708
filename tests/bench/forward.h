/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bodies of null.c, floor.c and capture_floor.c: malloc's family, forwarded to the next
 * definition.
 * The includer defines before it
 *
 *     static inline void count_allocation(size_t bytes);
 *     static inline void look_up(const void *block);      what is freed
 */
#ifndef HS_BENCH_FORWARD_H
#define HS_BENCH_FORWARD_H

#include "next.h"

EXPORT void *malloc(size_t size)
{
	count_allocation(size);
	return next.malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	count_allocation(count * size);
	return next.calloc(count, size);
}

EXPORT void *realloc(void *block, size_t size)
{
	look_up(block);
	count_allocation(size);
	return next.realloc(block, size);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t size)
{
	count_allocation(size);
	return next.posix_memalign(out, alignment, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	count_allocation(size);
	return next.aligned_alloc(alignment, size);
}

EXPORT void free(void *block)
{
	look_up(block);
	next.free(block);
}

#endif
