/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the arena share: arena.c (range, budget), arena_parts.c (parts taken for good)
 * and arena_heap.c (blocks).
 *
 * The range, from low to high addresses:
 *   bootstrap part   readable and writable from the start, a bump
 *   heap             readable and writable up to heap_end, grows upwards
 *   (not used)       no access
 *   reserved parts   taken downwards from the end of the range
 * Under a limit of addresses the upper part of what is not used is given back: the range ends there
 * then, later parts are taken downwards from there, and earlier ones are behind it, some shorter.
 * So each address below heap_end can be read, whatever pointer a caller hands in.
 */
#ifndef HS_BASE_ARENA_INTERNAL_H
#define HS_BASE_ARENA_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "base/visibility.h"

#define HS_ARENA_BOOTSTRAP_BYTES ((size_t)256 << 10)

/* The heap becomes writable in steps of this size: one mprotect for many blocks. */
#define HS_ARENA_STEP_BYTES ((size_t)256 << 10)

/* A block's class when it is of the bootstrap part. */
#define HS_ARENA_CLASS_BOOTSTRAP 255

/* Values of hs_arena_block.mark, combined with the block's address by hs_arena_mark(). */
#define HS_ARENA_MARK_LIVE 0x6c697665u
#define HS_ARENA_MARK_QUEUED 0x71756575u /* freed by a program's thread, not drained yet */
#define HS_ARENA_MARK_FREE 0x66726565u

/* Stands right before each payload.  Written by the block's owner, but for mark. */
struct hs_arena_block {
	_Atomic uint32_t mark;
	uint8_t class;
	uint16_t offset_units; /* from the block's start to the payload, in 16 bytes */
	uint64_t bytes;        /* payload; of a free block: see struct free_block */
};

struct hs_arena {
	/*
	 * Held to read or write the fields below; the atomic ones are read without.
	 * Innermost: no other lock is taken under it.
	 */
	struct hs_lock lock;
	size_t page_bytes;
	uintptr_t heap_next;           /* the first heap byte never given out */
	_Atomic uintptr_t heap_end;    /* writable up to here; only grows */
	uintptr_t reserved_start;      /* where the next one ends */
	uintptr_t reserved_end;        /* of all reserved parts */
	size_t asked_budget;           /* by hs_arena_init() */
	_Atomic size_t addresses;      /* without those given back */
	_Atomic size_t used;
	_Atomic size_t budget;
	_Atomic size_t bootstrap_used; /* no lock: see hs_arena_bootstrap_alloc() */
};
extern HS_HIDDEN struct hs_arena hs_arena;

/* The address in the mark: a copy of a header elsewhere is not taken for a block. */
static inline uint32_t hs_arena_mark(const struct hs_arena_block *block, uint32_t mark)
{
	return mark ^ (uint32_t)((uintptr_t)block >> 4);
}

/* Count bytes as used, unless that exceeds the budget; and give them back. */
bool hs_arena_charge_locked(size_t bytes);
void hs_arena_refund_locked(size_t bytes);

/* Of how many parts what they have not grown into can be given back. */
#define HS_ARENA_GROWING_PARTS 4

/* Addresses that nothing uses any more: to be unmapped without the lock. */
struct hs_arena_cuts {
	unsigned count;
	struct {
		uintptr_t start, end;
	} at[HS_ARENA_GROWING_PARTS + 1];
};
void hs_arena_cut_locked(struct hs_arena_cuts *cuts, uintptr_t start, uintptr_t end);

/* Have what parts are to grow into be no more than so many bytes each. */
void hs_arena_cut_parts_locked(size_t keep, struct hs_arena_cuts *cuts);

/* Have the range end where the next part will. */
void hs_arena_end_range_locked(void);

static inline size_t hs_arena_round_up(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

/* Take bytes of heap never used before (zero), at a multiple of alignment.  0 at the end. */
uintptr_t hs_arena_extend_locked(size_t bytes, size_t alignment);

#endif
