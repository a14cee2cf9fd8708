/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slots of the live set and their life, on the program's threads.  The index is in
 * live_index.c.  See live_set.h.
 */
#include "sample/live_set.h"

#include <errno.h>

#include "base/arena.h"
#include "sample/free_times.h"
#include "sample/live_index.h"

enum slot_state { EMPTY, FILLING, LIVE, MOVING, FREED };

#define STATE_BITS 3
#define STATE_MASK ((1u << STATE_BITS) - 1)

/* Bound on retries of a compare-and-swap that others keep winning. */
#define SWAP_TRIES 1000

/* Slots made usable at a time. */
#define COMMIT_SLOTS (128u << 10)

/*
 * state: generation << 3 | enum slot_state.  address: written while FILLING.
 * Reset to 0 when the slot is emptied.
 * free_sequence: no_number() of the slot's generation, then the number, by compare-and-swap:
 * whoever moved LIVE on sets it, or a sweep, before the slot is on the freed list.
 * next: link + 1 of the list the slot is on; 0 = last.
 */
struct slot {
	_Atomic uint64_t state;
	_Atomic uint64_t address;
	_Atomic uint64_t free_sequence;
	_Atomic uint32_t next;
	_Atomic uint32_t listed; /* generation (low bits) for which it was put on the freed list */
};

/* A free_sequence that is not a number yet. */
static uint64_t no_number(uint64_t state)
{
	return (uint64_t)1 << 63 | state >> STATE_BITS;
}

/* The same slot and generation, in another state. */
static uint64_t with_state(uint64_t state, enum slot_state to)
{
	return (state & ~(uint64_t)STATE_MASK) | to;
}

static struct slot *slots;
static uint32_t slot_limit;
static _Atomic uint32_t capacity;  /* slots usable; grown by the producer */
static _Atomic uint32_t fresh;     /* slots never used yet begin here */
static _Atomic uint32_t used;
static _Alignas(64) _Atomic uint64_t free_list;  /* tag << 32 | slot + 1 */
static _Alignas(64) _Atomic uint64_t freed_list; /* the same */

static void push(_Atomic uint64_t *list, uint32_t number)
{
	uint64_t head = atomic_load_explicit(list, memory_order_relaxed), pushed;

	/*
	 * Unbounded in theory; each failure means that another thread succeeded.  Release:
	 * the slot's fields, for the acquire of whoever takes it.
	 */
	do {
		atomic_store_explicit(&slots[number].next, (uint32_t)head, memory_order_relaxed);
		pushed = ((head >> 32) + 1) << 32 | (number + 1);
	} while (!atomic_compare_exchange_weak_explicit(list, &head, pushed, memory_order_release,
							memory_order_relaxed));
}

static uint32_t pop(_Atomic uint64_t *list)
{
	uint64_t head = atomic_load_explicit(list, memory_order_acquire);

	for (int tries = 0; tries < SWAP_TRIES && (uint32_t)head != 0; tries++) {
		uint32_t number = (uint32_t)head - 1;
		/* May be stale when another thread has taken the slot: then the tag differs. */
		uint32_t next = atomic_load_explicit(&slots[number].next, memory_order_relaxed);

		if (atomic_compare_exchange_weak_explicit(
			    list, &head, ((head >> 32) + 1) << 32 | next,
			    memory_order_acquire, memory_order_acquire))
			return number;
	}
	return HS_SLOT_NONE;
}

static int grow_slots(void)
{
	uint32_t from = atomic_load_explicit(&capacity, memory_order_relaxed);
	uint32_t more = slot_limit - from < COMMIT_SLOTS ? slot_limit - from : COMMIT_SLOTS;
	int error;

	if (more == 0)
		return -ENOMEM;
	error = hs_arena_commit(&slots[from], (size_t)more * sizeof *slots);
	if (error == 0)
		atomic_store_explicit(&capacity, from + more, memory_order_release);
	return error;
}

int hs_live_set_init(uint32_t limit, uint32_t expected)
{
	int error;

	slot_limit = (limit + COMMIT_SLOTS - 1) / COMMIT_SLOTS * COMMIT_SLOTS;
	slots = hs_arena_reserve((size_t)slot_limit * sizeof *slots);
	if (slots == NULL)
		return -ENOMEM;
	error = grow_slots();
	return error != 0 ? error : hs_live_index_init(expected);
}

