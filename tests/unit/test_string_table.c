/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The string table: numbering, escaping, cutting, growth, memory.
 */
#include "output/string_table.h"

#include <errno.h>

#include "base/arena.h"
#include "check.h"

#define BUDGET ((size_t)64 << 20)

static struct hs_string_table table;

static uint32_t number_of(const char *text)
{
	uint32_t number = UINT32_MAX;

	CHECK_INT(hs_string_table_intern(&table, text, &number), 0);
	return number;
}

/* What the table has for text, as a C string; valid until the next call. */
static const char *stored(const char *text)
{
	static char copy[HS_STRING_BYTES + 1];
	const struct hs_string *string = hs_string_table_get(&table, number_of(text));

	memcpy(copy, string->bytes, string->length);
	copy[string->length] = '\0';
	return copy;
}

static void numbers_follow_first_use(void)
{
	char again[] = "malloc";

	CHECK_INT(hs_string_table_init(&table), 0);
	CHECK_INT(table.interner.count, 1);
	CHECK_INT(hs_string_table_get(&table, 0)->length, 0);
	CHECK_INT(number_of(""), 0);
	CHECK_INT(number_of(NULL), 0);
	CHECK_INT(number_of("malloc"), 1);
	CHECK_INT(number_of("free"), 2);
	CHECK_INT(number_of(again), 1);
	CHECK_INT(number_of("mallo"), 3);
	CHECK_INT(table.interner.count, 4);
	hs_string_table_fini(&table);
}

static void utf8_is_kept(void)
{
	static const char *const texts[] = {
		"plain 100%",          "\x7f\x01",         "caf\xc3\xa9",     "\xc2\x80",
		"\xdf\xbf",            "\xe0\xa0\x80",     "\xed\x9f\xbf",    "\xee\x80\x80",
		"\xef\xbf\xbf",        "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
	};

	CHECK_INT(hs_string_table_init(&table), 0);
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		CHECK_STR(stored(texts[i]), texts[i]);
	hs_string_table_fini(&table);
}

static void other_bytes_are_escaped(void)
{
	static const char *const texts[][2] = {
		{ "caf\xe9", "caf%E9" },                      /* Latin-1 */
		{ "\x80x", "%80x" },                          /* continuation alone */
		{ "\xc3", "%C3" },                            /* cut off at the end */
		{ "\xe2\x82", "%E2%82" },
		{ "\xf0\x9f\x98", "%F0%9F%98" },
		{ "\xc3(", "%C3(" },
		{ "\xc0\x80", "%C0%80" },                     /* longer than needed */
		{ "\xc1\xbf", "%C1%BF" },
		{ "\xe0\x9f\xbf", "%E0%9F%BF" },
		{ "\xf0\x8f\xbf\xbf", "%F0%8F%BF%BF" },
		{ "\xed\xa0\x80", "%ED%A0%80" },              /* surrogate */
		{ "\xf4\x90\x80\x80", "%F4%90%80%80" },       /* past U+10FFFF */
		{ "\xf5\x80\x80\x80", "%F5%80%80%80" },
		{ "\xff\xfe", "%FF%FE" },
		{ "a\xc3\xa9\xe9\xc3\xa9z", "a\xc3\xa9%E9\xc3\xa9z" },
	};
	size_t before = hs_arena_used();

	CHECK_INT(hs_string_table_init(&table), 0);
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		CHECK_STR(stored(texts[i][0]), texts[i][1]);
	/* Texts that are equal after escaping have one number, whichever came first. */
	CHECK_INT(number_of("%FF%FE"), number_of("\xff\xfe"));
	CHECK_INT(number_of("x%E9"), number_of("x\xe9"));
	hs_string_table_fini(&table);
	CHECK_INT(hs_arena_used(), before);
}

