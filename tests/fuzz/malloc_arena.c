/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arena of base/arena.h over malloc, for the fuzz targets: AddressSanitizer then sees each
 * access past a block or to a freed one.  It replaces the library's arena, so it has all of its
 * functions that the code under test calls.
 */
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

struct hs_arena_range hs_arena_range = {0};

static size_t budget, used;

int hs_arena_init(size_t budget_bytes)
{
	if (budget == 0)
		budget = budget_bytes;
	return 0;
}

size_t hs_arena_used(void)
{
	return used;
}

size_t hs_arena_budget(void)
{
	return budget;
}

void *hs_arena_aligned_alloc(size_t alignment, size_t bytes)
{
	void *block = NULL;

	if (bytes > budget || used > budget - bytes ||
	    posix_memalign(&block, alignment < 16 ? 16 : alignment, bytes + (bytes == 0)) != 0)
		return NULL;
	used += malloc_usable_size(block);
	return block;
}

void *hs_arena_alloc(size_t bytes)
{
	return hs_arena_aligned_alloc(16, bytes);
}

void *hs_arena_zalloc(size_t bytes)
{
	void *block = hs_arena_alloc(bytes);

	return block != NULL ? memset(block, 0, bytes) : NULL;
}

void hs_arena_free(void *block)
{
	used -= malloc_usable_size(block);
	free(block);
}

/* Always moves the block, so that pointers into the old one are found. */
void *hs_arena_realloc(void *block, size_t bytes)
{
	size_t old_bytes = malloc_usable_size(block);
	void *moved = hs_arena_alloc(bytes);

	if (moved == NULL || block == NULL)
		return moved;
	memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
	hs_arena_free(block);
	return moved;
}

size_t hs_arena_usable_size(const void *block)
{
	return malloc_usable_size((void *)(uintptr_t)block);
}

/* All zero, as pages of the real arena; memory counts only when it is committed. */
void *hs_arena_reserve(size_t bytes)
{
	void *block = NULL;

	return posix_memalign(&block, 4096, bytes) == 0 ? memset(block, 0, bytes) : NULL;
}

void hs_arena_unreserve(void *start, size_t bytes)
{
	(void)bytes;
	free(start);
}

int hs_arena_commit(void *start, size_t bytes)
{
	(void)start;
	(void)bytes;
	return 0;
}

int hs_arena_commit_from_host(void *start, size_t bytes, _Atomic bool *is_done)
{
	atomic_store(is_done, true);
	return hs_arena_commit(start, bytes);
}