bool hs_live_set_take(struct hs_live_ticket *ticket)
{
	uint32_t number = pop(&free_list);
	uint64_t state;

	if (number == HS_SLOT_NONE) {
		number = atomic_load_explicit(&fresh, memory_order_relaxed);
		do {
			if (number >= atomic_load_explicit(&capacity, memory_order_acquire))
				return false;
		} while (!atomic_compare_exchange_weak_explicit(&fresh, &number, number + 1,
								memory_order_relaxed,
								memory_order_relaxed));
	}
	state = atomic_load_explicit(&slots[number].state, memory_order_relaxed);
	atomic_store_explicit(&slots[number].free_sequence, no_number(state), memory_order_relaxed);
	atomic_store_explicit(&slots[number].state, with_state(state, FILLING),
			      memory_order_relaxed);
	atomic_fetch_add_explicit(&used, 1, memory_order_relaxed);
	ticket->slot = number;
	ticket->generation = (uint32_t)(state >> STATE_BITS);
	return true;
}

/* Move a slot from one state to the other; false if it was not in the first. */
static bool move_state(struct slot *slot, enum slot_state from, enum slot_state to)
{
	uint64_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);

	return (state & STATE_MASK) == from &&
	       atomic_compare_exchange_strong_explicit(&slot->state, &state, with_state(state, to),
						       memory_order_acq_rel, memory_order_relaxed);
}

bool hs_live_set_insert(struct hs_live_ticket ticket, const void *address)
{
	struct slot *slot = &slots[ticket.slot];

	atomic_store_explicit(&slot->address, (uint64_t)(uintptr_t)address, memory_order_relaxed);
	/*
	 * LIVE first: whoever finds the slot by the index must be able to free it.
	 * Release: address.
	 */
	if (!move_state(slot, FILLING, LIVE))
		return false;
	if (hs_live_index_insert((uint64_t)(uintptr_t)address, ticket.slot))
		return true;
	move_state(slot, LIVE, FILLING);
	return false;
}

void hs_live_set_cancel(struct hs_live_ticket ticket)
{
	hs_live_set_recycle(ticket.slot, ticket.generation);
}

/*
 * Find the LIVE slot of address and move it to another state.  out_state: what it was
 * moved to.
 */
static uint32_t take_live(uint64_t address, enum slot_state to, uint64_t *out_state)
{
	struct hs_live_search search;
	uint32_t number;

	hs_live_search_start(&search, address);
	while ((number = hs_live_search_next(&search)) != HS_SLOT_NONE) {
		struct slot *slot = &slots[number];
		uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

		if ((state & STATE_MASK) == LIVE &&
		    atomic_load_explicit(&slot->address, memory_order_relaxed) == address &&
		    atomic_compare_exchange_strong_explicit(
			    &slot->state, &state, with_state(state, to),
			    memory_order_acq_rel, memory_order_relaxed)) {
			*out_state = with_state(state, to);
			return number;
		}
	}
	return HS_SLOT_NONE;
}

/*
 * This and put_on_freed_list() do nothing for a slot that a sweep has dealt with
 * meanwhile, even if it is in use again: state is the one that the caller gave it.
 */
static void take_number(struct slot *slot, uint64_t state, _Atomic uint64_t *sequence)
{
	uint64_t none = no_number(state);
	/*
	 * Acquire-release: the numbers of an address's free and of its next allocation
	 * must not be swapped with the calls between which the address changes hands.
	 */
	uint64_t number = atomic_fetch_add_explicit(sequence, 1, memory_order_acq_rel);

	hs_free_times_note((uint32_t)(slot - slots));
	atomic_compare_exchange_strong_explicit(&slot->free_sequence, &none, number,
						memory_order_relaxed, memory_order_relaxed);
}

static uint32_t listed_for(uint64_t state)
{
	return (uint32_t)(state >> STATE_BITS) + 1;
}

static void put_on_freed_list(uint32_t number, uint64_t state)
{
	struct slot *slot = &slots[number];
	uint32_t listed = atomic_load_explicit(&slot->listed, memory_order_relaxed);

	/* Below: for an earlier generation.  The difference, for generations wrap. */
	if ((int32_t)(listed - listed_for(state)) < 0 &&
	    atomic_compare_exchange_strong_explicit(&slot->listed, &listed, listed_for(state),
						    memory_order_relaxed, memory_order_relaxed))
		push(&freed_list, number);
}

bool hs_live_set_free(const void *address, _Atomic uint64_t *sequence)
{
	uint64_t state = 0;
	uint32_t number = take_live((uint64_t)(uintptr_t)address, FREED, &state);

	if (number == HS_SLOT_NONE)
		return false;
	take_number(&slots[number], state, sequence);
	hs_live_index_remove((uint64_t)(uintptr_t)address, number);
	put_on_freed_list(number, state);
	return true;
}

uint32_t hs_live_set_begin_move(const void *address, _Atomic uint64_t *sequence)
{
	uint64_t state = 0;
	uint32_t number = take_live((uint64_t)(uintptr_t)address, MOVING, &state);

	if (number != HS_SLOT_NONE)
		take_number(&slots[number], state, sequence);
	return number;
}

