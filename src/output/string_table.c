/* SPDX-License-Identifier: BSD-2-Clause */
/* Interning of texts, with escaping and cutting.  See string_table.h. */
#include "output/string_table.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/utf8.h"

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
			hs_utf8_escape_byte(out + length, (unsigned char)*text);
		*escaped |= bytes == 0;
		text += bytes > 0 ? bytes : 1;
		length += added;
	}
	return length;
}

static void release(const struct hs_string *string)
{
	if (string->is_owned)
		hs_arena_free((void *)(uintptr_t)string->bytes);
}

int hs_string_table_init(struct hs_string_table *table)
{
	static const struct hs_string empty = {.bytes = ""};

	if (hs_interner_init(&table->interner, sizeof empty,
			     offsetof(struct hs_string, is_owned)) != 0)
		return -ENOMEM;
	hs_interner_add(&table->interner, &empty); /* there is room for the first */
	return 0;
}

void hs_string_table_fini(struct hs_string_table *table)
{
	for (uint32_t i = 0; i < table->interner.count; i++)
		release(hs_string_table_get(table, i));
	hs_interner_fini(&table->interner);
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
		.hash = (uint32_t)hs_hash_bytes(1, text, length),
		.is_owned = escaped,
	};
	return 0;
}

/* The number of a string, or HS_INTERNER_NONE; then it can be added. */
static uint32_t find(const struct hs_string_table *table, struct hs_string *string)
{
	for (string->clash = 0;; string->clash++) {
		uint32_t number = hs_interner_find(&table->interner, string);

		if (number == HS_INTERNER_NONE ||
		    memcmp(hs_string_table_get(table, number)->bytes, string->bytes,
			   string->length) == 0)
			return number;
	}
}

int hs_string_table_intern(struct hs_string_table *table, const char *text, uint32_t *number)
{
	struct hs_string string;
	bool is_known;

	*number = 0;
	if (text == NULL || text[0] == '\0')
		return 0;
	if (prepare(text, &string) != 0)
		return -ENOMEM;
	*number = find(table, &string);
	is_known = *number != HS_INTERNER_NONE;
	if (!is_known)
		*number = hs_interner_add(&table->interner, &string);
	if (is_known || *number == HS_INTERNER_NONE)
		release(&string);
	return *number != HS_INTERNER_NONE ? 0 : -ENOMEM;
}
