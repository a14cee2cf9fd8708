/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live set: which addresses hold a sampled allocation.
 *
 * Two parts.  Slots: one per live sample, found by index, never moved.  The slot is
 * also the record of the sample's free: freeing takes no ring space, so a free is
 * never lost.  Index: a hash table from address to slot, made of 32-byte buckets, and a
 * filter before it: a free of an address that was not sampled looks at one byte.  Where most
 * are sampled, a map of addresses instead (live_map.h); below an interval of 512k a journal of
 * frees (free_journal.h).
 *
 * Life of a slot (who moves it):
 *
 *   EMPTY -> FILLING   allocating thread: takes it from the free list
 *   FILLING -> LIVE    allocating thread: address is in the index, before malloc returns
 *   LIVE -> FREED      freeing thread: takes a number, puts it on the freed list, and only
 *                      then gives the memory back, so the address cannot be sampled
 *                      again under a lower number.  With a journal: the producer,
 *                      hs_live_set_take_journaled(), when it comes to the number
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
 * The index grows by a new table twice the size: inserts go into both while the
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
#define HS_BUCKET_LANES 6

/*
 * tags: bytes 0..5 the tag of each lane (0 = lane free), byte 7 how many entries of
 * this bucket were put into its neighbour (bucket number ^ 1, in the same cache line).
 * slots: slot number + 1; 0 while a lane is being filled or emptied.
 */
struct hs_live_bucket {
	_Atomic uint64_t tags;
	_Atomic uint32_t slots[HS_BUCKET_LANES];
};

/* The current table: address of its buckets | the shift that makes a bucket number of a hash. */
extern HS_HIDDEN _Atomic uint64_t hs_live_index;

/*
 * Multiplied by 2^64 / golden ratio.  Folded before: blocks at equal distances would else
 * crowd into one bucket at some distances, one in 300.
 */
static inline uint64_t hs_live_hash(uint64_t key)
{
	return (key ^ key >> 15) * 0x9e3779b97f4a7c15u;
}

/*
 * The current table's filter: what entries there are with keys of a hash, a byte for each hash; 0:
 * none.  What else a byte may be is in live_table.h.  Its address is also, by its lowest six bits,
 * the shift that makes the hash.  Of the keys that are not in the table about one in sixteen at
 * most meets a byte that is not 0, and one in some hundreds, where they do not crowd, a byte that
 * does not deny it.  Where tables have no filter, two bytes are there for all keys and deny none.
 * Written: with atomics, by the producer.  Read: by every free.
 */
extern HS_HIDDEN uintptr_t hs_live_filter;

/* What makes hashes of keys: see hs_live_set_spread().  Written: start-up. */
extern HS_HIDDEN uint64_t hs_live_filter_factor;

/*
 * Neighbours' bytes are neighbours too: a program frees near to where it has freed, and finds the
 * filter's line in the cache again.
 */
static inline uint8_t *hs_live_filter_byte(uintptr_t filter, uint64_t key)
{
	return (uint8_t *)filter + (key * hs_live_filter_factor >> (filter & 63));
}

/*
 * Where a heap's id is in the index; an address of malloc's is at itself.  Also the way back.
 * Other heaps' ids have their halves swapped, for they may be small numbers: the filter would take
 * all of them for neighbours.
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
 * Ordering: relaxed.  Whoever frees an address has got it, by whatever means, from the
 * thread that allocated it; that hand-over orders the insert before this look.
 */
static inline bool hs_live_set_may_hold_key(uint64_t key)
{
	return hs_arch_is_set(hs_live_filter_byte(hs_arch_load_shift(&hs_live_filter), key));
}

static inline bool hs_live_set_may_hold(const void *address)
{
	return hs_live_set_may_hold_key(hs_live_key(HS_HEAP_MALLOC, (uintptr_t)address));
}

/*
 * Make the set: slots for at most slot_limit live samples, an index for about
 * expected live samples at first.  Takes arena memory.  Start-up.  0 or -errno.
 */
int hs_live_set_init(uint32_t slot_limit, uint32_t expected);

/*
 * How far apart keys are that have bytes of their own in the filter: a 300th of the interval at
 * first, less where the filter has grown.  Start-up, before the first entry; else as for 1m.
 */
void hs_live_set_spread(uint64_t interval_bytes);

/*
 * A slot will be taken and inserted under a key: have the cache lines fetched meanwhile that this
 * will write to.  Any thread.
 */
HS_SAMPLE_CODE void hs_live_set_fetch(uint64_t key);

/* The slot that is taken next: where one has been, and another will be soon.  Any thread. */
HS_SAMPLE_CODE void hs_live_set_fetch_next(void);

/* What hs_live_set_take() gives out. */
struct hs_live_ticket {
	uint32_t slot;
	uint32_t generation;
};

/*
 * Take an empty slot, in state FILLING.
 * Called on: the program's threads.  Blocks: never.  False when there is none.
 */
HS_SAMPLE_CODE bool hs_live_set_take(struct hs_live_ticket *ticket);

/*
 * Enter a heap's id and make the slot LIVE.  False when the index has no room there (the
 * slot stays FILLING).  ticket: by reference, for in a register it would be one load of two stores,
 * which waits until both are in the cache.
 */
HS_SAMPLE_CODE bool hs_live_set_insert_id(const struct hs_live_ticket *ticket, uint32_t heap,
					  uint64_t id);

static inline bool hs_live_set_insert(struct hs_live_ticket ticket, const void *address)
{
	return hs_live_set_insert_id(&ticket, HS_HEAP_MALLOC, (uintptr_t)address);
}

/* Give back a slot that was taken and not inserted. */
void hs_live_set_cancel(struct hs_live_ticket ticket);

