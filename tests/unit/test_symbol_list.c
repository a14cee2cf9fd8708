/* SPDX-License-Identifier: BSD-2-Clause */
/* The symbols that are wanted of a table, compared with a look at each wanted address. */
#include "symbolize/symbol_list.h"

#include "check.h"

#define WANTED 100
#define SYMBOLS 200000

/* As much as a large program's code, and more than the filter can tell apart. */
#define SPACE_BYTES ((uint64_t)64 << 20)

static struct hs_symbol_list list;
static uint64_t addresses[WANTED];

static uint64_t draw(uint64_t limit)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 20) % limit;
}

static bool contains_one(uint64_t value, uint64_t bytes)
{
	for (size_t i = 0; i < WANTED; i++)
		if (addresses[i] - value < (bytes > 0 ? bytes : 1))
			return true;
	return false;
}

static void draw_wanted(uint64_t start, struct hs_wanted *wanted)
{
	for (size_t i = 0; i < WANTED; i++)
		addresses[i] = (i > 0 ? addresses[i - 1] : start) + draw(2 * SPACE_BYTES / WANTED);
	*wanted = (struct hs_wanted){ addresses, WANTED };
	hs_symbol_list_want(&list, wanted);
}

static void wants_what_contains_a_wanted_address(void)
{
	static const uint64_t sizes[] = { 1, 16, 300, 4096, 4097, 20000, 1 << 20 };
	struct hs_wanted wanted;
	unsigned found = 0;

	for (unsigned i = 0; i < SYMBOLS; i++) {
		uint64_t value, bytes = draw(sizes[i % (sizeof sizes / sizeof sizes[0])] + 1);
		bool is_wanted;

		if (i % 20000 == 0)
			draw_wanted((i + 1) * SPACE_BYTES, &wanted);
		value = i % 3 == 0 ? addresses[draw(WANTED)] - draw(2 * bytes + 2)
				   : addresses[0] + draw(SPACE_BYTES);
		is_wanted = contains_one(value, bytes);
		CHECK_INT(hs_symbol_list_wants(&list, value, bytes), is_wanted);
		found += is_wanted;
	}
	CHECK(found > SYMBOLS / 10 && found < SYMBOLS / 2);
}

static void wants_at_the_ends_of_memory(void)
{
	static const uint64_t ends[] = { 0, UINT64_MAX };
	const struct hs_wanted wanted = { ends, 2 };

	hs_symbol_list_want(&list, &wanted);
	CHECK(hs_symbol_list_wants(&list, 0, 0));
	CHECK(hs_symbol_list_wants(&list, UINT64_MAX, 0));
	CHECK(hs_symbol_list_wants(&list, UINT64_MAX - 4096, 5000));
	CHECK(hs_symbol_list_wants(&list, UINT64_MAX - 10, UINT64_MAX));
	CHECK(hs_symbol_list_wants(&list, 0x500a, UINT64_MAX - 5));
	CHECK(!hs_symbol_list_wants(&list, 1, 4096));
	CHECK(!hs_symbol_list_wants(&list, 1, UINT64_MAX - 1));
}

static void wants_all_or_nothing(void)
{
	const struct hs_wanted nothing = { NULL, 0 };

	hs_symbol_list_want(&list, &nothing);
	CHECK(!hs_symbol_list_wants(&list, 0x1000, UINT64_MAX));
	hs_symbol_list_want(&list, NULL);
	CHECK(hs_symbol_list_wants(&list, 0x1000, 0));
}

int main(void)
{
	RUN(wants_what_contains_a_wanted_address);
	RUN(wants_at_the_ends_of_memory);
	RUN(wants_all_or_nothing);
	return CHECK_RESULT();
}
