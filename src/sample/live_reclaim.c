/* SPDX-License-Identifier: BSD-2-Clause */
/* The producer's side of the live set.  See live_set.h. */
#include "sample/live_index.h"
#include "sample/live_slots.h"

/* Turn a chain of links round; it is the caller's alone.  Returns the link of its new head. */
static uint32_t reverse(uint32_t link)
{
	uint32_t reversed = 0;

	while (link != 0) {
		struct hs_live_slot *slot = hs_live_slot(link - 1);
		uint32_t next = atomic_load_explicit(&slot->next, memory_order_relaxed);

		atomic_store_explicit(&slot->next, reversed, memory_order_relaxed);
		reversed = link;
		link = next;
	}
	return reversed;
}

uint32_t hs_live_set_take_freed(void)
{
	/* Acquire: pairs with the push.  The count begins anew: the list is emptied at once. */
	uint64_t head =
		atomic_exchange_explicit(&hs_live_slots.freed_list, 0, memory_order_acquire);

	hs_live_slots.freed += (uint32_t)(head >> 32);
	return reverse((uint32_t)head) - 1; /* 0 becomes HS_SLOT_NONE */
}

uint32_t hs_live_set_next_freed(uint32_t number)
{
	return atomic_load_explicit(&hs_live_slot(number)->next, memory_order_relaxed) - 1;
}

void hs_live_set_link_freed(uint32_t number, uint32_t next)
{
	atomic_store_explicit(&hs_live_slot(number)->next, next + 1, memory_order_relaxed);
}

uint64_t hs_live_set_free_sequence(uint32_t number)
{
	return atomic_load_explicit(&hs_live_slot(number)->free_sequence, memory_order_relaxed);
}

/* The state of a slot for its next sample, of whatever heap. */
static uint64_t emptied(uint64_t state)
{
	uint64_t next = (hs_slot_generation(state) + 1) << HS_SLOT_STATE_BITS;

	return (next & (((uint64_t)1 << HS_SLOT_HEAP_SHIFT) - 1)) | HS_SLOT_EMPTY;
}

/*
 * Whoever lists a freed slot has taken it out of the index before.  But one of a reported heap
 * may have been freed with its heap, before its thread entered it; and that of a sample that is
 * given up may have left the insert in the middle, FILLING too.
 */
static bool may_be_in_index(uint64_t state)
{
	uint32_t heap = hs_slot_heap(state);

	return heap != HS_HEAP_NONE &&
	       (heap != HS_HEAP_MALLOC || hs_slot_state(state) != HS_SLOT_FREED);
}

/* state: what it was when the caller looked. */
static bool recycle(uint32_t number, uint32_t generation, uint64_t state)
{
	struct hs_live_slot *slot = hs_live_slot(number);

	if (hs_slot_state(state) == HS_SLOT_EMPTY ||
	    (uint32_t)hs_slot_generation(state) != generation)
		return false;
	/* Its thread, slow or dead, has yet to put it on the freed list: it comes from there. */
	if (hs_slot_state(state) == HS_SLOT_FREED &&
	    atomic_load_explicit(&slot->listed, memory_order_relaxed) != hs_slot_listed(state))
		return false;
	if (may_be_in_index(state))
		hs_live_index_remove(hs_live_set_key(number), number);
	/* Not if the program has just freed it: then it comes off the freed list. */
	if (!atomic_compare_exchange_strong_explicit(&slot->state, &state, emptied(state),
						     memory_order_relaxed, memory_order_relaxed))
		return false;
	if (hs_slot_state(state) == HS_SLOT_FREED)
		hs_live_slots.freed--;
	atomic_store_explicit(&slot->key, 0, memory_order_relaxed);
	/* Release: its having been taken, for hs_live_set_used(). */
	atomic_fetch_add_explicit(&hs_live_slots.recycled, 1, memory_order_release);
	hs_live_slot_push(&hs_live_slots.free_list, number, 0);
	return true;
}

bool hs_live_set_recycle(uint32_t number, uint32_t generation)
{
	return recycle(number, generation,
		       atomic_load_explicit(&hs_live_slot(number)->state, memory_order_acquire));
}

