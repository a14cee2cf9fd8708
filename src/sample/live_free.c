/* SPDX-License-Identifier: BSD-2-Clause */
/* How a sample comes out of the live set, on the program's threads.  See live_set.h. */
#include "arch/regs.h"
#include "base/alone.h"
#include "base/likely.h"
#include "sample/free_journal.h"
#include "sample/free_times.h"
#include "sample/live_index.h"
#include "sample/live_slots.h"
#include "sample/sequence.h"

/* Moves a slot on if it is LIVE with this heap and key.  *out_state: its new state. */
static bool take_live(uint32_t slot, uint32_t heap, uint64_t key, enum hs_slot_state to,
		      uint64_t *out_state)
{
	struct hs_live_slot *at = hs_live_slot(slot);
	uint64_t state = atomic_load_explicit(&at->state, memory_order_acquire);

	*out_state = hs_slot_with_state(state, to);
	return hs_slot_state(state) == HS_SLOT_LIVE && hs_slot_heap(state) == heap &&
	       atomic_load_explicit(&at->key, memory_order_relaxed) == key &&
	       atomic_compare_exchange_strong_explicit(&at->state, &state, *out_state,
						       memory_order_acq_rel, memory_order_relaxed);
}

static void set_number(uint32_t slot, uint64_t state, uint64_t number)
{
	uint64_t none = hs_slot_no_number(state);

	atomic_compare_exchange_strong_explicit(&hs_live_slot(slot)->free_sequence, &none, number,
						memory_order_relaxed, memory_order_relaxed);
}

void hs_live_slot_give_number(uint32_t slot, uint64_t state)
{
	hs_free_times_note(slot);
	set_number(slot, state, hs_sequence_take());
}

void hs_live_slot_list(uint32_t slot, uint64_t state)
{
	struct hs_live_slot *at = hs_live_slot(slot);
	uint32_t listed = atomic_load_explicit(&at->listed, memory_order_relaxed);

	/* If it is less, it was not listed in this generation.  By difference: generations wrap. */
	if (hs_likely((int32_t)(listed - hs_slot_listed(state)) < 0) &&
	    atomic_compare_exchange_strong_explicit(&at->listed, &listed, hs_slot_listed(state),
						    memory_order_relaxed, memory_order_relaxed))
		hs_live_slots_push(&hs_live_slots.freed_lists[slot % HS_FREED_LISTS], slot, slot,
				   1);
}

/* The slot has been moved from HS_SLOT_LIVE to FREED. */
void hs_live_slot_free(uint32_t slot, uint64_t state, uint64_t key)
{
	hs_live_slot_give_number(slot, state);
	hs_live_index_remove(key, slot, !hs_is_alone());
	hs_live_slot_list(slot, state);
}

/* The journal has no room: the slot itself gets the number.  There is no stream, so no time. */
static __attribute__((noinline)) void list_instead(uint32_t slot, uint64_t address, uint64_t number)
{
	uint64_t state;

	if (!take_live(slot, HS_HEAP_MALLOC, address, HS_SLOT_FREED, &state))
		return;
	set_number(slot, state, number);
	hs_live_slot_list(slot, state);
}

/* Frees a block of malloc's that is in the map, without reading its slot. */
static inline bool free_mapped(uint64_t address)
{
	_Atomic uint32_t *cell = hs_live_map_cell(address);
	uint32_t held = cell != NULL ? atomic_load_explicit(cell, memory_order_relaxed) : 0;
	uint64_t number;

	if (held == 0)
		return false;
	number = hs_sequence_take();
	if (!hs_free_journal_put(number, held - 1, address))
		list_instead(held - 1, address, number);
	/*
	 * Last, while the memory is still the caller's: if its thread dies before this, the next
	 * sample of the address ends this one.
	 */
	atomic_store_explicit(cell, 0, memory_order_relaxed);
	return true;
}

/*
 * The same for a slot that a search in the tables has found.  False: it is not a sample of this
 * address.  It is removed from the tables first: once the journal has the free the slot may become
 * another sample's.  If the thread dies in between, the memory is never freed, and the sample
 * rightly stays in use.
 */
