/* SPDX-License-Identifier: BSD-2-Clause */
/* The producer's side of the live set.  See live_set.h. */
#include <string.h>

#include "arch/regs.h"
#include "base/alone.h"
#include "base/hot.h"
#include "base/sys.h"
#include "sample/free_journal.h"
#include "sample/heap.h"
#include "sample/live_index.h"
#include "sample/live_slots.h"
#include "sample/live_table.h"

/* At least so many slots get their pages before they are taken. */
#define TOUCHED_AHEAD 512u

/*
 * So many slots are put back on the free list at once, so that the producer and the program's
 * threads do not take the cache line of its head from each other for each slot.
 */
#define RETURNED_AT_ONCE 32u

/* Slots kept free where samples are rare; more are asked for otherwise. */
#define FEW_SLOTS 8192u

/* Once a program has used so many slots, its samples are spread over the whole index. */
#define MANY_SLOTS 128u

/* Reverses chains of slots, all at the same time; nobody else reads them. */
static void reverse(uint32_t links[HS_FREED_LISTS])
{
	uint32_t reversed[HS_FREED_LISTS] = {0};
	bool is_left = true;

	while (is_left) {
		is_left = false;
		for (unsigned i = 0; i < HS_FREED_LISTS; i++) {
			if (links[i] == 0)
				continue;
			uint32_t slot = links[i] - 1, next = hs_live_set_linked(slot) + 1;

			hs_live_set_link(slot, reversed[i] - 1);
			reversed[i] = links[i];
			links[i] = next;
			is_left |= next != 0;
		}
	}
	memcpy(links, reversed, sizeof reversed);
}

/* Makes a link the first of its list, and prefetches the one behind it. */
static void put_first(struct hs_freed_slots *freed, unsigned list, uint32_t link)
{
	uint32_t after;

	freed->links[list] = link;
	freed->numbers[list] = link != 0 ? hs_live_set_free_sequence(link - 1) : UINT64_MAX;
	after = link != 0 ? hs_live_set_linked(link - 1) : HS_SLOT_NONE;
	if (after != HS_SLOT_NONE)
		hs_arch_prefetch_write(hs_live_slot(after));
}

void hs_live_set_take_freed(struct hs_freed_slots *freed)
{
	for (unsigned i = 0; i < HS_FREED_LISTS; i++) {
		_Atomic uint64_t *list = &hs_live_slots.freed_lists[i];
		uint64_t head = 0;

		/* Acquire: pairs with the push.  The list is emptied, and its count is 0 again. */
		if (atomic_load_explicit(list, memory_order_relaxed) != 0)
			head = atomic_exchange_explicit(list, 0, memory_order_acquire);
		hs_live_slots.freed += (uint32_t)(head >> 32);
		freed->links[i] = (uint32_t)head;
	}
	reverse(freed->links);
	for (unsigned i = 0; i < HS_FREED_LISTS; i++)
		put_first(freed, i, freed->links[i]);
}

uint32_t hs_live_set_next_freed(struct hs_freed_slots *freed)
{
	unsigned first = 0;
	uint32_t link;

	for (unsigned i = 1; i < HS_FREED_LISTS; i++) {
		if (freed->numbers[i] < freed->numbers[first])
			first = i;
	}
	link = freed->links[first];
	if (link != 0)
		put_first(freed, first, hs_live_set_linked(link - 1) + 1);
	return link - 1; /* 0 becomes HS_SLOT_NONE */
}

struct hs_book *hs_live_set_book(uint32_t slot)
{
	return &hs_live_slot(slot)->book;
}

bool hs_live_set_take_journaled(uint32_t slot, uint32_t address_bits)
{
	struct hs_live_slot *at = hs_live_slot(slot);
	uint64_t state = atomic_load_explicit(&at->state, memory_order_acquire);

	if (hs_slot_state(state) != HS_SLOT_LIVE || hs_slot_heap(state) != HS_HEAP_MALLOC ||
	    hs_free_journal_bits(hs_live_set_key(slot)) != address_bits ||
	    !atomic_compare_exchange_strong_explicit(&at->state, &state,
						     hs_slot_with_state(state, HS_SLOT_FREED),
						     memory_order_acq_rel, memory_order_relaxed))
		return false;
	/* As if it had been on the list. */
	atomic_store_explicit(&at->listed, hs_slot_listed(state), memory_order_relaxed);
	hs_live_slots.freed++;
	return true;
}

uint32_t hs_live_set_linked(uint32_t slot)
{
	return atomic_load_explicit(&hs_live_slot(slot)->next, memory_order_relaxed) - 1;
}

void hs_live_set_link(uint32_t slot, uint32_t next)
{
	atomic_store_explicit(&hs_live_slot(slot)->next, next + 1, memory_order_relaxed);
}

void hs_live_set_fetch_slot(uint32_t slot)
{
	/* For writing at once: a thread of the program has the cache line. */
	hs_arch_prefetch_write(hs_live_slot(slot));
}

