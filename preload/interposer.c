/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interposed allocation functions: their fast paths, and nothing else.
 *
 * An allocation that is not sampled is a subtraction and a jump to the next definition; a free of
 * an address that is not sampled is a look at one byte and a jump.  Everything else is in slow.c
 * and cxx_new.c.
 *
 * The file is compiled with -fno-builtin: the compiler must not see through malloc.
 */
#include <errno.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hot.h"
#include "base/likely.h"
#include "preload/slow.h"
#include "sample/live_set.h"
#include "sample/recorder.h"
#include "sample/sampler.h"

/* Whether a block must not go straight to the next free: it may be a sample, or is the arena's. */
static inline bool is_special(const void *block)
{
	return hs_unlikely(hs_live_set_may_hold(block) || hs_arena_owns(block));
}

#define HS_PROTOTYPE(result, name, arguments) HS_EXPORT result name arguments;
HS_NEXT_ALLOCATOR(HS_PROTOTYPE)
HS_NEXT_C(HS_PROTOTYPE)
#undef HS_PROTOTYPE
HS_EXPORT void *reallocarray(void *block, size_t count, size_t size);
HS_EXPORT void cfree(void *block);

/* With free in two cache lines: see base/hot.h. */
HS_SAMPLE_CODE __attribute__((aligned(HS_CACHE_LINE_BYTES))) void *malloc(size_t size)
{
	return hs_sampler_passes(size) ? hs_allocator.malloc(size) : hs_entry_malloc(size);
}

HS_SAMPLE_CODE void free(void *block)
{
	if (is_special(block))
		hs_slow_free(block);
	else
		hs_allocator.free(block);
}

HS_SAMPLE_CODE void *calloc(size_t count, size_t size)
{
	size_t bytes;

	/* On overflow the next definition fails, and nothing is recorded. */
	if (__builtin_mul_overflow(count, size, &bytes) || !hs_sampler_passes(bytes))
		return hs_entry_calloc(count, size);
	return hs_allocator.calloc(count, size);
}

HS_SAMPLE_CODE void *realloc(void *block, size_t size)
{
	if (is_special(block) || !hs_sampler_passes(size))
		return hs_entry_realloc(block, size);
	return hs_allocator.realloc(block, size);
}

/*
 * There is no next one: glibc's calls glibc's realloc, which must not get another allocator's
 * block.  Here it is realloc, of the library before us if there is one, since the block is its.
 */
void *reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	hs_next_resolve_new();
	if (hs_next.foreign_realloc != NULL && !hs_on_profiler_thread() && !hs_arena_owns(block))
		return hs_next.foreign_realloc(block, bytes);
	if (is_special(block) || !hs_sampler_passes(bytes))
		return hs_entry_realloc(block, bytes);
	return hs_allocator.realloc(block, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	if (!hs_sampler_passes(size))
		return hs_entry_posix_memalign(out, alignment, size);
	return hs_next.posix_memalign(out, alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	if (!hs_sampler_passes(hs_requested_size(alignment, size)))
		return hs_entry_aligned_alloc(alignment, size);
	hs_thread.requested_size = 0;
	return hs_next.aligned_alloc(alignment, size);
}

void *memalign(size_t alignment, size_t size)
{
	if (!hs_sampler_passes(hs_requested_size(alignment, size)))
		return hs_entry_memalign(alignment, size);
	hs_thread.requested_size = 0;
	return hs_next.memalign(alignment, size);
}

void *valloc(size_t size)
{
	return hs_sampler_passes(size) ? hs_next.valloc(size) : hs_entry_valloc(size);
}

void *pvalloc(size_t size)
{
	return hs_sampler_passes(size) ? hs_next.pvalloc(size) : hs_entry_pvalloc(size);
}

size_t malloc_usable_size(void *block)
{
	if (hs_arena_owns(block))
		return hs_arena_usable_size(block);
	HS_NEXT_ENSURE(malloc_usable_size);
	return hs_next.malloc_usable_size(block);
}

/* Removed from glibc 2.26; old programs still call it.  Another library's may free anything. */
void cfree(void *block)
{
	hs_next_resolve_new();
	if (hs_next.foreign_cfree != NULL)
		hs_next.foreign_cfree(block);
	else
		free(block);
}

/* C23.  Where the allocator lacks them, free does the same. */
void free_sized(void *block, size_t size)
{
	if (is_special(block))
		hs_record_free(block);
	if (hs_next.free_sized != NULL && !hs_arena_owns(block))
		hs_next.free_sized(block, size);
	else
		free(block);
}

void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	if (is_special(block))
		hs_record_free(block);
	if (hs_next.free_aligned_sized != NULL && !hs_arena_owns(block))
		hs_next.free_aligned_sized(block, alignment, size);
	else
		free(block);
}

/*
 * --- jemalloc's own family --------------------------------------------------------------
 *
 * Exported whether or not the program's allocator has it, so a program that looks for it finds it.
 * Without jemalloc they are made of malloc and memalign (slow.c).
 */

