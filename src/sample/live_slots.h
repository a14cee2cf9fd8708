/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slots of the live set: for live_set.c and live_free.c, what the program's threads do with
 * them, and live_reclaim.c, what the producer does.
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
 * state: heap << 56 | generation << 3 | enum hs_slot_state.  key: written while FILLING.
 * Reset to 0 when the slot is emptied.
 * free_sequence: no_number() of the slot's generation, then the number, by compare-and-swap:
 * whoever moved LIVE on sets it, or a sweep, before the slot is on the freed list.  Not where the
 * journal has the free.
 * next: link + 1 of the list the slot is on; 0 = last.  While MOVING: whether the map had it.
 * book: in the same line, for the producer comes to it from what the program's threads have written
 * here just before.
 */
struct hs_live_slot {
	_Alignas(64) _Atomic uint64_t state;
	_Atomic uint64_t key;
	_Atomic uint64_t free_sequence;
	_Atomic uint32_t next;
	_Atomic uint32_t listed; /* generation (low bits) for which it was put on the freed list */
	struct hs_book book;
};

/* In cache lines by who writes them.  Counts wrap: only differences count. */
struct hs_live_slots {
	/* hs_live_set_init() and, capacity, the producer: read at each look at a slot. */
	struct hs_live_slot *slots;
	uint32_t limit;
	_Atomic uint32_t capacity; /* slots usable */

	/*
	 * Threads that free, and the producer.  A slot's list is by its number.  Put on it since
	 * it was taken << 32 | slot + 1.
	 */
	_Alignas(64) _Atomic uint64_t freed_lists[HS_FREED_LISTS];

	/* The producer's; but for the first its own. */
	_Alignas(64) _Atomic uint32_t recycled;
	uint32_t freed;   /* taken off the freed list and not recycled */
	uint32_t touched; /* slots below have their pages, at least */
	bool is_index_touched;
	uint32_t returned_first; /* EMPTY slots that are yet to go on the free list: the first, */
	uint32_t returned_last;  /* the last, */
	uint32_t returned;       /* and how many; 0: none */
};
extern HS_HIDDEN struct hs_live_slots hs_live_slots;

/* Where threads that allocate take slots from.  Written by: they, and the producer. */
struct hs_live_supply {
	_Atomic uint64_t free_list; /* slots taken from it << 32 | slot + 1 */
	_Atomic uint32_t fresh;     /* slots never used yet begin here */
	_Atomic uint32_t cancelled; /* given back by those who took them */
};
extern HS_HIDDEN struct hs_live_supply hs_live_supply;

static inline struct hs_live_slot *hs_live_slot(uint32_t number)
{
	return &hs_live_slots.slots[number];
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

/* What `listed` is for a slot that is on the freed list. */
static inline uint32_t hs_slot_listed(uint64_t state)
{
	return (uint32_t)hs_slot_generation(state) + 1;
}

/* Move a slot from one state to the other; false if it was not in the first. */
static inline bool hs_slot_move_state(struct hs_live_slot *slot, enum hs_slot_state from,
				      enum hs_slot_state to)
{
	uint64_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);

	return hs_slot_state(state) == from &&
	       atomic_compare_exchange_strong_explicit(&slot->state, &state,
						       hs_slot_with_state(state, to),
						       memory_order_acq_rel, memory_order_relaxed);
}

/*
 * Put slots on a list, linked from the first to the last; count: what to add to the list's count.
 * The free list counts only what is taken from it: that is enough to tell one head from another.
 * Any thread.
 */
void hs_live_slots_push(_Atomic uint64_t *list, uint32_t first, uint32_t last, uint32_t count);

/*
 * Make a slot EMPTY that has this state.  False, and nothing done, if its state is another by now.
 * Any thread.
 */
bool hs_live_slot_empty(uint32_t number, uint64_t state);

/* Make more slots usable.  Start-up and the producer.  0 or -ENOMEM. */
int hs_live_slots_grow(void);

/*
 * A slot has been moved to FREED (or MOVING): give it the number of its free; put it on the
 * freed list; both, and take it out of the index.  They do nothing for a slot that a sweep has
 * dealt with meanwhile, even if it is in use again: state is the one that the caller gave it,
 * key the one it had.  Any thread.
 */
void hs_live_slot_number(uint32_t number, uint64_t state, _Atomic uint64_t *sequence);
void hs_live_slot_list(uint32_t number, uint64_t state);
void hs_live_slot_free(uint32_t number, uint64_t state, uint64_t key, _Atomic uint64_t *sequence);

#endif
