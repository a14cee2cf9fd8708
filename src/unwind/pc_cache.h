/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known about return addresses seen before: a direct-mapped cache in front
 * of the mapping table and of the code bytes.
 *
 * Threads: the unwinding worker.  Allocates: never (part of the unwinder).
 */
#ifndef HS_UNWIND_PC_CACHE_H
#define HS_UNWIND_PC_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define HS_PC_CACHE_ENTRIES 2048u

struct hs_pc {
	uint64_t pc; /* 0 = empty; a pc of 0 is never looked up */
	uint32_t mapping;
	bool is_call;          /* pc is a return address: the call site is pc - 1 */
	bool is_signal_return; /* pc is the code that a signal handler returns to */
};

struct hs_pc_cache {
	struct hs_pc entries[HS_PC_CACHE_ENTRIES];
};

void hs_pc_cache_drop(struct hs_pc_cache *cache);

/* The place for (pc, is_call); it holds them already if both members are equal. */
struct hs_pc *hs_pc_cache_entry(struct hs_pc_cache *cache, uint64_t pc, bool is_call);

#endif