void *mallocx(size_t size, int flags)
{
	if (hs_next.mallocx == NULL || !hs_sampler_passes(size))
		return hs_entry_mallocx(size, flags);
	return hs_next.mallocx(size, flags);
}

void *rallocx(void *block, size_t size, int flags)
{
	if (hs_next.rallocx == NULL || is_special(block) || !hs_sampler_passes(size))
		return hs_entry_rallocx(block, size, flags);
	return hs_next.rallocx(block, size, flags);
}

/* Always the slow half: whether it allocates is known only after the call. */
size_t xallocx(void *block, size_t size, size_t extra, int flags)
{
	return hs_entry_xallocx(block, size, extra, flags);
}

void dallocx(void *block, int flags)
{
	if (is_special(block))
		hs_record_free(block);
	hs_next_resolve_new();
	if (hs_next.dallocx != NULL)
		hs_next.dallocx(block, flags);
	else
		free(block);
}

void sdallocx(void *block, size_t size, int flags)
{
	if (is_special(block))
		hs_record_free(block);
	hs_next_resolve_new();
	if (hs_next.sdallocx != NULL)
		hs_next.sdallocx(block, size, flags);
	else
		free(block);
}

/* --- C++ --------------------------------------------------------------------------- */

/* In HS_NEW_STANDARD the next one is called only when malloc fails. */
#define DEFINE_NEW(name, arguments, names)                                                         \
	void *name arguments                                                                       \
	{                                                                                          \
		void *block;                                                                       \
												   \
		if (hs_next.modes.name == HS_NEW_STANDARD && hs_sampler_passes(size)) {            \
			block = hs_allocator.malloc(size + (size == 0));                           \
			return hs_likely(block != NULL) ? block : hs_next.name names;              \
		}                                                                                  \
		if (hs_next.modes.name == HS_NEW_PASSES ||                                         \
		    (hs_next.modes.name == HS_NEW_SAMPLED && hs_sampler_passes(size)))             \
			return hs_next.name names;                                                 \
		return hs_entry_##name names;                                                      \
	}
HS_NEXT_PLAIN_NEW(DEFINE_NEW)

/*
 * The next one calls our aligned_alloc with the size rounded up; what the program asked for is
 * noted for it: see hs_requested_size(), which takes the note.  Not if that throws before, for the
 * note would stay.
 */
#define DEFINE_ALIGNED_NEW(name, arguments, names)                                                 \
	void *name arguments                                                                       \
	{                                                                                          \
		void *block;                                                                       \
												   \
		if (hs_next.modes.name == HS_NEW_SAMPLED && hs_sampler_passes(size))               \
			return hs_next.name names;                                                 \
		if (hs_next.modes.name != HS_NEW_PASSES)                                           \
			return hs_entry_##name names;                                              \
		if (__builtin_popcountl(alignment) == 1)                                           \
			hs_thread.requested_size = (uint64_t)size + 1;                             \
		block = hs_next.name names;                                                        \
		hs_thread.requested_size = 0;                                                      \
		return block;                                                                      \
	}
HS_NEXT_ALIGNED_NEW(DEFINE_ALIGNED_NEW)

/* Whether the next delete calls our free, as the next operator new calls our malloc. */
static inline bool comes_back(void)
{
	return hs_next.new_mode == HS_NEW_PASSES || hs_next.new_mode == HS_NEW_STANDARD;
}

/*
 * Whether the block is a sample is looked up once: here, or in the free that this calls.  In place
 * of a missing form `basic` is called, as C++ libraries do.
 */
#define DEFINE_DELETE(name, arguments, names, is_plain, basic, basic_names)                        \
	void name arguments                                                                        \
	{                                                                                          \
		if ((is_plain) && hs_next.new_mode == HS_NEW_STANDARD) {                           \
			free(block);                                                               \
			return;                                                                    \
		}                                                                                  \
		if (comes_back() && hs_next.name != NULL) {                                        \
			hs_next.name names;                                                        \
			return;                                                                    \
		}                                                                                  \
		hs_next_resolve_new();                                                             \
		if (is_special(block))                                                             \
			hs_record_free(block);                                                     \
		if (hs_next.name != NULL) {                                                        \
			hs_next.name names;                                                        \
			return;                                                                    \
		}                                                                                  \
		if (hs_next.basic != NULL) {                                                       \
			hs_next.basic basic_names;                                                 \
			return;                                                                    \
		}                                                                                  \
		free(block);                                                                       \
	}
#define DEFINE_PLAIN_DELETE(name, arguments, names)                                                \
	DEFINE_DELETE(name, arguments, names, true, _ZdlPv, (block))
#define DEFINE_ALIGNED_DELETE(name, arguments, names)                                              \
	DEFINE_DELETE(name, arguments, names, false, _ZdlPvSt11align_val_t, (block, alignment))
HS_NEXT_PLAIN_DELETE(DEFINE_PLAIN_DELETE)
HS_NEXT_ALIGNED_DELETE(DEFINE_ALIGNED_DELETE)
