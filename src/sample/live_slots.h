/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slots of the live set, for the files that implement it: live_set.c and live_free.c (the
 * program's threads) and live_reclaim.c (the producer).
 */
#ifndef HS_SAMPLE_LIVE_SLOTS_H
#define HS_SAMPLE_LIVE_SLOTS_H

#include "base/visibility.h"
#include "sample/live_set.h"

enum hs_slot_state { HS_SLOT_EMPTY, HS_SLOT_FILLING, HS_SLOT_LIVE, HS_SLOT_MOVING, HS_SLOT_FREED };

#define HS_SLOT_STATE_BITS 3
#define HS_SLOT_STATE_MASK ((1u << HS_SLOT_STATE_BITS) - 1)

/* The heap's number is in the state's highest byte. */
#define HS_SLOT_HEAP_SHIFT 56

/*
 * state: heap << 56 | generation << 3 | enum hs_slot_state.
 * key: written while FILLING; 0 once the slot is empty.
 * free_sequence: hs_slot_no_number() of the slot's generation, then the number of the free, set by
 * compare-and-swap before the slot is on the freed list: by whoever moved it on from LIVE, or by a
 * sweep.  Not set if the journal has the free.
 * next: slot + 1 of the one behind it on its list; 0: the last.  While MOVING: whether the map had
 * it.
 * listed: hs_slot_listed() if the slot was put on the freed list in this generation, else one less.
 * book: in the same cache line, because the producer has just read what the threads wrote there.
 */
struct hs_live_slot {
	_Alignas(64) _Atomic uint64_t state;
	_Atomic uint64_t key;
	_Atomic uint64_t free_sequence;
	_Atomic uint32_t next;
	_Atomic uint32_t listed;
	struct hs_book book;
};

/* In cache lines by who writes them.  Counts wrap: only differences count. */
struct hs_live_slots {
	/* Written by hs_live_set_init(), capacity by the producer too.  Read with every slot. */
	struct hs_live_slot *slots;
	uint32_t limit;
	_Atomic uint32_t capacity; /* slots usable */
	bool keeps_few_ahead;

	/*
	 * Written by threads that free, and the producer.  slot % HS_FREED_LISTS is a slot's list.
	 * Slots put on it since it was last taken << 32 | first slot + 1.
	 */
	_Alignas(64) _Atomic uint64_t freed_lists[HS_FREED_LISTS];

	/* Written by the producer; only the first is read by others. */
	_Alignas(64) _Atomic uint32_t recycled;
	uint32_t freed;   /* taken off the freed list and not recycled */
	uint32_t touched; /* slots below have their pages */
	bool is_index_touched;
	uint32_t returned_first; /* EMPTY slots that are yet to go on the free list: the first, */
	uint32_t returned_last;  /* the last, */
	uint32_t returned;       /* and how many; 0: none */
};
extern HS_HIDDEN struct hs_live_slots hs_live_slots;

/* Where threads that allocate take slots from.  Written by them and by the producer. */
struct hs_live_supply {
	_Atomic uint64_t free_list; /* how many were taken from it << 32 | first slot + 1 */
	_Atomic uint32_t fresh;     /* the first slot that was never used */
	_Atomic uint32_t cancelled; /* how many were given back by hs_live_set_cancel() */
};
extern HS_HIDDEN struct hs_live_supply hs_live_supply;

static inline struct hs_live_slot *hs_live_slot(uint32_t slot)
{
	return &hs_live_slots.slots[slot];
}

static inline enum hs_slot_state hs_slot_state(uint64_t state)
{
	return (enum hs_slot_state)(state & HS_SLOT_STATE_MASK);
}

/* The same slot, heap and generation, in another state. */
static inline uint64_t hs_slot_with_state(uint64_t state, enum hs_slot_state to)
{
	return (state & ~(uint64_t)HS_SLOT_STATE_MASK) | to;
}

static inline uint32_t hs_slot_heap(uint64_t state)
{
	return (uint32_t)(state >> HS_SLOT_HEAP_SHIFT);
}

/* More bits than callers keep: they compare the lower 32. */
static inline uint64_t hs_slot_generation(uint64_t state)
{
	return (state & (((uint64_t)1 << HS_SLOT_HEAP_SHIFT) - 1)) >> HS_SLOT_STATE_BITS;
}

/* A free_sequence that is not a number yet. */
static inline uint64_t hs_slot_no_number(uint64_t state)
{
	return (uint64_t)1 << 63 | hs_slot_generation(state);
}

/* The value of `listed` for a slot that was put on the freed list in this generation. */
static inline uint32_t hs_slot_listed(uint64_t state)
{
	return (uint32_t)hs_slot_generation(state) + 1;
}

/* Moves a slot from one state to the other; false if it was not in the first. */
static inline bool hs_slot_move_state(struct hs_live_slot *at, enum hs_slot_state from,
				      enum hs_slot_state to)
{
	uint64_t state = atomic_load_explicit(&at->state, memory_order_relaxed);

	return hs_slot_state(state) == from &&
	       atomic_compare_exchange_strong_explicit(&at->state, &state,
						       hs_slot_with_state(state, to),
						       memory_order_acq_rel, memory_order_relaxed);
}

/*
 * Puts a chain of slots on a list.  count: what is added to the list's count (see above), which
 * also keeps a head from looking unchanged when it is not (ABA).  Any thread.
 */
void hs_live_slots_push(_Atomic uint64_t *list, uint32_t first, uint32_t last, uint32_t count);

/*
 * Makes a slot EMPTY if it still has this state; false, and nothing is done, if not.  Any thread.
 */
bool hs_live_slot_empty(uint32_t slot, uint64_t state);

/* Makes more slots usable.  Start-up and the producer.  0 or -ENOMEM. */
int hs_live_slots_grow(void);

/*
 * For a slot that was moved to FREED (or MOVING): hs_live_slot_give_number() gives it the number of
 * its free, hs_live_slot_list() puts it on the freed list, hs_live_slot_free() does both and takes
 * it out of the index.  They do nothing if a sweep has done it meanwhile, even if the slot is in
 * use again by now.  state: the one the caller gave it; key: the one it had.  Any thread.
 */
void hs_live_slot_give_number(uint32_t slot, uint64_t state);
void hs_live_slot_list(uint32_t slot, uint64_t state);
void hs_live_slot_free(uint32_t slot, uint64_t state, uint64_t key);

#endif
