/* SPDX-License-Identifier: BSD-2-Clause */
/* Interning of fixed-size items.  Runs on the producer. */
#include "base/interner.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"

enum { FIRST_CAPACITY = 64 };

/* Numbers are 32 bits wide, and there are twice as many slots. */
#define LAST_CAPACITY (1u << 30)

static uint64_t hash_key(const void *key, uint32_t bytes)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < bytes; i += 4) {
		uint32_t word;

		memcpy(&word, (const unsigned char *)key + i, sizeof word);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return hash;
}

/* The slot that holds the key, or the empty one where it belongs. */
static uint32_t *find_slot(const struct hs_interner *interner, const void *key)
{
	uint32_t mask = interner->capacity * 2 - 1;
	uint32_t at = (uint32_t)hash_key(key, interner->key_bytes) & mask;

	while (interner->slots[at] != 0 &&
	       memcmp(hs_interner_item(interner, interner->slots[at] - 1), key,
		      interner->key_bytes) != 0)
		at = (at + 1) & mask;
	return &interner->slots[at];
}

static int resize(struct hs_interner *interner, uint32_t capacity)
{
	uint32_t *slots = hs_arena_zalloc((size_t)capacity * 2 * sizeof *slots);
	unsigned char *items =
		hs_arena_realloc(interner->items, (size_t)capacity * interner->item_bytes);

	if (items != NULL)
		interner->items = items;
	if (items == NULL || slots == NULL) {
		hs_arena_free(slots);
		return -ENOMEM;
	}
	hs_arena_free(interner->slots);
	interner->slots = slots;
	interner->capacity = capacity;
	for (uint32_t i = 0; i < interner->count; i++)
		*find_slot(interner, hs_interner_item(interner, i)) = i + 1;
	return 0;
}

int hs_interner_init(struct hs_interner *interner, uint32_t item_bytes, uint32_t key_bytes)
{
	int error;

	*interner = (struct hs_interner){ .item_bytes = item_bytes, .key_bytes = key_bytes };
	error = resize(interner, FIRST_CAPACITY);
	if (error != 0)
		hs_interner_fini(interner);
	return error;
}

void hs_interner_fini(struct hs_interner *interner)
{
	hs_arena_free(interner->items);
	hs_arena_free(interner->slots);
	*interner = (struct hs_interner){ 0 };
}

uint32_t hs_interner_find(const struct hs_interner *interner, const void *key)
{
	return *find_slot(interner, key) - 1; /* 0 becomes HS_INTERNER_NONE */
}

uint32_t hs_interner_add(struct hs_interner *interner, const void *item)
{
	uint32_t *slot = find_slot(interner, item);

	if (*slot != 0)
		return *slot - 1;
	if (interner->count == interner->capacity) {
		if (interner->capacity >= LAST_CAPACITY ||
		    resize(interner, interner->capacity * 2) != 0)
			return HS_INTERNER_NONE;
		slot = find_slot(interner, item);
	}
	memcpy(hs_interner_item(interner, interner->count), item, interner->item_bytes);
	*slot = ++interner->count;
	return *slot - 1;
}
