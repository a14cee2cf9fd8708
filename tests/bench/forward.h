/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that null.c, floor.c and capture_floor.c define: malloc's family, each of which
 * calls the next definition.
 *
 * The includer defines first:
 *
 *     static inline bool count_allocation(size_t bytes);   returns whether it is a sample
 *     static void *enter_sample(void *block);              records a sample; returns block
 *     static inline void look_up(const void *block);       called for each block that is freed
 */
#ifndef HS_BENCH_FORWARD_H
#define HS_BENCH_FORWARD_H

#include <stdbool.h>

#include "next.h"

/* Returns the block of the next definition; by a jump if it is not a sample. */
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
