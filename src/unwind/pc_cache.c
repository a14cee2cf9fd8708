/* SPDX-License-Identifier: BSD-2-Clause */
/* Cache of pcs and their rows.  Run by the unwinding worker. */
#include "unwind/pc_cache.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"

#define CACHE_LINE 64u

#define BYTES (HS_PC_CACHE_SETS * sizeof(struct hs_pc[HS_PC_CACHE_WAYS]))

_Static_assert(sizeof(struct hs_pc[HS_PC_CACHE_WAYS]) == CACHE_LINE, "a set is a cache line");

int hs_pc_cache_init(struct hs_pc_cache *cache)
{
	/* Not hs_arena_aligned_alloc(): what has to be zeroed there need not be touched here. */
	void *block = hs_arena_zalloc(BYTES + CACHE_LINE);
	uintptr_t start = ((uintptr_t)block + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1);

	if (block == NULL)
		return -ENOMEM;
	*cache = (struct hs_pc_cache){.sets = (void *)start, .block = block, .round = 1};
	return 0;
}

void hs_pc_cache_destroy(struct hs_pc_cache *cache)
{
	hs_arena_free(cache->block);
}

void hs_pc_cache_drop(struct hs_pc_cache *cache)
{
	if (++cache->round != 0)
		return;
	memset(cache->sets, 0, BYTES);
	cache->round = 1;
}

struct hs_pc *hs_pc_cache_add(struct hs_pc_cache *cache, uint64_t pc, bool is_call)
{
	struct hs_pc *set = cache->sets[hs_pc_cache_set(pc, is_call)];

	memmove(&set[1], &set[0], (HS_PC_CACHE_WAYS - 1) * sizeof set[0]);
	set[0] = (struct hs_pc){.pc = pc, .round = cache->round, .is_call = is_call};
	return &set[0];
}
