/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The profiler's own memory: one reserved range of addresses, apart from the
 * program's heap.
 *
 * - Profiler threads allocate here only (the interposer sends their malloc here
 *   too), so they never take a lock of the program's allocator.
 * - A pointer of the arena is recognised by its address on any thread: memory
 *   that libc took on a profiler thread and frees later on a program's thread
 *   comes back through hs_arena_free_from_host().
 * - Memory in use is bounded by a budget; past it an allocation returns NULL and
 *   the caller drops what it was about to do, counted.
 *
 * Locking: one short lock, taken by profiler threads and during start-up.  A program's thread takes
 * it only in hs_arena_follow_limit(), for a bounded time; what it frees goes on a lock-free list,
 * which the next allocation empties.
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
 * Reserves the range.  A later call, with another budget, makes it smaller if that would have a
 * smaller one, never larger, and returns 0.  Single-threaded.
 * budget_bytes: the most memory in use at a time.  Returns 0 or -errno.
 */
int hs_arena_init(size_t budget_bytes);

/*
 * Changes the budget, to hs_arena_most() at most, which is what the range holds and was sized by
 * hs_arena_init().
 */
void hs_arena_set_budget(size_t budget_bytes);
size_t hs_arena_most(void);

/*
 * Keeps so many bytes of addresses that were never taken: what would leave fewer is refused, unless
 * a block that was freed can serve.  0 at the start; at most half of what is left when the arena
 * shrinks.
 */
void hs_arena_keep_room(size_t bytes);

/* The resource limit that the arena obeys: RLIMIT_AS, or RLIMIT_DATA if that is less. */
int hs_arena_limit(void);

/*
 * The program may have changed RLIMIT_AS or RLIMIT_DATA, under which reserved address space counts.
 * The arena shrinks to about the size that hs_arena_init() would have given it, and unmaps the rest
 * of what is not taken; hs_arena_most() becomes less.  It never grows again.
 * Called on: any thread, signals blocked.  Blocks: on the arena's lock, 50 ms at most; if it does
 * not get it, nothing happens.
 */
void hs_arena_follow_limit(void);

/* Whether a pointer lies in the range.  NULL does not. */
static inline bool hs_arena_owns(const void *pointer)
{
	/* Relaxed: who has a pointer to memory mapped anew there has seen the range end before. */
	return hs_arch_is_below((uintptr_t)pointer - hs_arena_range.start, &hs_arena_range.bytes);
}

/*
 * Allocates, 16-byte aligned (or to alignment, a power of two up to 4096).
 * Called on: profiler threads; start-up.  Blocks: on the arena's lock.
 * Returns NULL when the budget or the range is used up.
 */
void *hs_arena_alloc(size_t bytes);
void *hs_arena_zalloc(size_t bytes);
void *hs_arena_aligned_alloc(size_t alignment, size_t bytes);

/* As realloc(3): on NULL the old block stays; 0 bytes is a small block.  Profiler threads. */
void *hs_arena_realloc(void *block, size_t bytes);

/*
 * Frees a block; NULL is allowed.  hs_arena_free() takes the lock: profiler threads only.  The
 * other puts the block on the lock-free list: any thread, signal handlers too.
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
 * Takes a part of the range for good, for tables that grow in place: nothing of
 * it is usable (or counted) before hs_arena_commit().  Page-aligned.
 * Returns NULL when the range is used up.
 */
void *hs_arena_reserve(size_t bytes);

/* Undoes the last hs_arena_reserve(bytes), if nothing of the part was committed. */
void hs_arena_unreserve(void *start, size_t bytes);

/*
 * Makes [start, start + bytes) of a reserved part usable, zeroed, and counts it.
 * start is a multiple of the page; bytes are rounded up to one.  Returns 0, -ENOMEM
 * (over budget), -EINVAL (not of a reserved part) or -errno.  Profiler threads; start-up.
 */
int hs_arena_commit(void *start, size_t bytes);

/*
 * The same for a whole reserved part without the lock: any thread, signal handlers too.  is_done:
 * false before, set once the part is usable; several threads may call this for it at once, and it
 * is counted once.  Returns 0, -ENOMEM (over budget) or -errno.
 */
int hs_arena_commit_from_host(void *start, size_t bytes, _Atomic bool *is_done);

/* The bytes in use, and the most that may be.  Any thread. */
size_t hs_arena_used(void);
size_t hs_arena_budget(void);

/* In a forked child: releases the lock, which a thread of the parent may have held. */
void hs_arena_after_fork(void);

#endif