uint64_t hs_live_set_free_sequence(uint32_t slot)
{
	return atomic_load_explicit(&hs_live_slot(slot)->free_sequence, memory_order_relaxed);
}

/*
 * A slot on the freed list has been removed from the index before.  But one of a reported heap may
 * have been freed with its heap before its thread entered it; and a sample that is given up may
 * have left the insert half done, also while FILLING.
 */
static bool may_be_in_index(uint64_t state)
{
	uint32_t heap = hs_slot_heap(state);

	return heap != HS_HEAP_NONE &&
	       (heap != HS_HEAP_MALLOC || hs_slot_state(state) != HS_SLOT_FREED);
}

void hs_live_set_give_back(void)
{
	if (hs_live_slots.returned > 0)
		hs_live_slots_push(&hs_live_supply.free_list, hs_live_slots.returned_first,
				   hs_live_slots.returned_last, 0);
	hs_live_slots.returned = 0;
}

static void return_slot(uint32_t slot)
{
	uint32_t recycled = atomic_load_explicit(&hs_live_slots.recycled, memory_order_relaxed);

	if (hs_live_slots.returned++ == 0)
		hs_live_slots.returned_last = slot;
	else
		hs_live_set_link(slot, hs_live_slots.returned_first);
	hs_live_slots.returned_first = slot;
	/* Release: its having been taken, for hs_live_set_used(). */
	atomic_store_explicit(&hs_live_slots.recycled, recycled + 1, memory_order_release);
	if (hs_live_slots.returned >= RETURNED_AT_ONCE)
		hs_live_set_give_back();
}

/* state: as the caller has read it. */
static bool recycle(uint32_t slot, uint32_t generation, uint64_t state)
{
	struct hs_live_slot *at = hs_live_slot(slot);

	if (hs_slot_state(state) == HS_SLOT_EMPTY ||
	    (uint32_t)hs_slot_generation(state) != generation)
		return false;
	/* Its thread is about to put it on the freed list, or died: it comes from there. */
	if (hs_slot_state(state) == HS_SLOT_FREED &&
	    atomic_load_explicit(&at->listed, memory_order_relaxed) != hs_slot_listed(state))
		return false;
	if (may_be_in_index(state))
		hs_live_index_remove(hs_live_set_key(slot), slot, true);
	if (!hs_live_slot_empty(slot, state))
		return false;
	if (hs_slot_state(state) == HS_SLOT_FREED)
		hs_live_slots.freed--;
	return_slot(slot);
	return true;
}

bool hs_live_set_recycle(uint32_t slot, uint32_t generation)
{
	return recycle(slot, generation,
		       atomic_load_explicit(&hs_live_slot(slot)->state, memory_order_acquire));
}

bool hs_live_set_give_up(uint32_t slot, uint32_t generation)
{
	uint64_t state = atomic_load_explicit(&hs_live_slot(slot)->state, memory_order_acquire);

	return (hs_slot_state(state) == HS_SLOT_FILLING || hs_slot_state(state) == HS_SLOT_LIVE) &&
	       recycle(slot, generation, state);
}

uint32_t hs_live_set_generation(uint32_t slot)
{
	uint64_t state = atomic_load_explicit(&hs_live_slot(slot)->state, memory_order_relaxed);

	return (uint32_t)hs_slot_generation(state);
}

uint32_t hs_live_set_heap(uint32_t slot)
{
	return hs_slot_heap(
		atomic_load_explicit(&hs_live_slot(slot)->state, memory_order_relaxed));
}

uint64_t hs_live_set_id(uint32_t slot)
{
	/* hs_live_key() is its own inverse. */
	return hs_live_key(hs_live_set_heap(slot), hs_live_set_key(slot));
}

/* Frees a slot if it still has this state, and that is LIVE. */
static bool free_live(uint32_t slot, uint64_t state)
{
	uint64_t key = hs_live_set_key(slot), freed = hs_slot_with_state(state, HS_SLOT_FREED);

	if (hs_slot_state(state) != HS_SLOT_LIVE ||
	    !atomic_compare_exchange_strong_explicit(&hs_live_slot(slot)->state, &state, freed,
						     memory_order_acq_rel, memory_order_relaxed))
		return false;
	hs_live_slot_free(slot, freed, key);
	return true;
}

static uint64_t state_of(uint32_t slot)
{
	return atomic_load_explicit(&hs_live_slot(slot)->state, memory_order_acquire);
}

uint32_t hs_live_set_free_heap(uint32_t heap)
{
	uint32_t end = atomic_load_explicit(&hs_live_supply.fresh, memory_order_acquire), count = 0;

	for (uint32_t slot = 0; slot < end; slot++) {
		uint64_t state = state_of(slot);

		count += hs_slot_heap(state) == heap && free_live(slot, state);
	}
	return count;
}