void hs_live_set_end_move(uint32_t number)
{
	uint64_t state = atomic_load_explicit(&slots[number].state, memory_order_relaxed);

	move_state(&slots[number], MOVING, FREED);
	hs_live_index_remove(hs_live_set_address(number), number);
	put_on_freed_list(number, state);
}

uint64_t hs_live_set_cancel_move(uint32_t number)
{
	struct slot *slot = &slots[number];
	uint64_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);
	uint64_t sequence = atomic_load_explicit(&slot->free_sequence, memory_order_relaxed);

	/* Its free will take another number. */
	atomic_store_explicit(&slot->free_sequence, no_number(state), memory_order_relaxed);
	move_state(slot, MOVING, LIVE);
	return sequence;
}

/* --- the producer's side ------------------------------------------------------- */

/* Turn a chain of links round; it is the caller's alone.  Returns the link of its new head. */
static uint32_t reverse(uint32_t link)
{
	uint32_t reversed = 0;

	while (link != 0) {
		struct slot *slot = &slots[link - 1];
		uint32_t next = atomic_load_explicit(&slot->next, memory_order_relaxed);

		atomic_store_explicit(&slot->next, reversed, memory_order_relaxed);
		reversed = link;
		link = next;
	}
	return reversed;
}

uint32_t hs_live_set_take_freed(void)
{
	/* Acquire: pairs with push().  The tag need not go on: the list is emptied at once. */
	uint64_t head = atomic_exchange_explicit(&freed_list, 0, memory_order_acquire);

	return reverse((uint32_t)head) - 1; /* 0 becomes HS_SLOT_NONE */
}

uint32_t hs_live_set_next_freed(uint32_t number)
{
	return atomic_load_explicit(&slots[number].next, memory_order_relaxed) - 1;
}

uint64_t hs_live_set_free_sequence(uint32_t number)
{
	return atomic_load_explicit(&slots[number].free_sequence, memory_order_relaxed);
}

bool hs_live_set_recycle(uint32_t number, uint32_t generation)
{
	struct slot *slot = &slots[number];
	uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
	uint64_t address = atomic_load_explicit(&slot->address, memory_order_relaxed);

	if ((state & STATE_MASK) == EMPTY || (uint32_t)(state >> STATE_BITS) != generation)
		return false;
	/* FILLING too: an insert that was refused by one of two tables has left an entry. */
	if (address != 0)
		hs_live_index_remove(address, number);
	/* Not if the program has just freed it: then it comes off the freed list. */
	if (!atomic_compare_exchange_strong_explicit(
		    &slot->state, &state, ((state >> STATE_BITS) + 1) << STATE_BITS | EMPTY,
		    memory_order_relaxed, memory_order_relaxed))
		return false;
	atomic_store_explicit(&slot->address, 0, memory_order_relaxed);
	atomic_fetch_sub_explicit(&used, 1, memory_order_relaxed);
	push(&free_list, number);
	return true;
}

uint32_t hs_live_set_generation(uint32_t number)
{
	uint64_t state = atomic_load_explicit(&slots[number].state, memory_order_relaxed);

	return (uint32_t)(state >> STATE_BITS);
}

uint64_t hs_live_set_address(uint32_t number)
{
	return atomic_load_explicit(&slots[number].address, memory_order_relaxed);
}

void hs_live_set_sweep_freed(uint64_t stuck_before, _Atomic uint64_t *sequence)
{
	uint32_t end = atomic_load_explicit(&fresh, memory_order_acquire);

	for (uint32_t number = 0; number < end; number++) {
		struct slot *slot = &slots[number];
		uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
		uint64_t freed = atomic_load_explicit(&slot->free_sequence, memory_order_relaxed);

		if ((state & STATE_MASK) != FREED ||
		    atomic_load_explicit(&slot->listed, memory_order_relaxed) == listed_for(state))
			continue;
		if (freed == no_number(state))
			take_number(slot, state, sequence);
		else if (freed >= stuck_before)
			continue;
		put_on_freed_list(number, state);
	}
}

int hs_live_set_maintain(uint32_t headroom)
{
	uint32_t in_use = hs_live_set_used();
	int error = hs_live_index_maintain(in_use);

	while (error == 0 && hs_live_set_capacity() < slot_limit &&
	       hs_live_set_capacity() - in_use < headroom)
		error = grow_slots();
	return error;
}

uint32_t hs_live_set_used(void)
{
	return atomic_load_explicit(&used, memory_order_relaxed);
}

uint32_t hs_live_set_capacity(void)
{
	return atomic_load_explicit(&capacity, memory_order_relaxed);
}

uint32_t hs_live_set_limit(void)
{
	return slot_limit;
}