static void long_texts_are_cut_at_a_character(void)
{
	static char text[HS_STRING_BYTES + 16];
	/* {bytes at the limit, what follows, length kept} */
	static const struct {
		size_t plain;
		const char *tail;
		size_t kept;
	} cases[] = {
		{ HS_STRING_BYTES, "", HS_STRING_BYTES },
		{ HS_STRING_BYTES, "x", HS_STRING_BYTES },
		{ HS_STRING_BYTES - 2, "\xc3\xa9", HS_STRING_BYTES },
		{ HS_STRING_BYTES - 1, "\xc3\xa9", HS_STRING_BYTES - 1 },
		{ HS_STRING_BYTES - 2, "\xe2\x82\xac", HS_STRING_BYTES - 2 },
		{ HS_STRING_BYTES - 3, "\xf0\x9f\x98\x80", HS_STRING_BYTES - 3 },
		{ HS_STRING_BYTES - 3, "\xff", HS_STRING_BYTES },
		{ HS_STRING_BYTES - 2, "\xff", HS_STRING_BYTES - 2 },
	};

	CHECK_INT(hs_string_table_init(&table), 0);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		memset(text, 'a', cases[i].plain);
		strcpy(text + cases[i].plain, cases[i].tail);
		CHECK_INT(hs_string_table_get(&table, number_of(text))->length, cases[i].kept);
		/* The table does not copy text: so each case has a new table. */
		hs_string_table_fini(&table);
		CHECK_INT(hs_string_table_init(&table), 0);
	}
	hs_string_table_fini(&table);
}

static void many_texts_keep_their_numbers(void)
{
	/* So many that some have the hash and length of another. */
	enum { COUNT = 300000 };
	static char texts[COUNT][16];
	size_t before = hs_arena_used();
	uint32_t clashes = 0;

	CHECK_INT(hs_string_table_init(&table), 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		/* Every seventh is not UTF-8, so the table makes a copy of its own. */
		snprintf(texts[i], sizeof texts[i], i % 7 == 0 ? "\xff_%u" : "name_%u", i);
		CHECK_INT(number_of(texts[i]), i + 1);
	}
	for (uint32_t i = 0; i < COUNT; i++)
		CHECK_INT(number_of(texts[i]), i + 1);
	CHECK_INT(table.interner.count, COUNT + 1);
	for (uint32_t i = 0; i <= COUNT; i++)
		clashes += hs_string_table_get(&table, i)->clash;
	CHECK(clashes > 0);
	hs_string_table_fini(&table);
	CHECK_INT(hs_arena_used(), before);
}

static void used_up_memory_is_reported(void)
{
	static char texts[4000][16], text[2000];
	size_t before = hs_arena_used();
	uint32_t added = 0;
	uint32_t number;
	int error = 0;

	CHECK_INT(hs_string_table_init(&table), 0);
	hs_arena_set_budget(hs_arena_used() + 16 * 1024);
	while (error == 0 && added < 4000) {
		snprintf(texts[added], sizeof texts[added], "\xff%u", added);
		error = hs_string_table_intern(&table, texts[added], &number);
		added += error == 0;
	}
	CHECK_INT(error, -ENOMEM);
	CHECK_INT(table.interner.count, added + 1);
	hs_arena_set_budget(BUDGET);
	number_of("room for more");
	/* There is none for the copy of a text. */
	memset(text, '\xff', sizeof text - 1);
	hs_arena_set_budget(hs_arena_used());
	CHECK_INT(hs_string_table_intern(&table, text, &number), -ENOMEM);
	CHECK_INT(table.interner.count, added + 2);
	hs_arena_set_budget(BUDGET);
	/* All texts from before are still there, and new ones can be added. */
	for (uint32_t i = 0; i < added; i++)
		CHECK_INT(number_of(texts[i]), i + 1);
	CHECK_INT(number_of(texts[added]), added + 2);
	hs_string_table_fini(&table);

	hs_arena_set_budget(hs_arena_used());
	CHECK_INT(hs_string_table_init(&table), -ENOMEM);
	hs_string_table_fini(&table);
	hs_arena_set_budget(BUDGET);
	CHECK_INT(hs_arena_used(), before);
}

int main(void)
{
	CHECK_INT(hs_arena_init(BUDGET), 0);
	RUN(numbers_follow_first_use);
	RUN(utf8_is_kept);
	RUN(other_bytes_are_escaped);
	RUN(long_texts_are_cut_at_a_character);
	RUN(many_texts_keep_their_numbers);
	RUN(used_up_memory_is_reported);
	return CHECK_RESULT();
}
