/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slots of the live set, and how a sample gets into one, on the program's threads; how it comes
 * out is in live_free.c, the index in live_index.c.  See live_set.h.
 */
#include "sample/live_set.h"

#include <errno.h>

#include "arch/regs.h"
#include "base/alone.h"
#include "base/arena.h"
#include "base/hot.h"
#include "base/likely.h"
#include "sample/live_index.h"
#include "sample/live_slots.h"
#include "sample/live_table.h"

/* Bound on retries of a compare-and-swap that others keep winning. */
#define SWAP_TRIES 1000

/* So many slots of a large set are made usable at first; of a small one, this part. */
#define FIRST_SLOTS (128u << 10)
#define FIRST_SHARE 4u

/* Slots made usable at a time. */
#define COMMIT_SLOTS (16u << 10)

HS_SAMPLE_DATA struct hs_live_slots hs_live_slots;
HS_EACH_SAMPLE _Alignas(HS_CACHE_LINE_BYTES) struct hs_live_supply hs_live_supply;

void hs_live_slots_push(_Atomic uint64_t *list, uint32_t first, uint32_t last, uint32_t count)
{
	uint64_t head = atomic_load_explicit(list, memory_order_relaxed), pushed;

	/*
	 * Unbounded in theory; each failure means that another thread succeeded.  Release:
	 * the slot's fields, for the acquire of whoever takes it.
	 */
	do {
		atomic_store_explicit(&hs_live_slot(last)->next, (uint32_t)head,
				      memory_order_relaxed);
		pushed = ((head >> 32) + count) << 32 | (first + 1);
	} while (!atomic_compare_exchange_weak_explicit(list, &head, pushed, memory_order_release,
							memory_order_relaxed));
}

static uint32_t pop(_Atomic uint64_t *list)
{
	uint64_t head = atomic_load_explicit(list, memory_order_acquire);

	for (int tries = 0; tries < SWAP_TRIES && (uint32_t)head != 0; tries++) {
		uint32_t slot = (uint32_t)head - 1;
		/* May be stale when another thread has taken the slot: then the count differs. */
		uint32_t next =
			atomic_load_explicit(&hs_live_slot(slot)->next, memory_order_relaxed);

		if (hs_likely(atomic_compare_exchange_weak_explicit(
			    list, &head, ((head >> 32) + 1) << 32 | next, memory_order_acquire,
			    memory_order_acquire)))
			return slot;
	}
	return HS_SLOT_NONE;
}

/* more: a multiple of COMMIT_SLOTS, not past the limit. */
static int grow_by(uint32_t more)
{
	uint32_t from = hs_live_set_capacity();
	int error = hs_arena_commit(hs_live_slot(from), (size_t)more * sizeof(struct hs_live_slot));

	if (error == 0)
		atomic_store_explicit(&hs_live_slots.capacity, from + more, memory_order_release);
	return error;
}

int hs_live_slots_grow(void)
{
	return hs_live_set_capacity() < hs_live_slots.limit ? grow_by(COMMIT_SLOTS) : -ENOMEM;
}

static uint32_t in_steps(uint32_t slots)
{
	return (slots + COMMIT_SLOTS - 1) / COMMIT_SLOTS * COMMIT_SLOTS;
}

int hs_live_set_init(const struct hs_live_setup *setup)
{
	uint32_t limit = in_steps(setup->slots), first = setup->slots / FIRST_SHARE;
	int error;

	if (first > FIRST_SLOTS)
		first = FIRST_SLOTS;
	if (setup->keeps_few_ahead)
		first = 1; /* step */
	hs_live_slots.limit = limit;
	hs_live_slots.keeps_few_ahead = setup->keeps_few_ahead;
	hs_live_slots.slots = hs_arena_reserve((size_t)limit * sizeof(struct hs_live_slot));
	if (hs_live_slots.slots == NULL)
		return -ENOMEM;
	error = grow_by(in_steps(first));
	/* It goes with fewer too. */
	if (error != 0)
		error = hs_live_slots_grow();
	if (error != 0)
		return error;
	hs_live_table_set_filter(setup->has_filter, setup->interval_bytes);
	return hs_live_index_init(setup->expected);
}

void hs_live_set_fetch_next(void)
{
	uint32_t link = (uint32_t)atomic_load_explicit(&hs_live_supply.free_list,
						       memory_order_relaxed);
	uint32_t fresh = atomic_load_explicit(&hs_live_supply.fresh, memory_order_relaxed);

	hs_arch_prefetch_write(hs_live_slot(link != 0 ? link - 1 : fresh));
}

void hs_live_set_fetch(uint64_t key)
{
	uint64_t index = atomic_load_explicit(&hs_live_index, memory_order_relaxed);

	hs_live_set_fetch_next();
	if (hs_unlikely(!hs_live_index_is_table_used()))
		return;
	hs_arch_prefetch_write(hs_live_table_home(index, hs_live_hash(key)));
	hs_arch_prefetch_write(hs_live_filter_byte(hs_arch_load_shift(&hs_live_filter), key));
}

