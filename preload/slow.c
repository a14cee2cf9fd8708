/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slow halves of the interposed C functions.  See slow.h.
 *
 * Each calls the next definition first and records afterwards: the result never depends on us, and
 * an operator new that throws leaves nothing behind.  On profiler threads memory comes from the
 * arena.
 */
#include "preload/slow.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/hot.h"
#include "base/likely.h"
#include "base/sys.h"
#include "sample/live_index.h"
#include "sample/recorder.h"
#include "sample/thread_state.h"
#include "session/session.h"

/* The arena's limit where dlsym() allocates before the options are read (glibc before 2.34). */
#define EARLY_BUDGET_BYTES ((size_t)256 << 20)

/* jemalloc's flags: the logarithm of the alignment in the low bits, and whether to clear. */
#define MALLOCX_LG_ALIGN_MASK 63
#define MALLOCX_ZERO 64

/* What every malloc() of this machine aligns to. */
#define MALLOC_ALIGNMENT 16u

/* As malloc does.  pthread_create() aborts if memory runs out and errno does not say so. */
static void *or_errno(void *block)
{
	if (block == NULL)
		errno = ENOMEM;
	return block;
}

static bool has_arena(void)
{
	return hs_arena_range.bytes != 0 || hs_arena_init(EARLY_BUDGET_BYTES) == 0;
}

/* Memory for a call that cannot reach the program's allocator. */
static void *own_memory(size_t size)
{
	void *block = NULL;

	if (hs_on_profiler_thread())
		block = hs_arena_alloc(size);
	else if (hs_next_is_resolving() && has_arena())
		block = hs_arena_bootstrap_alloc(size);
	return or_errno(block);
}

/*
 * Whether the call may go to the next definition: the thread is not the profiler's, and the next
 * definitions are known.  They are not inside the first look-up.
 */
static HS_SAMPLE_CODE bool can_pass(void)
{
	if (hs_on_profiler_thread())
		return false;
	hs_record_fetch();
	if (hs_unlikely(!hs_next.resolved))
		hs_next_resolve();
	return hs_next.resolved;
}

HS_SAMPLE_CODE void *hs_slow_malloc(size_t size, void *b, void *c, const struct hs_regs *regs);
void *hs_slow_malloc(size_t size, void *b, void *c, const struct hs_regs *regs)
{
	void *block;

	(void)b, (void)c;
	if (!can_pass())
		return own_memory(size);
	block = hs_allocator.malloc(size);
	hs_session_record(block, size, regs);
	return block;
}

HS_SAMPLE_CODE void *hs_slow_calloc(size_t count, size_t size, void *c, const struct hs_regs *regs);
void *hs_slow_calloc(size_t count, size_t size, void *c, const struct hs_regs *regs)
{
	size_t bytes;
	void *block;

	(void)c;
	if (!can_pass()) {
		if (__builtin_mul_overflow(count, size, &bytes))
			return NULL;
		block = own_memory(bytes);
		return block != NULL ? memset(block, 0, bytes) : NULL;
	}
	block = hs_allocator.calloc(count, size);
	hs_session_record(block, count * size, regs);
	return block;
}

/* Reallocates an arena block.  On a thread of the program it moves to the program's heap. */
static void *realloc_arena_block(void *block, size_t size)
{
	size_t keep = hs_arena_usable_size(block);
	void *moved;

	if (hs_on_profiler_thread())
		return or_errno(hs_arena_realloc(block, size));
	moved = can_pass() ? hs_allocator.malloc(size) : own_memory(size);
	if (moved == NULL)
		return NULL;
	memcpy(moved, block, keep < size ? keep : size);
	hs_arena_free_from_host(block);
	return moved;
}

/* Shared by realloc and rallocx.  frees_at_zero: size 0 means free, as in glibc. */
static void *record_moved(uint32_t token, void *moved, size_t size, bool frees_at_zero,
			  const struct hs_regs *regs)
{
	hs_record_move_end(token, moved != NULL || (size == 0 && frees_at_zero));
	hs_session_record(moved, size, regs);
	return moved;
}

void *hs_slow_realloc(void *block, size_t size, void *c, const struct hs_regs *regs);
void *hs_slow_realloc(void *block, size_t size, void *c, const struct hs_regs *regs)
{
	uint32_t token;

	(void)c;
	if (hs_arena_owns(block))
		return realloc_arena_block(block, size);
	if (!can_pass())
		return block == NULL ? own_memory(size) : hs_allocator.realloc(block, size);
	token = hs_record_move_begin(block);
	return record_moved(token, hs_allocator.realloc(block, size), size, block != NULL, regs);
}

void *hs_slow_rallocx(void *block, size_t size, int flags, const struct hs_regs *regs);
void *hs_slow_rallocx(void *block, size_t size, int flags, const struct hs_regs *regs)
{
	uint32_t token;
	void *moved;

	hs_next_resolve_new();
	token = hs_record_move_begin(block);
	/* realloc cannot obey the flags. */
	moved = hs_next.rallocx != NULL ? hs_next.rallocx(block, size, flags)
					: hs_allocator.realloc(block, size);
	return record_moved(token, moved, size, false, regs);
}