static inline bool free_found(uint32_t slot, uint64_t address)
{
	uint64_t state = atomic_load_explicit(&hs_live_slot(slot)->state, memory_order_acquire);
	bool is_locked = !hs_is_alone();
	uint64_t number;

	if (hs_slot_state(state) != HS_SLOT_LIVE || hs_slot_heap(state) != HS_HEAP_MALLOC ||
	    hs_live_set_key(slot) != address || !hs_live_index_remove(address, slot, is_locked))
		return false;
	number = hs_sequence_take();
	if (!hs_free_journal_put(number, slot, address))
		list_instead(slot, address, number);
	return true;
}

/* With a journal and no map.  Ends one at most: malloc's samples are superseded one by one. */
static __attribute__((noinline)) uint32_t free_to_journal(uint64_t address)
{
	struct hs_live_search search;
	uint32_t slot;

	/* Prefetched before the slot is read, which takes a while. */
	hs_arch_prefetch_write(&hs_sequence);
	hs_free_journal_fetch(atomic_load_explicit(&hs_sequence.next, memory_order_relaxed));
	hs_live_search_start(&search, address);
	while ((slot = hs_live_search_next(&search)) != HS_SLOT_NONE) {
		if (free_found(slot, address))
			return 1;
	}
	return 0;
}

/* With a map, or without a journal. */
static __attribute__((noinline)) uint32_t free_any(uint32_t heap, uint64_t id)
{
	uint64_t key = hs_live_key(heap, id), state;
	struct hs_live_search search;
	uint32_t slot, count = 0;

	if (hs_free_journal_is_kept() && heap == HS_HEAP_MALLOC) {
		count = free_mapped(id);
		if (!hs_live_index_is_table_used())
			return count;
	}
	hs_live_search_start(&search, key);
	while ((slot = hs_live_search_next(&search)) != HS_SLOT_NONE) {
		if (take_live(slot, heap, key, HS_SLOT_FREED, &state)) {
			hs_live_slot_free(slot, state, key);
			count++;
		}
	}
	return count;
}

uint32_t hs_live_set_free_id(uint32_t heap, uint64_t id)
{
	/* Two functions: one for both would take more stack. */
	return hs_free_journal_is_kept() && heap == HS_HEAP_MALLOC && !hs_live_map_is_used()
		       ? free_to_journal(id)
		       : free_any(heap, id);
}

uint32_t hs_live_set_begin_move(const void *address)
{
	uint64_t key = hs_live_key(HS_HEAP_MALLOC, (uintptr_t)address), state;
	struct hs_live_search search;
	uint32_t slot;

	hs_live_search_start(&search, key);
	while ((slot = hs_live_search_next(&search)) != HS_SLOT_NONE) {
		if (take_live(slot, HS_HEAP_MALLOC, key, HS_SLOT_MOVING, &state)) {
			hs_live_slot_give_number(slot, state);
			/*
			 * Now: the memory may soon be another thread's, whose free must not find
			 * it.
			 */
			atomic_store_explicit(&hs_live_slot(slot)->next,
					      hs_live_map_remove(key, slot), memory_order_relaxed);
			return slot;
		}
	}
	return HS_SLOT_NONE;
}

void hs_live_set_end_move(uint32_t slot)
{
	uint64_t state = atomic_load_explicit(&hs_live_slot(slot)->state, memory_order_relaxed);
	uint64_t key = hs_live_set_key(slot);

	/* From here on a sweep may deal with the slot. */
	hs_slot_move_state(hs_live_slot(slot), HS_SLOT_MOVING, HS_SLOT_FREED);
	hs_live_index_remove(key, slot, !hs_is_alone());
	hs_live_slot_list(slot, state);
}

uint64_t hs_live_set_cancel_move(uint32_t slot)
{
	struct hs_live_slot *at = hs_live_slot(slot);
	uint64_t state = atomic_load_explicit(&at->state, memory_order_relaxed);
	uint64_t sequence = atomic_load_explicit(&at->free_sequence, memory_order_relaxed);

	/* Its free will take another number. */
	atomic_store_explicit(&at->free_sequence, hs_slot_no_number(state), memory_order_relaxed);
	hs_slot_move_state(at, HS_SLOT_MOVING, HS_SLOT_LIVE);
	if (atomic_load_explicit(&at->next, memory_order_relaxed) != 0)
		hs_live_map_insert(hs_live_set_key(slot), slot);
	return sequence;
}