bool hs_live_set_take(struct hs_taken_slot *taken)
{
	uint32_t slot = pop(&hs_live_supply.free_list);
	uint64_t state;

	if (hs_unlikely(slot == HS_SLOT_NONE)) {
		slot = atomic_load_explicit(&hs_live_supply.fresh, memory_order_relaxed);
		do {
			if (slot >=
			    atomic_load_explicit(&hs_live_slots.capacity, memory_order_acquire))
				return false;
		} while (!atomic_compare_exchange_weak_explicit(&hs_live_supply.fresh, &slot,
								slot + 1, memory_order_relaxed,
								memory_order_relaxed));
		/* Written before it is read, in case its page is new: see hs_sys_touch(). */
		atomic_store_explicit(&hs_live_slot(slot)->next, 0, memory_order_relaxed);
	}
	state = atomic_load_explicit(&hs_live_slot(slot)->state, memory_order_relaxed);
	atomic_store_explicit(&hs_live_slot(slot)->free_sequence, hs_slot_no_number(state),
			      memory_order_relaxed);
	/*
	 * It may be of a generation of long ago if samples were cancelled since.  Never decreases,
	 * so threads that are late with a free of an earlier generation still find theirs passed.
	 */
	atomic_store_explicit(&hs_live_slot(slot)->listed, hs_slot_listed(state) - 1,
			      memory_order_relaxed);
	atomic_store_explicit(&hs_live_slot(slot)->state,
			      hs_slot_with_state(state, HS_SLOT_FILLING), memory_order_relaxed);
	taken->slot = slot;
	taken->generation = (uint32_t)hs_slot_generation(state);
	return true;
}

bool hs_live_set_insert_id(const struct hs_taken_slot *taken, uint32_t heap, uint64_t id)
{
	struct hs_live_slot *at = hs_live_slot(taken->slot);
	uint64_t key = hs_live_key(heap, id);

	uint64_t state = atomic_load_explicit(&at->state, memory_order_relaxed);
	uint64_t live = hs_slot_with_state(state, HS_SLOT_LIVE) | (uint64_t)heap
									  << HS_SLOT_HEAP_SHIFT;

	atomic_store_explicit(&at->key, key, memory_order_relaxed);
	/*
	 * LIVE, and of a heap, first: whoever finds the slot by the index must be able to free it.
	 * Release: key.
	 */
	if (hs_unlikely(hs_slot_state(state) != HS_SLOT_FILLING ||
			!hs_alone_compare_exchange(&at->state, &state, live)))
		return false;
	if (hs_unlikely(hs_live_map_is_used()) && heap == HS_HEAP_MALLOC &&
	    hs_live_map_insert(key, taken->slot))
		return true;
	if (hs_likely(hs_live_index_insert(key, taken->slot)))
		return true;
	hs_live_index_refuse(key, taken->slot);
	/* Computed again: keeping it in `at` would take stack. */
	hs_slot_move_state(hs_live_slot(taken->slot), HS_SLOT_LIVE, HS_SLOT_FILLING);
	return false;
}

/* The state EMPTY with the next generation. */
static uint64_t emptied(uint64_t state)
{
	uint64_t next = (hs_slot_generation(state) + 1) << HS_SLOT_STATE_BITS;

	return (next & (((uint64_t)1 << HS_SLOT_HEAP_SHIFT) - 1)) | HS_SLOT_EMPTY;
}

bool hs_live_slot_empty(uint32_t slot, uint64_t state)
{
	struct hs_live_slot *at = hs_live_slot(slot);

	/* Fails if the program has just freed it: then it comes off the freed list. */
	if (!atomic_compare_exchange_strong_explicit(&at->state, &state, emptied(state),
						     memory_order_relaxed, memory_order_relaxed))
		return false;
	atomic_store_explicit(&at->key, 0, memory_order_relaxed);
	return true;
}

void hs_live_set_cancel(struct hs_taken_slot taken)
{
	uint64_t state =
		atomic_load_explicit(&hs_live_slot(taken.slot)->state, memory_order_relaxed);

	/* It is not in the index.  FREED, with its heap: it comes off the freed list. */
	if (hs_slot_state(state) != HS_SLOT_FILLING ||
	    (uint32_t)hs_slot_generation(state) != taken.generation ||
	    !hs_live_slot_empty(taken.slot, state))
		return;
	/* Release: its having been taken, for hs_live_set_used(). */
	atomic_fetch_add_explicit(&hs_live_supply.cancelled, 1, memory_order_release);
	hs_live_slots_push(&hs_live_supply.free_list, taken.slot, taken.slot, 0);
}

uint64_t hs_live_set_key(uint32_t slot)
{
	return atomic_load_explicit(&hs_live_slot(slot)->key, memory_order_relaxed);
}