bool hs_live_set_give_up(uint32_t number, uint32_t generation)
{
	uint64_t state = atomic_load_explicit(&hs_live_slot(number)->state, memory_order_acquire);

	return (hs_slot_state(state) == HS_SLOT_FILLING || hs_slot_state(state) == HS_SLOT_LIVE) &&
	       recycle(number, generation, state);
}

uint32_t hs_live_set_generation(uint32_t number)
{
	uint64_t state = atomic_load_explicit(&hs_live_slot(number)->state, memory_order_relaxed);

	return (uint32_t)hs_slot_generation(state);
}

uint32_t hs_live_set_heap(uint32_t number)
{
	return hs_slot_heap(
		atomic_load_explicit(&hs_live_slot(number)->state, memory_order_relaxed));
}

uint64_t hs_live_set_key(uint32_t number)
{
	return atomic_load_explicit(&hs_live_slot(number)->key, memory_order_relaxed);
}

uint64_t hs_live_set_id(uint32_t number)
{
	/* The key is made of the id by an exclusive or, which undoes itself. */
	return hs_live_key(hs_live_set_heap(number), hs_live_set_key(number));
}

uint32_t hs_live_set_free_heap(uint32_t heap, _Atomic uint64_t *sequence)
{
	uint32_t end = atomic_load_explicit(&hs_live_slots.fresh, memory_order_acquire), count = 0;

	for (uint32_t number = 0; number < end; number++) {
		struct hs_live_slot *slot = hs_live_slot(number);
		uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
		uint64_t key = hs_live_set_key(number);

		if (hs_slot_heap(state) != heap || hs_slot_state(state) != HS_SLOT_LIVE ||
		    !atomic_compare_exchange_strong_explicit(
			    &slot->state, &state, hs_slot_with_state(state, HS_SLOT_FREED),
			    memory_order_acq_rel, memory_order_relaxed))
			continue;
		hs_live_slot_free(number, hs_slot_with_state(state, HS_SLOT_FREED), key, sequence);
		count++;
	}
	return count;
}

void hs_live_set_sweep_freed(uint64_t stuck_before, _Atomic uint64_t *sequence)
{
	uint32_t end = atomic_load_explicit(&hs_live_slots.fresh, memory_order_acquire);

	for (uint32_t number = 0; number < end; number++) {
		struct hs_live_slot *slot = hs_live_slot(number);
		uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
		uint64_t freed = atomic_load_explicit(&slot->free_sequence, memory_order_relaxed);

		if (hs_slot_state(state) != HS_SLOT_FREED ||
		    atomic_load_explicit(&slot->listed, memory_order_relaxed) ==
			    hs_slot_listed(state))
			continue;
		if (freed == hs_slot_no_number(state))
			hs_live_slot_number(number, state, sequence);
		else if (freed >= stuck_before)
			continue;
		hs_live_index_remove(hs_live_set_key(number), number);
		hs_live_slot_list(number, state);
	}
}

_Atomic bool hs_live_set_exhausted;

int hs_live_set_maintain(uint32_t headroom)
{
	/* In this order, acquire: what is freed is in use. */
	uint64_t head = atomic_load_explicit(&hs_live_slots.freed_list, memory_order_acquire);
	uint32_t freed = hs_live_slots.freed + (uint32_t)(head >> 32);
	uint32_t in_use = hs_live_set_used();
	/* What is freed is not in the index, however long the producer has yet to come to it. */
	int error = hs_live_index_maintain(in_use - freed);

	while (error == 0 && hs_live_set_capacity() < hs_live_slots.limit &&
	       hs_live_set_capacity() - in_use < headroom)
		error = hs_live_slots_grow();
	return error;
}

uint32_t hs_live_set_used(void)
{
	/* In this order, acquire: what is recycled has been taken. */
	uint32_t recycled = atomic_load_explicit(&hs_live_slots.recycled, memory_order_acquire);
	uint64_t head = atomic_load_explicit(&hs_live_slots.free_list, memory_order_relaxed);
	uint32_t fresh = atomic_load_explicit(&hs_live_slots.fresh, memory_order_relaxed);

	return fresh + (uint32_t)(head >> 32) - recycled;
}

uint32_t hs_live_set_capacity(void)
{
	return atomic_load_explicit(&hs_live_slots.capacity, memory_order_relaxed);
}

uint32_t hs_live_set_limit(void)
{
	return hs_live_slots.limit;
}
