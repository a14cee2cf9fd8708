/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the arena share: arena.c (range, budget), arena_parts.c (parts taken for good)
 * and arena_heap.c (blocks).
 *
 * The range, from low to high addresses:
 *   bootstrap part   readable and writable from the start; allocated from by adding up
 *   heap             readable and writable up to heap_end, grows upwards
 *   room             not taken yet, no access
 *   reserved parts   taken downwards from the end of the range
 * When the program limits its address space the upper part of the room is unmapped.  The range ends
 * there from then on: later parts are taken downwards from there, earlier ones (some made shorter)
 * lie behind the end.  Every address of the range below heap_end can be read, whatever pointer a
 * caller hands in.
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

/* The heap is made writable in steps of this size: one mprotect() for many blocks. */
#define HS_ARENA_STEP_BYTES ((size_t)256 << 10)

/* A block's class when it is of the bootstrap part. */
#define HS_ARENA_CLASS_BOOTSTRAP 255

/* Values of hs_arena_block.mark, combined with the block's address by hs_arena_mark(). */
#define HS_ARENA_MARK_LIVE 0x6c697665u
#define HS_ARENA_MARK_QUEUED 0x71756575u /* freed by a program's thread, not drained yet */
#define HS_ARENA_MARK_FREE 0x66726565u

/* The header in front of each payload.  Written by the block's owner, except mark. */
struct hs_arena_block {
	_Atomic uint32_t mark;
	uint8_t class;
	uint16_t offset_units; /* from the block's start to the payload, in 16 bytes */
	uint64_t bytes;        /* of the payload; of a free block: see struct free_block */
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
	uintptr_t reserved_start;      /* the next reserved part ends here */
	uintptr_t reserved_end;        /* of all reserved parts */
	size_t kept_most;              /* that is kept of the room */
	size_t asked_budget;           /* of hs_arena_init() */
	_Atomic size_t addresses;      /* bytes of address space, without what was given back */
	_Atomic size_t used;
	_Atomic size_t budget;
	_Atomic size_t kept_room;      /* see hs_arena_keep_room() */
	_Atomic size_t bootstrap_used; /* no lock: see hs_arena_bootstrap_alloc() */
};
extern HS_HIDDEN struct hs_arena hs_arena;

/* The mark depends on the address, so that a copy of a header elsewhere is not taken for one. */
static inline uint32_t hs_arena_mark(const struct hs_arena_block *block, uint32_t mark)
{
	return mark ^ (uint32_t)((uintptr_t)block >> 4);
}

/* Counts bytes as used; false: that would exceed the budget.  And takes them off again. */
bool hs_arena_charge_locked(size_t bytes);
void hs_arena_refund_locked(size_t bytes);

/* Whether so many bytes from `start` on can be taken, which leaves the room that is kept. */
bool hs_arena_has_room_locked(uintptr_t start, size_t bytes);

/* At most so many reserved parts can be shortened under a limit: those that grow bit by bit. */
#define HS_ARENA_GROWING_PARTS 4

/* Address ranges that nothing uses any more, to be unmapped after the lock is released. */
struct hs_arena_cuts {
	unsigned count;
	struct {
		uintptr_t start, end;
	} at[HS_ARENA_GROWING_PARTS + 1];
};
void hs_arena_cut_locked(struct hs_arena_cuts *cuts, uintptr_t start, uintptr_t end);

/* Shortens growing parts, so that each has at most `keep` bytes left to grow into. */
void hs_arena_cut_parts_locked(size_t keep, struct hs_arena_cuts *cuts);

/* Sets the end of hs_arena_range to reserved_start. */
void hs_arena_end_range_locked(void);

static inline size_t hs_arena_round_up(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

/* Takes heap never used before (all zero), aligned.  Returns its address; 0: no room. */
uintptr_t hs_arena_extend_locked(size_t bytes, size_t alignment);

#endif
