/* SPDX-License-Identifier: BSD-2-Clause */
/* Interning of fixed-size items.  Runs on the producer. */
#include "base/interner.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/sys.h"

enum { BITS = HS_INTERNER_BITS, FIRST_CAPACITY = 64 };

/* Numbers are 32 bits wide, and there are twice as many slots. */
#define LAST_CAPACITY (1u << 30)

/* The slot that holds the key, or the empty one where it belongs. */
static uint32_t *find_slot(const struct hs_interner *interner, const void *key)
{
	uint32_t mask = interner->capacity * 2 - 1;
	uint32_t at = (uint32_t)hs_hash_bytes(1, key, interner->key_bytes) & mask;

	while (interner->slots[at] != 0 &&
	       memcmp(hs_interner_item(interner, interner->slots[at] - 1), key,
		      interner->key_bytes) != 0)
		at = (at + 1) & mask;
	return &interner->slots[at];
}

/* count: at most capacity. */
static int resize(struct hs_interner *interner, uint32_t capacity)
{
	uint32_t *slots = hs_arena_zalloc((size_t)capacity * 2 * sizeof *slots);
	uint64_t *in_use = hs_arena_zalloc(capacity / BITS * sizeof *in_use);
	unsigned char *items = NULL;

	/* The items last: once they have moved to where there are fewer, nothing may fail. */
	if (slots != NULL && in_use != NULL)
		items = hs_arena_realloc(interner->items, (size_t)capacity * interner->item_bytes);
	if (items == NULL) {
		hs_arena_free(slots);
		hs_arena_free(in_use);
		return -ENOMEM;
	}
	interner->items = items;
	if (interner->count > 0)
		memcpy(in_use, interner->in_use,
		       ((interner->count - 1) / BITS + 1) * sizeof *in_use);
	hs_sys_touch(slots, (size_t)capacity * 2 * sizeof *slots);
	hs_arena_free(interner->slots);
	hs_arena_free(interner->in_use);
	interner->slots = slots;
	interner->in_use = in_use;
	interner->capacity = capacity;
	for (uint32_t i = 0; i < interner->count; i++) {
		if (hs_interner_is_used(interner, i))
			*find_slot(interner, hs_interner_item(interner, i)) = i + 1;
	}
	return 0;
}

int hs_interner_init(struct hs_interner *interner, uint32_t item_bytes, uint32_t key_bytes)
{
	int error;

	*interner = (struct hs_interner){
		.first_free = HS_INTERNER_NONE,
		.item_bytes = item_bytes,
		.key_bytes = key_bytes,
	};
	error = resize(interner, FIRST_CAPACITY);
	if (error != 0)
		hs_interner_fini(interner);
	return error;
}

void hs_interner_fini(struct hs_interner *interner)
{
	hs_arena_free(interner->items);
	hs_arena_free(interner->slots);
	hs_arena_free(interner->in_use);
	*interner = (struct hs_interner){0};
}

uint32_t hs_interner_find(const struct hs_interner *interner, const void *key)
{
	return *find_slot(interner, key) - 1; /* 0 becomes HS_INTERNER_NONE */
}

/* A number that is not in use, with room for its item; HS_INTERNER_NONE: out of memory. */
static uint32_t take_number(struct hs_interner *interner)
{
	uint32_t number = interner->first_free;

	if (number != HS_INTERNER_NONE) {
		memcpy(&interner->first_free, hs_interner_item(interner, number), sizeof number);
		return number;
	}
	if (interner->count == interner->capacity &&
	    (interner->capacity >= LAST_CAPACITY || resize(interner, interner->capacity * 2) != 0))
		return HS_INTERNER_NONE;
	return interner->count++;
}

uint32_t hs_interner_add(struct hs_interner *interner, const void *item)
{
	uint32_t *slot = find_slot(interner, item);
	uint32_t capacity = interner->capacity, number;

	if (*slot != 0)
		return *slot - 1;
	number = take_number(interner);
	if (number == HS_INTERNER_NONE)
		return HS_INTERNER_NONE;
	if (interner->capacity != capacity)
		slot = find_slot(interner, item);
	memcpy(hs_interner_item(interner, number), item, interner->item_bytes);
	*slot = number + 1;
	interner->in_use[number / BITS] |= UINT64_C(1) << number % BITS;
	interner->used++;
	return number;
}

/*
 * Empties a slot, and closes the gap in its run: what follows moves up, unless that would put it
 * before the slot where its search begins.  So there are no marks of what was removed, and a
 * search is as long as the items there are make it.
 */
static void empty_slot(struct hs_interner *interner, uint32_t hole)
{
	uint32_t mask = interner->capacity * 2 - 1, *slots = interner->slots;

	for (uint32_t at = (hole + 1) & mask; slots[at] != 0; at = (at + 1) & mask) {
		const void *item = hs_interner_item(interner, slots[at] - 1);
		uint32_t home = (uint32_t)hs_hash_bytes(1, item, interner->key_bytes) & mask;

		if (((at - home) & mask) >= ((at - hole) & mask)) {
			slots[hole] = slots[at];
			hole = at;
		}
	}
	slots[hole] = 0;
}

/* number: without an item. */
static void add_free(struct hs_interner *interner, uint32_t number)
{
	memcpy(hs_interner_item(interner, number), &interner->first_free,
	       sizeof interner->first_free);
	interner->first_free = number;
}

void hs_interner_remove(struct hs_interner *interner, uint32_t number)
{
	const void *item = hs_interner_item(interner, number);

	empty_slot(interner, (uint32_t)(find_slot(interner, item) - interner->slots));
	add_free(interner, number);
	interner->in_use[number / BITS] &= ~(UINT64_C(1) << number % BITS);
	interner->used--;
}

void hs_interner_trim(struct hs_interner *interner)
{
	uint32_t capacity = interner->capacity;

	while (capacity > FIRST_CAPACITY && interner->count <= capacity / 4)
		capacity /= 2;
	if (capacity != interner->capacity)
		resize(interner, capacity); /* or it stays as it is, for want of memory */
	while (interner->count > 0 && !hs_interner_is_used(interner, interner->count - 1))
		interner->count--;
	interner->first_free = HS_INTERNER_NONE;
	for (uint32_t number = interner->count; number-- > 0;) {
		if (!hs_interner_is_used(interner, number))
			add_free(interner, number);
	}
}