/*
 * The program frees a heap's id: if it is a live sample, record that with the next number
 * of sequence.  If it is several, for what was there before was never said to be freed, all of
 * them.  Returns how many.
 * Called on: any thread, signal handlers too.  Blocks: never.
 */
uint32_t hs_live_set_free_id(uint32_t heap, uint64_t id, _Atomic uint64_t *sequence);

static inline uint32_t hs_live_set_free(const void *address, _Atomic uint64_t *sequence)
{
	return hs_live_set_free_id(HS_HEAP_MALLOC, (uintptr_t)address, sequence);
}

/*
 * realloc of address begins: if it is a live sample, make it MOVING, with a number.
 * Returns the slot, or HS_SLOT_NONE.  Then exactly one of _end_move (the block is gone:
 * freed or moved) and _cancel_move (realloc failed: the sample lives on; returns the
 * number, which the caller has to deliver as a tombstone).
 */
uint32_t hs_live_set_begin_move(const void *address, _Atomic uint64_t *sequence);
void hs_live_set_end_move(uint32_t slot);
uint64_t hs_live_set_cancel_move(uint32_t slot);

/* --- the producer's side ------------------------------------------------------- */

/*
 * What the producer keeps of the sample that a slot stands for: no one else reads it or writes
 * to it.
 */
struct hs_book {
	uint64_t size;
	uint64_t weight;
	uint32_t generation;
	uint32_t row; /* number + 1; 0: no sample */
};

/* The book of a usable slot.  At first without a sample. */
struct hs_book *hs_live_set_book(uint32_t slot);

/* No book has a sample any more. */
void hs_live_set_clear_books(void);

/*
 * Slots taken off the freed list, which is several: to walk a list is to wait for memory at each
 * slot, and for as many at once as there are lists.  All 0: none.
 */
#define HS_FREED_LISTS 8u
struct hs_freed_slots {
	uint32_t links[HS_FREED_LISTS];   /* the first slot of each + 1; 0: none is left */
	uint64_t numbers[HS_FREED_LISTS]; /* its free's */
};

/* Take all slots of the freed list, when those of the last time are used up. */
void hs_live_set_take_freed(struct hs_freed_slots *freed);

/*
 * The next one, or HS_SLOT_NONE: the one freed first comes first, so their numbers go up but for
 * threads that raced.
 */
uint32_t hs_live_set_next_freed(struct hs_freed_slots *freed);

/*
 * A slot that the journal of frees has: take it as if it came off the freed list.  False: it is
 * no live sample of such an address.
 */
bool hs_live_set_take_journaled(uint32_t slot, uint32_t address_bits);

/* For lists of the producer's own, of such slots: HS_SLOT_NONE is the end. */
uint32_t hs_live_set_linked(uint32_t slot);
void hs_live_set_link(uint32_t slot, uint32_t next);
void hs_live_set_fetch_slot(uint32_t slot); /* it and its book, which come soon; any number */
uint64_t hs_live_set_free_sequence(uint32_t slot);
uint32_t hs_live_set_generation(uint32_t slot);
uint32_t hs_live_set_heap(uint32_t slot);
uint64_t hs_live_set_id(uint32_t slot);  /* the address in malloc's heap */
uint64_t hs_live_set_key(uint32_t slot); /* 0 once the slot is recycled */

/*
 * Free all live samples of a heap, as if by hs_live_set_free_id().  Slow: walks all slots.
 * Returns how many.
 */
uint32_t hs_live_set_free_heap(uint32_t heap, _Atomic uint64_t *sequence);

/*
 * Make a slot EMPTY for reuse, by hs_live_set_give_back() at the latest: its free is in the books,
 * or its sample was given up (an abandoned record).  Returns false, and does nothing, if generation
 * is not the slot's.
 */
bool hs_live_set_recycle(uint32_t slot, uint32_t generation);

/*
 * The same for a sample that is given up, unless the program has freed it, or is about to: then
 * it is to come off the freed list, and must not be on the other as well.
 */
bool hs_live_set_give_up(uint32_t slot, uint32_t generation);

/* All that were recycled can be taken.  Whoever recycles, before it rests. */
void hs_live_set_give_back(void);

/*
 * Find slots that are FREED but were never put on the list (their thread died in
 * between): puts them there.  stuck_before: only those whose number is lower, or not
 * yet taken: those get one.  Should such a thread go on after all, the slot is on the list
 * once, and a number that it takes late is delivered by nobody.  Slow: walks all slots.  False:
 * there are some without a number, and numbers are the program's, which is alone (base/alone.h).
 */
bool hs_live_set_sweep_freed(uint64_t stuck_before, _Atomic uint64_t *sequence);

/*
 * Samples are about to come: have the pages that they will write to, those of the index too where
 * all that is allocated is a sample.  The producer.
 */
void hs_live_set_begin(void);

/*
 * Keep ahead of the program: grow the index and make slots usable where few are left.
 * headroom: slots that should be free.  0 or -ENOMEM (go on with what there is).
 */
int hs_live_set_maintain(uint32_t headroom);

/*
 * Whether nothing but frees of the program's makes room for a sample: there is no memory for
 * more, and all that was freed has been dealt with.  Set by: the producer.  Any thread.
 */
extern HS_HIDDEN _Atomic bool hs_live_set_exhausted;

static inline bool hs_live_set_is_exhausted(void)
{
	return atomic_load_explicit(&hs_live_set_exhausted, memory_order_relaxed);
}

/* Slots in use (taken, live or freed and not recycled), and made usable so far.  Any thread. */
uint32_t hs_live_set_used(void);
uint32_t hs_live_set_capacity(void);

/* The most slots that there can be: their numbers are below. */
uint32_t hs_live_set_limit(void);

#endif
