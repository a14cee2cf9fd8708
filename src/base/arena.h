/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The profiler's own memory: one reserved range of addresses, apart from the
 * program's heap.
 *
 * - Profiler threads allocate here only (the interposer sends their malloc here
 *   too), so they never take a lock of the program's allocator.
 * - A pointer of the arena is recognised by its address on any thread: memory
 *   that libc took on a profiler thread and frees later on a program's thread
 *   comes back through hs_arena_free().
 * - Memory in use is bounded by a budget; past it an allocation returns NULL and
 *   the caller drops what it was about to do, counted.
 *
 * Locking: one short lock, taken by profiler threads, during start-up, and where the program limits
 * its addresses or its data (bounded).
 * A program's thread never waits for it otherwise: its free is put on a lock-free list that the
 * next allocation empties.
 * Errno: preserved by all functions.
 */
#ifndef HS_BASE_ARENA_H
#define HS_BASE_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/fast_path.h"
#include "base/visibility.h"

/*
 * The reserved range, with all blocks.  Written by hs_arena_init(), and made shorter by
 * hs_arena_follow_limit(); read by hs_arena_owns().
 */
struct hs_arena_range {
	uintptr_t start;
	uintptr_t bytes;
};
extern HS_HIDDEN struct hs_arena_range hs_arena_range;

/*
 * Reserve the range.  May be called again: the first call counts.  Single-threaded.
 * budget_bytes: the most memory in use at a time.  Returns 0 or -errno.
 */
int hs_arena_init(size_t budget_bytes);

/*
 * Change the budget.  More than the range holds, hs_arena_most(), is cut to that: for a large
 * budget, hs_arena_init() must know it.
 */
void hs_arena_set_budget(size_t budget_bytes);
size_t hs_arena_most(void);

/* Which of the program's limits the arena goes by: RLIMIT_AS, or RLIMIT_DATA if that is less. */
int hs_arena_limit(void);

/*
 * The program may have limited its addresses or its data, and the arena's count: of those that
 * nothing has taken it keeps about as many as hs_arena_init() would have reserved under such a
 * limit, and gives the others back, for good.  hs_arena_most() is less then.
 * Called on: any thread, signals blocked.  Blocks: on the arena's lock, 50 ms at most; then nothing
 * is given back.
 */
void hs_arena_follow_limit(void);

/* Whether a pointer lies in the range.  NULL does not. */
static inline bool hs_arena_owns(const void *pointer)
{
	/* Relaxed: who has a pointer from behind the range knows that it has become shorter. */
	return hs_arch_is_below((uintptr_t)pointer - hs_arena_range.start, &hs_arena_range.bytes);
}

/*
 * Allocate, 16-byte aligned (or to alignment, a power of two up to 4096).
 * Called on: profiler threads; start-up.  Blocks: on the arena's lock.
 * Returns NULL when the budget or the range is used up.
 */
void *hs_arena_alloc(size_t bytes);
void *hs_arena_zalloc(size_t bytes);
void *hs_arena_aligned_alloc(size_t alignment, size_t bytes);

/* As realloc(3): on NULL the old block stays; 0 bytes is a small block.  Profiler threads. */
void *hs_arena_realloc(void *block, size_t bytes);

/*
 * Give a block back.  NULL is allowed.  Profiler threads take the lock; with
 * from_host the block goes on the lock-free list (any thread, signal handlers).
 */
void hs_arena_free(void *block);
void hs_arena_free_from_host(void *block);

/* The bytes that a block can hold (at least what was asked for). */
size_t hs_arena_usable_size(const void *block);

/*
 * Memory for calls made before the real allocator is known (dlsym allocates):
 * taken from a small fixed part of the range, never given back, zeroed.
 * Called on: any thread.  Blocks: never.  Returns NULL when that part is full.
 */
void *hs_arena_bootstrap_alloc(size_t bytes);

/*
 * Take a part of the range for good, for tables that grow in place: nothing of
 * it is usable (or counted) before hs_arena_commit().  Page-aligned.
 * Returns NULL when the range is used up.
 */
void *hs_arena_reserve(size_t bytes);

/* Give back what the last hs_arena_reserve(bytes) returned, of which nothing was committed. */
void hs_arena_unreserve(void *start, size_t bytes);

/*
 * Make [start, start + bytes) of a reserved part usable, zeroed, and count it.
 * start and bytes are multiples of the page.  Returns 0, -ENOMEM (over budget),
 * -EINVAL (not of a reserved part) or -errno.  Profiler threads; start-up.
 */
int hs_arena_commit(void *start, size_t bytes);

/*
 * The same for a whole reserved part, on a program's thread: without the lock.  is_done: false
 * before, and true once it is usable; of threads that are at it together one counts it.  Any
 * thread, signal handlers.  Returns 0, -ENOMEM (over budget) or -errno.
 */
int hs_arena_commit_from_host(void *start, size_t bytes, _Atomic bool *is_done);

/* Bytes in use and the most that may be.  Any thread. */
size_t hs_arena_used(void);
size_t hs_arena_budget(void);

/*
 * In a forked child: forget a lock held by a thread that does not exist here.
 */
void hs_arena_after_fork(void);

#endif
