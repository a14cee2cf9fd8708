/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live set: which addresses hold a sampled allocation.
 *
 * - Slots: one per live sample, never moved, named by a number.  The slot also records the sample's
 *   free: that takes no ring space, so no free is ever lost.
 * - The index: a hash table from address to slot, of 32-byte buckets, behind a filter, so that a
 *   free of an address that was not sampled looks at one byte.  At intervals so small that most
 *   allocations are sampled, a map of addresses takes its place (live_map.h).
 * - Below an interval of 512k, a journal of frees (free_journal.h).
 *
 * Life of a slot (who moves it):
 *
 *   EMPTY -> FILLING   allocating thread: takes it from the free list
 *   FILLING -> LIVE    allocating thread: address is in the index, before malloc returns
 *   LIVE -> FILLING    allocating thread: the index has no place for the address
 *   FILLING -> EMPTY   allocating thread: hs_live_set_cancel()
 *   LIVE -> FREED      freeing thread: takes a number, puts the slot on the freed list, and
 *                      only then frees the memory, so the address cannot be sampled again
 *                      under a lower number.  With a journal: the producer, in
 *                      hs_live_set_take_journaled(), when it comes to the number.  Of a closed
 *                      heap: the producer, in hs_live_set_free_heap()
 *   LIVE -> MOVING     thread inside realloc: takes the number before the call
 *   MOVING -> FREED    realloc succeeded
 *   MOVING -> LIVE     realloc failed: the caller delivers the number as a tombstone
 *   any -> EMPTY       producer: when the free is in the books, or the sample is given up
 *
 * Two slots may hold one address (one MOVING or FREED, one LIVE); a look-up matches LIVE
 * only.  A slot's state word carries a generation that goes up with each reuse.
 *
 * A sample is of a heap (sample/heap.h).  malloc's samples are known by their address,
 * those of other heaps by what the program calls them: any 64 bits, which another heap's
 * may have too.  The index is by a key, of the heap and these bits.
 *
 *                    take, insert      free, move       recycle, maintain
 *   take, insert     any number        any              any
 *   free, move       any               any (one wins)   any
 *   recycle,maintain any               any              one thread (the producer)
 *
 * The index grows by a new table at least twice the size: inserts go into both while the
 * producer copies, then the new one becomes current.  Old tables stay mapped, for a
 * thread may still be looking at one; all of them together are no larger than the
 * current one.
 */
#ifndef HS_SAMPLE_LIVE_SET_H
#define HS_SAMPLE_LIVE_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/fast_path.h"
#include "base/hot.h"
#include "base/likely.h"
#include "base/visibility.h"
#include "sample/heap_id.h"

#define HS_SLOT_NONE UINT32_MAX

/*
 * The current table's filter: bytes, of which a key has one, by a hash.  0: no entry of the table
 * has a key with this byte; for other values see live_table.h.  The lowest six bits of the filter's
 * address are the shift that makes a byte's number of the hash, and the eight bytes in front of
 * this address the hash's factor.
 * Of the keys that are not in the table about one in sixteen at most finds a byte that is not 0,
 * and one in some hundreds a byte that does not deny its entry.  If tables have no filter, this is
 * a byte that denies no key.
 * Written: with atomics, by the producer, release.  Read: by every free, relaxed: what factor and
 * bytes were before is seen because their addresses depend on this word, which processors respect.
 */
extern HS_HIDDEN uintptr_t hs_live_filter;

/*
 * Keys close to each other have bytes close to each other: a program frees near to where it freed
 * before, and finds the filter's cache line again.
 */
static inline uint8_t *hs_live_filter_byte(uintptr_t filter, uint64_t key)
{
	uint64_t factor;

	__builtin_memcpy(&factor, (const uint8_t *)filter - sizeof factor, sizeof factor);
	return (uint8_t *)filter + (key * factor >> (filter & 63));
}

/*
 * The key of a heap's id in the index; it is also its own inverse.  An address of malloc's is its
 * key.  Ids of other heaps may be small numbers, which would share a few bytes of the filter: their
 * halves are swapped.
 */
