/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bodies of null.c, floor.c and capture_floor.c: malloc's family, forwarded to the next
 * definition.
 * The includer defines before it
 *
 *     static inline bool count_allocation(size_t bytes);   whether it is a sample
 *     static void *enter_sample(void *block);              the sample, made; returns block
 *     static inline void look_up(const void *block);       what is freed
 */
#ifndef HS_BENCH_FORWARD_H
#define HS_BENCH_FORWARD_H

#include <stdbool.h>

#include "next.h"

/* The next definition's block, which is a sample or not. */
#define FORWARD(bytes, call)                                                                       \
	do {                                                                                       \
		if (__builtin_expect(count_allocation(bytes), false))                              \
			return enter_sample(call);                                                 \
		return call;                                                                       \
	} while (0)

EXPORT void *malloc(size_t size)
{
	FORWARD(size, next.malloc(size));
}

EXPORT void *calloc(size_t count, size_t size)
{
	FORWARD(count * size, next.calloc(count, size));
}

EXPORT void *realloc(void *block, size_t size)
{
	look_up(block);
	FORWARD(size, next.realloc(block, size));
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t size)
{
	int error = next.posix_memalign(out, alignment, size);

	if (error == 0 && count_allocation(size))
		enter_sample(*out);
	return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	FORWARD(size, next.aligned_alloc(alignment, size));
}

EXPORT void free(void *block)
{
	look_up(block);
	next.free(block);
}

#endif
