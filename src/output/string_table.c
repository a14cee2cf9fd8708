/* SPDX-License-Identifier: BSD-2-Clause */
/* Interning of texts, with escaping and cutting.  See string_table.h. */
#include "output/string_table.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/utf8.h"

/* Strings; there are twice as many slots, which keeps searches short. */
enum { FIRST_CAPACITY = 128 };

void hs_string_escape_byte(char *out, unsigned char byte)
{
	static const char digits[] = "0123456789ABCDEF";

	out[0] = '%';
	out[1] = digits[byte >> 4];
	out[2] = digits[byte & 15];
}

/*
 * Writes a text as the table has it, or only measures it (out: NULL).  Returns its bytes, at most
 * HS_STRING_BYTES.
 */
static uint32_t escape_and_cut(const char *text, char *out, bool *escaped)
{
	uint32_t length = 0;

	*escaped = false;
	while (*text != '\0') {
		size_t bytes = hs_utf8_character_bytes(text);
		uint32_t added = bytes > 0 ? (uint32_t)bytes : 3;

		if (length + added > HS_STRING_BYTES)
			break;
		if (out != NULL && bytes > 0)
			memcpy(out + length, text, bytes);
		else if (out != NULL)
			hs_string_escape_byte(out + length, (unsigned char)*text);
		*escaped |= bytes == 0;
		text += bytes > 0 ? bytes : 1;
		length += added;
	}
	return length;
}

static bool equals(const struct hs_string *a, const struct hs_string *b)
{
	return a->hash == b->hash && a->length == b->length &&
	       memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* The slot that has the string, or the free one where it belongs. */
static uint32_t *find_slot(const struct hs_string_table *table, const struct hs_string *wanted)
{
	uint32_t mask = table->slot_count - 1;
	uint32_t at = wanted->hash & mask;

	while (table->slots[at] != 0 && !equals(&table->strings[table->slots[at]], wanted))
		at = (at + 1) & mask;
	return &table->slots[at];
}

/* Doubles both arrays.  On failure the table stays as it was. */
static int grow(struct hs_string_table *table)
{
	uint32_t capacity = table->capacity * 2;
	struct hs_string *strings;
	uint32_t *slots;

	if (capacity > UINT32_MAX / 4)
		return -ENOMEM;
	strings = hs_arena_realloc(table->strings, capacity * sizeof *strings);
	if (strings == NULL)
		return -ENOMEM;
	table->strings = strings;
	slots = hs_arena_zalloc((size_t)capacity * 2 * sizeof *slots);
	if (slots == NULL)
		return -ENOMEM;
	hs_arena_free(table->slots);
	table->slots = slots;
	table->slot_count = capacity * 2;
	table->capacity = capacity;
	for (uint32_t i = 1; i < table->count; i++)
		*find_slot(table, &strings[i]) = i;
	return 0;
}

int hs_string_table_init(struct hs_string_table *table)
{
	*table = (struct hs_string_table){
		.strings = hs_arena_alloc(FIRST_CAPACITY * sizeof *table->strings),
		.slots = hs_arena_zalloc(FIRST_CAPACITY * sizeof *table->slots * 2),
		.capacity = FIRST_CAPACITY,
		.slot_count = FIRST_CAPACITY * 2,
	};
	if (table->strings == NULL || table->slots == NULL)
		return -ENOMEM;
	/* Never in a slot: there 0 means free. */
	table->strings[0] = (struct hs_string){ .bytes = "" };
	table->count = 1;
	return 0;
}

static void release(const struct hs_string *string)
{
	if (string->owned)
		hs_arena_free((void *)(uintptr_t)string->bytes);
}

void hs_string_table_fini(struct hs_string_table *table)
{
	for (uint32_t i = 0; i < table->count; i++)
		release(&table->strings[i]);
	hs_arena_free(table->strings);
	hs_arena_free(table->slots);
	*table = (struct hs_string_table){ 0 };
}

/* Makes the table's string of a text, with a copy if it needs escapes. */
static int prepare(const char *text, struct hs_string *string)
{
	bool escaped;
	uint32_t length = escape_and_cut(text, NULL, &escaped);

	if (escaped) {
		char *copy = hs_arena_alloc(length);
		if (copy == NULL)
			return -ENOMEM;
		escape_and_cut(text, copy, &escaped);
		text = copy;
	}
	*string = (struct hs_string){
		.bytes = text,
		.length = length,
		.hash = (uint32_t)hs_hash_bytes(1, text, length) & 0x7fffffff,
		.owned = escaped,
	};
	return 0;
}

int hs_string_table_intern(struct hs_string_table *table, const char *text, uint32_t *number)
{
	struct hs_string string;
	uint32_t *slot;

	*number = 0;
	if (text == NULL || text[0] == '\0')
		return 0;
	if (prepare(text, &string) != 0)
		return -ENOMEM;
	slot = find_slot(table, &string);
	if (*slot != 0) {
		release(&string);
		*number = *slot;
		return 0;
	}
	if (table->count == table->capacity) {
		if (grow(table) != 0) {
			release(&string);
			return -ENOMEM;
		}
		slot = find_slot(table, &string);
	}
	*slot = table->count;
	*number = table->count;
	table->strings[table->count++] = string;
	return 0;
}