static inline uint64_t hs_live_key(uint32_t heap, uint64_t id)
{
	uint32_t odd = (heap - HS_HEAP_MALLOC) * 0x9e3779b9u;

	if (hs_likely(heap == HS_HEAP_MALLOC))
		return id;
	return (id << 32 | id >> 32) ^ ((uint64_t)odd << 32 | odd);
}

/*
 * Whether there may be a live sample of a key.  False is certain.
 *
 * Called on: the program's threads, before each free.  Blocks: never.
 * Ordering: relaxed.  Whatever handed the address from the thread that allocated it to the one
 * that frees it also orders the insert before this look.
 */
static inline bool hs_live_set_may_hold_key(uint64_t key)
{
	return hs_arch_is_set(hs_live_filter_byte(hs_arch_load_shift(&hs_live_filter), key));
}

static inline bool hs_live_set_may_hold(const void *address)
{
	return hs_live_set_may_hold_key(hs_live_key(HS_HEAP_MALLOC, (uintptr_t)address));
}

struct hs_live_setup {
	uint32_t slots;          /* for at most so many live samples */
	uint32_t expected;       /* the first index is for about so many */
	bool has_filter;         /* this, and interval_bytes: see hs_live_table_set_filter() */
	uint64_t interval_bytes;
	/*
	 * Samples will be rare: 16,384 slots are usable at first instead of 131,072, and at most
	 * 8,192 are kept free ahead of the program.  What is usable counts against the system's
	 * memory where that is not overcommitted, in every process.
	 */
	bool keeps_few_ahead;
};

/* Makes the set.  Takes arena memory.  Start-up.  0 or -errno. */
int hs_live_set_init(const struct hs_live_setup *setup);

/*
 * Prefetches the cache lines that taking a slot and inserting it under a key will write to.  Any
 * thread.
 */
HS_SAMPLE_CODE void hs_live_set_fetch(uint64_t key);

/* Prefetches the slot that will be taken next: for dense samples, after one.  Any thread. */
HS_SAMPLE_CODE void hs_live_set_fetch_next(void);

/* What hs_live_set_take() gives out. */
struct hs_taken_slot {
	uint32_t slot;
	uint32_t generation;
};

/*
 * Takes an empty slot, in state FILLING.
 * Called on: the program's threads.  Blocks: never.  False when there is none.
 */
HS_SAMPLE_CODE bool hs_live_set_take(struct hs_taken_slot *taken);

/*
 * Enters a heap's id and makes the slot LIVE.  False: the index has no room for it, and the slot
 * stays FILLING.  taken is passed by reference: by value, one load of both fields right after two
 * stores would stall (no store forwarding).
 */
HS_SAMPLE_CODE bool hs_live_set_insert_id(const struct hs_taken_slot *taken, uint32_t heap,
					  uint64_t id);

/* Gives back a slot that was taken and not inserted. */
void hs_live_set_cancel(struct hs_taken_slot taken);

/*
 * The program frees a heap's id: if it is a live sample, records that under the next sequence
 * number.  There may be several, if frees before were not reported: then all of them.  Returns how
 * many there were.
 * Called on: any thread, signal handlers too.  Blocks: never.
 */
uint32_t hs_live_set_free_id(uint32_t heap, uint64_t id);

/*
 * realloc() of an address begins: if it is a live sample, makes it MOVING, with a number.
 * Returns the slot, or HS_SLOT_NONE.  Exactly one call must follow: _end_move() if the block is
 * gone (freed or moved), or _cancel_move() if realloc() failed, which returns the number for the
 * caller to deliver as a tombstone.
 */
uint32_t hs_live_set_begin_move(const void *address);
void hs_live_set_end_move(uint32_t slot);
uint64_t hs_live_set_cancel_move(uint32_t slot);

/* The key by which the index knows a slot's sample; 0 once the slot is recycled.  Any thread. */
uint64_t hs_live_set_key(uint32_t slot);

/* --- the producer's side ------------------------------------------------------- */

/*
 * What the producer keeps of a slot's sample.  Nobody else reads or writes it.
 */
struct hs_book {
	uint64_t size;
	uint64_t weight;
	uint32_t generation;
	uint32_t row; /* row + 1; 0: no sample */
};

/* The book of a usable slot; without a sample at first. */
struct hs_book *hs_live_set_book(uint32_t slot);

