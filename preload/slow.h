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
#include "preload/next.h"
#include "sample/thread_state.h"

HS_HIDDEN void *hs_entry_malloc(size_t size);
HS_HIDDEN void *hs_entry_calloc(size_t count, size_t size);
HS_HIDDEN void *hs_entry_realloc(void *block, size_t size);
HS_HIDDEN int hs_entry_posix_memalign(void **out, size_t alignment, size_t size);
HS_HIDDEN void *hs_entry_aligned_alloc(size_t alignment, size_t size);
HS_HIDDEN void *hs_entry_memalign(size_t alignment, size_t size);
HS_HIDDEN void *hs_entry_valloc(size_t size);
HS_HIDDEN void *hs_entry_pvalloc(size_t size);
HS_HIDDEN void *hs_entry_mallocx(size_t size, int flags);
HS_HIDDEN void *hs_entry_rallocx(void *block, size_t size, int flags);
HS_HIDDEN size_t hs_entry_xallocx(void *block, size_t size, size_t extra, int flags);

#define HS_ENTRY_PROTOTYPE(name, arguments, names)                                                 \
	HS_HIDDEN void *hs_entry_##name arguments;
HS_NEXT_NEW(HS_ENTRY_PROTOTYPE)
#undef HS_ENTRY_PROTOTYPE

/*
 * The size that the program asked for.  An operator new of the C++ library rounds it up to the
 * alignment before it calls aligned_alloc(); what our operator new has noted before (plus 1, in
 * hs_thread.requested_size) is taken if rounding it may have given `size`.  Whoever asks takes the
 * note away: operator new does not come back to it if it throws.
 */
static inline size_t hs_requested_size(size_t alignment, size_t size)
{
	uint64_t noted = hs_thread.requested_size;

	return noted == 0 || size - (noted - 1) > alignment ? size : noted - 1;
}

/* free() of a block that may be a sample, or is the arena's. */
void hs_slow_free(void *block);

#endif