void hs_live_set_clear_books(bool and_free)
{
	uint32_t end = atomic_load_explicit(&hs_live_supply.fresh, memory_order_relaxed);

	/* What is in the books has been entered in the index: nothing is left there for good. */
	for (uint32_t slot = 0; slot < end; slot++) {
		struct hs_book *book = hs_live_set_book(slot);
		uint64_t state;

		/* Written only if there is something to clear: there may be many. */
		if (book->row == 0)
			continue;
		book->row = 0;
		state = state_of(slot);
		if (and_free && book->generation == (uint32_t)hs_slot_generation(state) &&
		    free_live(slot, state))
			hs_heap_count_frees(hs_slot_heap(state), 1);
	}
}

bool hs_live_set_sweep_freed(uint64_t stuck_before)
{
	uint32_t end = atomic_load_explicit(&hs_live_supply.fresh, memory_order_acquire);
	bool has_all = true;

	for (uint32_t slot = 0; slot < end; slot++) {
		struct hs_live_slot *at = hs_live_slot(slot);
		uint64_t state = atomic_load_explicit(&at->state, memory_order_acquire);
		uint64_t freed = atomic_load_explicit(&at->free_sequence, memory_order_relaxed);

		if (hs_slot_state(state) != HS_SLOT_FREED ||
		    atomic_load_explicit(&at->listed, memory_order_relaxed) ==
			    hs_slot_listed(state))
			continue;
		if (freed == hs_slot_no_number(state)) {
			has_all &= hs_alone_has_ended();
			if (!hs_alone_has_ended())
				continue;
			hs_live_slot_give_number(slot, state);
		} else if (freed >= stuck_before) {
			continue;
		}
		hs_live_index_remove(hs_live_set_key(slot), slot, true);
		hs_live_slot_list(slot, state);
	}
	return has_all;
}

HS_SAMPLE_WORDS _Atomic bool hs_live_set_exhausted;

static uint32_t freed_and_not_taken(void)
{
	uint32_t count = 0;

	for (unsigned i = 0; i < HS_FREED_LISTS; i++)
		count +=
			atomic_load_explicit(&hs_live_slots.freed_lists[i], memory_order_acquire) >>
			32;
	return count;
}

/* Has the kernel give pages to slots before they are first taken. */
static void touch_ahead(void)
{
	uint32_t fresh = atomic_load_explicit(&hs_live_supply.fresh, memory_order_relaxed);
	uint32_t end = fresh + fresh / 4 + TOUCHED_AHEAD;

	if (end > hs_live_set_capacity())
		end = hs_live_set_capacity();
	if (hs_live_slots.touched < fresh)
		hs_live_slots.touched = fresh;
	/* In larger pieces, not for each slot. */
	if (end < hs_live_slots.touched + TOUCHED_AHEAD / 4)
		return;
	hs_sys_touch(hs_live_slot(hs_live_slots.touched),
		     (end - hs_live_slots.touched) * sizeof(struct hs_live_slot));
	hs_live_slots.touched = end;
}

/* Once: later tables get their pages when they are made, and a forked child has its parent's. */
static void touch_index(void)
{
	uint64_t table = atomic_load_explicit(&hs_live_index, memory_order_relaxed);
	size_t touched = 0;

	if (hs_live_slots.is_index_touched || !hs_live_index_is_table_used())
		return;
	while (!hs_live_table_touch(table, &touched))
		;
	hs_live_slots.is_index_touched = true;
}

void hs_live_set_begin(void)
{
	hs_live_map_maintain();
	touch_ahead();
}

int hs_live_set_maintain(uint32_t headroom)
{
	/* In this order, acquire: what is freed is in use. */
	uint32_t freed = hs_live_slots.freed + freed_and_not_taken(), in_use = hs_live_set_used();
	/*
	 * Slots on the freed list are not in the index.  Frees that are still in the journal count
	 * as if they were, so the table may become somewhat too large.
	 */
	int error = hs_live_index_maintain(in_use - freed);

	if (hs_live_slots.keeps_few_ahead && headroom > FEW_SLOTS)
		headroom = FEW_SLOTS;
	hs_live_map_maintain();
	while (error == 0 && hs_live_set_capacity() < hs_live_slots.limit &&
	       hs_live_set_capacity() - in_use < headroom)
		error = hs_live_slots_grow();
	if (atomic_load_explicit(&hs_live_supply.fresh, memory_order_relaxed) >= MANY_SLOTS)
		touch_index();
	touch_ahead();
	return error;
}

uint32_t hs_live_set_used(void)
{
	/* In this order, acquire: what is recycled has been taken. */
	uint32_t recycled = atomic_load_explicit(&hs_live_slots.recycled, memory_order_acquire);
	uint32_t cancelled = atomic_load_explicit(&hs_live_supply.cancelled, memory_order_acquire);
	uint64_t head = atomic_load_explicit(&hs_live_supply.free_list, memory_order_relaxed);
	uint32_t fresh = atomic_load_explicit(&hs_live_supply.fresh, memory_order_relaxed);

	return fresh + (uint32_t)(head >> 32) - recycled - cancelled;
}

uint32_t hs_live_set_capacity(void)
{
	return atomic_load_explicit(&hs_live_slots.capacity, memory_order_relaxed);
}

uint32_t hs_live_set_limit(void)
{
	return hs_live_slots.limit;
}
