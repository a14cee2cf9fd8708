/* SPDX-License-Identifier: BSD-2-Clause */
/* Interning of fixed-size items.  Runs on the producer. */
#include "base/interner.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/sys.h"

enum { BITS = HS_INTERNER_BITS, PART = HS_INTERNER_PART, FIRST_CAPACITY = 64 };

/* Numbers are 32 bits wide, and there may be twice as many slots. */
#define LAST_CAPACITY (1u << 30)

/* The slot that holds the key, or the empty one where it belongs. */
static uint32_t *find_slot(const struct hs_interner *interner, const void *key)
{
	uint32_t mask = interner->slot_count - 1;
	uint32_t at = (uint32_t)hs_hash_bytes(1, key, interner->key_bytes) & mask;

	while (interner->slots[at] != 0 &&
	       memcmp(hs_interner_item(interner, interner->slots[at] - 1), key,
		      interner->key_bytes) != 0)
		at = (at + 1) & mask;
	return &interner->slots[at];
}

/* count: a power of two, more than the numbers in use. */
static int resize_slots(struct hs_interner *interner, uint32_t count)
{
	uint32_t *slots = hs_arena_zalloc(count * sizeof *slots);

	if (slots == NULL)
		return -ENOMEM;
	hs_sys_touch(slots, count * sizeof *slots);
	hs_arena_free(interner->slots);
	interner->slots = slots;
	interner->slot_count = count;
	for (uint32_t i = 0; i < interner->count; i++) {
		if (hs_interner_is_used(interner, i))
			*find_slot(interner, hs_interner_item(interner, i)) = i + 1;
	}
	return 0;
}

/*
 * Half of the slots are enough.  Without memory for more, three quarters may be used: a search is
 * longer then, but still short.
 */
static int make_slot(struct hs_interner *interner)
{
	uint32_t count = interner->slot_count;

	if (interner->used < count / 2 ||
	    (count <= LAST_CAPACITY && resize_slots(interner, count * 2) == 0))
		return 0;
	return interner->used < count / 4 * 3 ? 0 : -ENOMEM;
}

/* Makes the first part longer or shorter.  capacity: at most PART, count at most that. */
static int resize_first(struct hs_interner *interner, uint32_t capacity)
{
	struct hs_interner_part *part = interner->parts[0];
	size_t bytes = sizeof *part + (size_t)capacity * interner->item_bytes;

	part = hs_arena_realloc(part, bytes);
	if (part == NULL)
		return -ENOMEM;
	interner->parts[0] = part;
	interner->capacity = capacity;
	return 0;
}

/* The room for parts is doubled when it is used up: when their number is a power of two. */
static int add_part(struct hs_interner *interner)
{
	uint32_t count = interner->capacity / PART;
	struct hs_interner_part **parts = interner->parts, *part;

	if ((count & (count - 1)) == 0)
		parts = hs_arena_realloc(parts, (size_t)count * 2 * sizeof *parts);
	if (parts == NULL)
		return -ENOMEM;
	interner->parts = parts;
	part = hs_arena_alloc(sizeof *part + (size_t)PART * interner->item_bytes);
	if (part == NULL)
		return -ENOMEM;
	memset(part->in_use, 0, sizeof part->in_use);
	parts[count] = part;
	interner->capacity += PART;
	return 0;
}

static int make_number(struct hs_interner *interner)
{
	if (interner->count < interner->capacity)
		return 0;
	if (interner->capacity < PART)
		return resize_first(interner, interner->capacity * 2);
	return interner->capacity < LAST_CAPACITY ? add_part(interner) : -ENOMEM;
}

int hs_interner_init(struct hs_interner *interner, uint32_t item_bytes, uint32_t key_bytes)
{
	*interner = (struct hs_interner){
		.parts = hs_arena_zalloc(sizeof *interner->parts),
		.first_free = HS_INTERNER_NONE,
		.item_bytes = item_bytes,
		.key_bytes = key_bytes,
	};
	if (interner->parts != NULL && resize_first(interner, FIRST_CAPACITY) == 0 &&
	    resize_slots(interner, FIRST_CAPACITY * 2) == 0) {
		memset(interner->parts[0]->in_use, 0, sizeof interner->parts[0]->in_use);
		return 0;
	}
	hs_interner_fini(interner);
	return -ENOMEM;
}

/* Those that numbers below capacity do without. */
static void free_parts_from(struct hs_interner *interner, uint32_t capacity)
{
	for (; interner->capacity > capacity; interner->capacity -= PART)
		hs_arena_free(interner->parts[interner->capacity / PART - 1]);
}

void hs_interner_fini(struct hs_interner *interner)
{
	free_parts_from(interner, PART);
	if (interner->parts != NULL)
		hs_arena_free(interner->parts[0]);
	hs_arena_free(interner->parts);
	hs_arena_free(interner->slots);
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
	return make_number(interner) == 0 ? interner->count++ : HS_INTERNER_NONE;
}

static uint64_t *in_use_word(const struct hs_interner *interner, uint32_t number)
{
	return &hs_interner_part(interner, number)->in_use[number % PART / BITS];
}

uint32_t hs_interner_add(struct hs_interner *interner, const void *item)
{
	uint32_t *slot = find_slot(interner, item);
	uint32_t slot_count = interner->slot_count, number;

	if (*slot != 0)
		return *slot - 1;
	number = !interner->is_full && make_slot(interner) == 0 ? take_number(interner)
								: HS_INTERNER_NONE;
	if (number == HS_INTERNER_NONE)
		return HS_INTERNER_NONE;
	if (interner->slot_count != slot_count)
		slot = find_slot(interner, item);
	memcpy(hs_interner_item(interner, number), item, interner->item_bytes);
	*slot = number + 1;
	*in_use_word(interner, number) |= UINT64_C(1) << number % BITS;
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
	uint32_t mask = interner->slot_count - 1, *slots = interner->slots;

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
	*in_use_word(interner, number) &= ~(UINT64_C(1) << number % BITS);
	interner->used--;
}

/* Keeps room for `capacity` numbers, a power of two. */
static void shorten(struct hs_interner *interner, uint32_t capacity)
{
	free_parts_from(interner, capacity < PART ? PART : capacity);
	if (capacity < PART)
		resize_first(interner, capacity);
	resize_slots(interner, capacity * 2); /* or they stay, for want of memory */
}

void hs_interner_trim(struct hs_interner *interner)
{
	uint32_t capacity = FIRST_CAPACITY;

	while (capacity / 2 < interner->count)
		capacity *= 2;
	if (capacity <= interner->capacity / 2)
		shorten(interner, capacity);
	while (interner->count > 0 && !hs_interner_is_used(interner, interner->count - 1))
		interner->count--;
	interner->first_free = HS_INTERNER_NONE;
	for (uint32_t number = interner->count; number-- > 0;) {
		if (!hs_interner_is_used(interner, number))
			add_free(interner, number);
	}
}