/*
 * Removes the samples from all books, and, if asked, frees them: their slots come off the freed
 * list.  The program must not count as alone then (hs_alone_end()).  Slow: walks all slots.
 */
void hs_live_set_clear_books(bool and_free);

/*
 * Slots taken off the freed list.  It is several lists, walked side by side: each step along a list
 * is a cache miss, and so many are waited for at once.  All 0: none.
 */
#define HS_FREED_LISTS 8u
struct hs_freed_slots {
	uint32_t links[HS_FREED_LISTS];   /* the first slot of each + 1; 0: none is left */
	uint64_t numbers[HS_FREED_LISTS]; /* the sequence number of its free */
};

/* Takes all slots of the freed list.  *freed must be used up. */
void hs_live_set_take_freed(struct hs_freed_slots *freed);

/*
 * The slot freed first of those that are left, or HS_SLOT_NONE.  So their numbers ascend, except
 * where threads raced.
 */
uint32_t hs_live_set_next_freed(struct hs_freed_slots *freed);

/*
 * Takes a slot that an entry of the journal names, as if it came off the freed list.  False: it has
 * no live sample of such an address any more.
 */
bool hs_live_set_take_journaled(uint32_t slot, uint32_t address_bits);

/* The producer's own lists of slots it has taken: HS_SLOT_NONE is the end. */
uint32_t hs_live_set_linked(uint32_t slot);
void hs_live_set_link(uint32_t slot, uint32_t next);

/* Prefetches a slot and its book.  Any value will do. */
void hs_live_set_fetch_slot(uint32_t slot);

uint64_t hs_live_set_free_sequence(uint32_t slot);
uint32_t hs_live_set_generation(uint32_t slot);
uint32_t hs_live_set_heap(uint32_t slot);
uint64_t hs_live_set_id(uint32_t slot); /* in malloc's heap the address */

/*
 * Frees all live samples of a heap, as if by hs_live_set_free_id().  Slow: walks all slots.
 * Returns how many.
 */
uint32_t hs_live_set_free_heap(uint32_t heap);

/*
 * Makes a slot EMPTY whose free is in the books, or whose sample is given up (an abandoned record).
 * It can be taken again after hs_live_set_give_back(), or before.  False, and nothing is done, if
 * generation is not the slot's.
 */
bool hs_live_set_recycle(uint32_t slot, uint32_t generation);

/*
 * The same for a sample that is given up, but not if the program has freed it or is doing so: such
 * a slot comes off the freed list.
 */
bool hs_live_set_give_up(uint32_t slot, uint32_t generation);

/* Puts all recycled slots on the free list.  Whoever recycles calls it before sleeping. */
void hs_live_set_give_back(void);

/*
 * Puts slots on the freed list that are FREED but not there: their thread died in between.
 * stuck_before: only those whose number is lower, and those without one, which are given the next
 * number.  If such a thread was only slow, the slot is still on the list once, and the number it
 * takes late stays a gap.  Slow: looks at all slots.
 * False: a slot has no number, and none can be given because the program is alone (base/alone.h).
 */
bool hs_live_set_sweep_freed(uint64_t stuck_before);

/*
 * Sampling is about to begin: has the kernel give pages to what samples will write, also to the
 * index if every allocation is a sample.
 */
void hs_live_set_begin(void);

/*
 * Grows the index, by a step in each call, and makes more slots usable, ahead of the program.
 * headroom: slots that should be free (but see hs_live_setup).  0, or -ENOMEM: go on with what
 * there is.
 */
int hs_live_set_maintain(uint32_t headroom);

/*
 * Whether only the program's frees can make room for a sample: there is no memory for more slots,
 * and all that was freed is recycled.  Set by: the producer.  Any thread.
 */
extern HS_HIDDEN _Atomic bool hs_live_set_exhausted;

static inline bool hs_live_set_is_exhausted(void)
{
	return atomic_load_explicit(&hs_live_set_exhausted, memory_order_relaxed);
}

/* Slots in use (taken, live, or freed and not recycled), and slots usable so far.  Any thread. */
uint32_t hs_live_set_used(void);
uint32_t hs_live_set_capacity(void);

/* The most slots that there can be. */
uint32_t hs_live_set_limit(void);

#endif