/*
 * Resizes in place or not at all.  In place counts as freed and allocated, as in realloc.  A
 * function of its own, so that its frame is gone before the stack is captured.
 */
static __attribute__((noinline)) size_t resize(void *block, size_t size, size_t extra, int flags)
{
	uint32_t token;
	size_t result;

	hs_next_resolve_new();
	if (hs_next.xallocx == NULL)
		return hs_next.malloc_usable_size(block);
	token = hs_record_move_begin(block);
	result = hs_next.xallocx(block, size, extra, flags);
	hs_record_move_end(token, result >= size);
	return result;
}

size_t hs_slow_xallocx(void *block, size_t size, size_t extra, int flags,
		       const struct hs_regs *regs);
size_t hs_slow_xallocx(void *block, size_t size, size_t extra, int flags,
		       const struct hs_regs *regs)
{
	size_t result = resize(block, size, extra, flags);

	if (hs_next.xallocx != NULL)
		hs_session_record(result >= size ? block : NULL, size, regs);
	return result;
}

/* mallocx where the allocator is not jemalloc. */
static void *mallocx_from_malloc(size_t size, int flags)
{
	size_t alignment = (size_t)1 << (flags & MALLOCX_LG_ALIGN_MASK);
	void *block;

	if (alignment > MALLOC_ALIGNMENT)
		block = hs_next.memalign(alignment, size);
	else
		block = hs_allocator.malloc(size);
	return block != NULL && (flags & MALLOCX_ZERO) != 0 ? memset(block, 0, size) : block;
}

void *hs_slow_mallocx(size_t size, int flags, void *c, const struct hs_regs *regs);
void *hs_slow_mallocx(size_t size, int flags, void *c, const struct hs_regs *regs)
{
	void *block;

	(void)c;
	hs_next_resolve_new();
	if (hs_next.mallocx != NULL)
		block = hs_next.mallocx(size, flags);
	else
		block = mallocx_from_malloc(size, flags);
	hs_session_record(block, size, regs);
	return block;
}

int hs_slow_posix_memalign(void **out, size_t alignment, size_t size, const struct hs_regs *regs);
int hs_slow_posix_memalign(void **out, size_t alignment, size_t size, const struct hs_regs *regs)
{
	int error;

	if (!can_pass()) {
		void *block = hs_arena_aligned_alloc(alignment, size);

		if (block != NULL)
			*out = block;
		return block != NULL ? 0 : ENOMEM;
	}
	HS_NEXT_ENSURE(posix_memalign);
	error = hs_next.posix_memalign(out, alignment, size);
	hs_session_record(error == 0 ? *out : NULL, size, regs);
	return error;
}

#define SLOW_ALIGNED(name)                                                                         \
	void *hs_slow_##name(size_t alignment, size_t size, void *c, const struct hs_regs *regs);  \
	void *hs_slow_##name(size_t alignment, size_t size, void *c, const struct hs_regs *regs)   \
	{                                                                                          \
		size_t requested = hs_requested_size(alignment, size);                             \
		void *block;                                                                       \
												   \
		(void)c;                                                                           \
		hs_thread.requested_size = 0;                                                      \
		if (!can_pass())                                                                   \
			return or_errno(hs_arena_aligned_alloc(alignment, size));                  \
		HS_NEXT_ENSURE(name);                                                              \
		block = hs_next.name(alignment, size);                                             \
		hs_session_record(block, requested, regs);                                         \
		return block;                                                                      \
	}
SLOW_ALIGNED(aligned_alloc)
SLOW_ALIGNED(memalign)

#define SLOW_PAGES(name)                                                                           \
	void *hs_slow_##name(size_t size, void *b, void *c, const struct hs_regs *regs);           \
	void *hs_slow_##name(size_t size, void *b, void *c, const struct hs_regs *regs)            \
	{                                                                                          \
		void *block;                                                                       \
												   \
		(void)b, (void)c;                                                                  \
		if (!can_pass())                                                                   \
			return or_errno(hs_arena_aligned_alloc(HS_PAGE_BYTES, size));              \
		HS_NEXT_ENSURE(name);                                                              \
		block = hs_next.name(size);                                                        \
		hs_session_record(block, size, regs);                                              \
		return block;                                                                      \
	}
SLOW_PAGES(valloc)
SLOW_PAGES(pvalloc)

/* Not inlined, so that hs_slow_free() needs no frame for a block that is not special after all. */
static __attribute__((noinline)) void free_special(void *block)
{
	if (hs_likely(!hs_arena_owns(block))) {
		hs_record_free_id(HS_HEAP_MALLOC, (uintptr_t)block);
		hs_allocator.free(block);
	} else if (hs_on_profiler_thread()) {
		hs_arena_free(block);
	} else {
		hs_arena_free_from_host(block);
	}
}

HS_SAMPLE_CODE void hs_slow_free(void *block)
{
	if (hs_live_index_may_hold(hs_live_key(HS_HEAP_MALLOC, (uintptr_t)block)) ||
	    hs_arena_owns(block))
		free_special(block);
	else
		hs_allocator.free(block);
}
