/* SPDX-License-Identifier: BSD-2-Clause */
/* Cache of classified return addresses.  Run by the unwinding worker. */
#include "unwind/pc_cache.h"

#include <string.h>

void hs_pc_cache_drop(struct hs_pc_cache *cache)
{
	memset(cache, 0, sizeof *cache);
}

struct hs_pc *hs_pc_cache_entry(struct hs_pc_cache *cache, uint64_t pc, bool is_call)
{
	uint64_t hash = (pc + is_call) * 0x9e3779b97f4a7c15u;

	return &cache->entries[(hash >> 32) % HS_PC_CACHE_ENTRIES];
}
