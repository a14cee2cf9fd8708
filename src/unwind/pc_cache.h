/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known about pcs seen before: in which mapping they are, and the row that leads to
 * the caller.  A two-way cache in front of the mapping table, of the code bytes and of the
 * unwind tables.
 *
 * Threads: the unwinding worker.  Memory: the arena, 1 MiB, of which pages are used as pcs
 * come.
 */
#ifndef HS_UNWIND_PC_CACHE_H
#define HS_UNWIND_PC_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind_row.h"

#define HS_PC_CACHE_WAYS 2u
#define HS_PC_CACHE_SETS 16384u

struct hs_pc {
	uint64_t pc;
	uint32_t mapping;
	uint32_t round; /* the cache's when this was entered; before that, it is empty */
	struct hs_row row;
	bool is_call;          /* pc is a return address: the call site is pc - 1 */
	bool is_signal_return; /* pc is the code that a signal handler returns to */
	bool is_own;           /* pc is in this library */
};

struct hs_pc_cache {
	struct hs_pc (*sets)[HS_PC_CACHE_WAYS]; /* the one entered last first */
	void *block;
	uint32_t round; /* 0: of empty entries only */
};

/* Returns 0 or -ENOMEM. */
int hs_pc_cache_init(struct hs_pc_cache *cache);
void hs_pc_cache_destroy(struct hs_pc_cache *cache);

/* Forget all: addresses may mean something else now. */
void hs_pc_cache_drop(struct hs_pc_cache *cache);

static inline uint32_t hs_pc_cache_set(uint64_t pc, bool is_call)
{
	uint64_t hash = (pc + is_call) * 0x9e3779b97f4a7c15u;

	return (uint32_t)(hash >> 32) % HS_PC_CACHE_SETS;
}

/* NULL if it is not known. */
static inline const struct hs_pc *hs_pc_cache_find(const struct hs_pc_cache *cache, uint64_t pc,
						   bool is_call)
{
	const struct hs_pc *set = cache->sets[hs_pc_cache_set(pc, is_call)];

	for (unsigned way = 0; way < HS_PC_CACHE_WAYS; way++) {
		if (set[way].pc == pc && set[way].round == cache->round &&
		    set[way].is_call == is_call)
			return &set[way];
	}
	return NULL;
}

/* Enter one that is not known: its place, where pc and is_call are, and the rest is 0. */
struct hs_pc *hs_pc_cache_add(struct hs_pc_cache *cache, uint64_t pc, bool is_call);

#endif
