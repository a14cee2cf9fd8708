/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slow halves of the interposed functions.
 *
 * The fast path in interposer.c jumps to hs_entry_NAME (entries.S) when an allocation may have to
 * be sampled.  That saves the caller's registers and calls hs_slow_NAME with the same arguments and
 * then the registers (see arch/x86_64/entry.h).
 */
#ifndef HS_PRELOAD_SLOW_H
#define HS_PRELOAD_SLOW_H

#include <stddef.h>

#include "arch/regs.h"
#include "base/visibility.h"
#include "preload/next_alloc.h"
#include "sample/thread_state.h"

/* X(result, name, arguments). */
#define HS_SLOW_C(X)                                                                               \
	X(void *, malloc, (size_t size))                                                           \
	X(void *, calloc, (size_t count, size_t size))                                             \
	X(void *, realloc, (void *block, size_t size))                                             \
	X(int, posix_memalign, (void **out, size_t alignment, size_t size))                        \
	X(void *, aligned_alloc, (size_t alignment, size_t size))                                  \
	X(void *, memalign, (size_t alignment, size_t size))                                       \
	X(void *, valloc, (size_t size))                                                           \
	X(void *, pvalloc, (size_t size))                                                          \
	X(void *, mallocx, (size_t size, int flags))                                               \
	X(void *, rallocx, (void *block, size_t size, int flags))                                  \
	X(size_t, xallocx, (void *block, size_t size, size_t extra, int flags))

#define HS_ENTRY_PROTOTYPE(result, name, arguments)                                                \
	HS_HIDDEN result hs_entry_##name arguments;
HS_SLOW_C(HS_ENTRY_PROTOTYPE)
#undef HS_ENTRY_PROTOTYPE

#define HS_ENTRY_PROTOTYPE(name, arguments, names)                                                 \
	HS_HIDDEN void *hs_entry_##name arguments;
HS_NEXT_NEW(HS_ENTRY_PROTOTYPE)
#undef HS_ENTRY_PROTOTYPE

/*
 * The size that the program asked for.  An operator new of the C++ library rounds it up to the
 * alignment before it calls aligned_alloc(); what our operator new has noted before (plus 1, in
 * hs_thread.requested_size) is taken if rounding it may have given `size`.
 */
static inline size_t hs_requested_size(size_t alignment, size_t size)
{
	uint64_t noted = hs_thread.requested_size;

	return noted == 0 || size - (noted - 1) > alignment ? size : noted - 1;
}

/* free() of a block that may be a sample, or is the arena's. */
void hs_slow_free(void *block);

#endif
