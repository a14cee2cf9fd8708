/* SPDX-License-Identifier: BSD-2-Clause */
#include "maps/address_range_map.h"

#include <errno.h>

#include "address_oracle.h"

static struct hs_address_range_map map;
static char visited[512]; /* what a visitor saw, as text_of() has it */

static void note_visit(void *context, const struct hs_address_range *range)
{
	struct hs_address_range_map one = {.nodes = NULL};

	CHECK(context == &map);
	CHECK_INT(hs_address_range_map_emplace(&one, range->start, range->end, range->value), 0);
	snprintf(visited + strlen(visited), sizeof visited - strlen(visited), "%s%s",
		 visited[0] != '\0' ? " " : "", text_of(&one));
	hs_address_range_map_fini(&one);
}

static void emplace(uint64_t start, uint64_t end, uint32_t value)
{
	CHECK_INT(hs_address_range_map_emplace(&map, start, end, value), 0);
}

static void begin(void)
{
	hs_address_range_map_clear(&map);
	emplace(0, 10, 1);
	emplace(10, 20, 2);
	emplace(25, 30, 3);
}

static void test_empty_map(void)
{
	hs_address_range_map_clear(&map);
	CHECK_INT(map.count, 0);
	CHECK(hs_address_range_map_find(&map, 0) == NULL);
	CHECK(hs_address_range_map_find(&map, UINT64_MAX) == NULL);
	CHECK(hs_address_range_map_find_containing(&map, 0, 1) == NULL);
	CHECK(hs_address_range_map_from(&map, 0) == NULL);
	CHECK_INT(hs_address_range_map_remove_overlaps(&map, 0, UINT64_MAX), 0);
	CHECK_STR(text_of(&map), "");
}

static void test_emplace_refuses_overlaps(void)
{
	static const uint64_t overlaps[][2] = {
		{ 0, 10 },  { 10, 20 }, { 11, 19 }, { 9, 11 },  { 19, 21 },
		{ 24, 26 }, { 29, 31 }, { 20, 26 }, { 0, 100 }, { 25, 26 },
		{ 29, 30 }, { 20, 31 }, { 29, UINT64_MAX },
	};

	begin();
	for (size_t i = 0; i < sizeof overlaps / sizeof overlaps[0]; i++)
		CHECK_INT(hs_address_range_map_emplace(&map, overlaps[i][0], overlaps[i][1], 9),
			  -EEXIST);
	CHECK_STR(text_of(&map), "0-10=1 10-20=2 25-30=3");
}

static void test_emplace_takes_what_touches(void)
{
	begin();
	emplace(20, 25, 4);
	emplace(30, UINT64_MAX, 5);
	CHECK_STR(text_of(&map), "0-10=1 10-20=2 20-25=4 25-30=3 30-18446744073709551615=5");
	CHECK_INT(map.count, 5);
}

static void test_empty_ranges_are_refused(void)
{
	static const uint64_t empty[][2] = {
		{ 0, 0 },   { 5, 5 },   { 10, 10 },
		{ 22, 22 }, { 22, 21 }, { UINT64_MAX, UINT64_MAX },
		{ UINT64_MAX, 0 },
	};

	begin();
	visited[0] = '\0';
	for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
		uint64_t start = empty[i][0], end = empty[i][1];
		CHECK_INT(hs_address_range_map_emplace(&map, start, end, 9), -EINVAL);
		CHECK_INT(hs_address_range_map_trim_overlaps_and_emplace(&map, start, end, 9),
			  -EINVAL);
		CHECK_INT(hs_address_range_map_remove_overlaps(&map, start, end), 0);
		hs_address_range_map_delete_overlaps(&map, start, end, note_visit, &map);
		CHECK(hs_address_range_map_find_containing(&map, start, end) == NULL);
	}
	CHECK_STR(visited, "");
	CHECK_STR(text_of(&map), "0-10=1 10-20=2 25-30=3");
}

static uint32_t value_at(uint64_t address)
{
	const struct hs_address_range *range = hs_address_range_map_find(&map, address);

	return range != NULL ? range->value : 0;
}

static void test_find_at_each_boundary(void)
{
	begin();
	CHECK_INT(value_at(0), 1);
	CHECK_INT(value_at(9), 1);
	CHECK_INT(value_at(10), 2);
	CHECK_INT(value_at(19), 2);
	CHECK_INT(value_at(20), 0);
	CHECK_INT(value_at(24), 0);
	CHECK_INT(value_at(25), 3);
	CHECK_INT(value_at(29), 3);
	CHECK_INT(value_at(30), 0);
	CHECK_INT(value_at(UINT64_MAX), 0);
	emplace(30, UINT64_MAX, 4);
	CHECK_INT(value_at(UINT64_MAX - 1), 4);
	CHECK_INT(value_at(UINT64_MAX), 0);
}

static uint32_t value_containing(uint64_t start, uint64_t end)
{
	const struct hs_address_range *range =
		hs_address_range_map_find_containing(&map, start, end);

	return range != NULL ? range->value : 0;
}

static void test_find_containing(void)
{
	begin();
	CHECK_INT(value_containing(0, 10), 1);
	CHECK_INT(value_containing(0, 1), 1);
	CHECK_INT(value_containing(9, 10), 1);
	CHECK_INT(value_containing(10, 20), 2);
	CHECK_INT(value_containing(12, 18), 2);
	CHECK_INT(value_containing(26, 30), 3);
	CHECK_INT(value_containing(5, 15), 0);
	CHECK_INT(value_containing(9, 11), 0);
	CHECK_INT(value_containing(15, 21), 0);
	CHECK_INT(value_containing(20, 25), 0);
	CHECK_INT(value_containing(24, 26), 0);
	CHECK_INT(value_containing(25, 31), 0);
	CHECK_INT(value_containing(0, UINT64_MAX), 0);
}

static void test_from(void)
{
	begin();
	CHECK_INT(hs_address_range_map_from(&map, 0)->value, 1);
	CHECK_INT(hs_address_range_map_from(&map, 10)->value, 2);
	CHECK_INT(hs_address_range_map_from(&map, 20)->value, 3);
	CHECK_INT(hs_address_range_map_from(&map, 29)->value, 3);
	CHECK(hs_address_range_map_from(&map, 30) == NULL);
}

/* The results of changing {0-10, 10-20, 25-30} in [start, end), in each way. */
struct change {
	uint64_t start, end;
	const char *trimmed;  /* all but the new range */
	const char *emplaced; /* trimmed, with it */
	const char *deleted;
	const char *replaced; /* those not deleted, with it */
};

static const struct change changes[] = {
	{ 30, 100, "0-10=1 10-20=2 25-30=3", "0-10=1 10-20=2 25-30=3 30-100=9", "",
	  "0-10=1 10-20=2 25-30=3 30-100=9" },
	{ 9, 10, "0-9=1 10-20=2 25-30=3", "0-9=1 9-10=9 10-20=2 25-30=3", "0-10=1",
	  "9-10=9 10-20=2 25-30=3" },
	{ 5, 11, "0-5=1 11-20=2 25-30=3", "0-5=1 5-11=9 11-20=2 25-30=3", "0-10=1 10-20=2",
	  "5-11=9 25-30=3" },
	{ 5, 25, "0-5=1 25-30=3", "0-5=1 5-25=9 25-30=3", "0-10=1 10-20=2", "5-25=9 25-30=3" },
	{ 5, 31, "0-5=1", "0-5=1 5-31=9", "0-10=1 10-20=2 25-30=3", "5-31=9" },
	{ 0, 100, "", "0-100=9", "0-10=1 10-20=2 25-30=3", "0-100=9" },
	{ 3, 7, "0-3=1 7-10=1 10-20=2 25-30=3", "0-3=1 3-7=9 7-10=1 10-20=2 25-30=3", "0-10=1",
	  "3-7=9 10-20=2 25-30=3" },
	{ 10, 20, "0-10=1 25-30=3", "0-10=1 10-20=9 25-30=3", "10-20=2", "0-10=1 10-20=9 25-30=3" },
	{ 10, 11, "0-10=1 11-20=2 25-30=3", "0-10=1 10-11=9 11-20=2 25-30=3", "10-20=2",
	  "0-10=1 10-11=9 25-30=3" },
	{ 20, 25, "0-10=1 10-20=2 25-30=3", "0-10=1 10-20=2 20-25=9 25-30=3", "",
	  "0-10=1 10-20=2 20-25=9 25-30=3" },
	{ 22, 26, "0-10=1 10-20=2 26-30=3", "0-10=1 10-20=2 22-26=9 26-30=3", "25-30=3",
	  "0-10=1 10-20=2 22-26=9" },
	{ 15, 22, "0-10=1 10-15=2 25-30=3", "0-10=1 10-15=2 15-22=9 25-30=3", "10-20=2",
	  "0-10=1 15-22=9 25-30=3" },
	{ 0, UINT64_MAX, "", "0-18446744073709551615=9", "0-10=1 10-20=2 25-30=3",
	  "0-18446744073709551615=9" },
};

static void test_changes_of_overlaps(void)
{
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		const struct change *change = &changes[i];

		begin();
		CHECK_INT(hs_address_range_map_remove_overlaps(&map, change->start, change->end),
			  0);
		CHECK_STR(text_of(&map), change->trimmed);
		begin();
		CHECK_INT(hs_address_range_map_trim_overlaps_and_emplace(&map, change->start,
									 change->end, 9),
			  0);
		CHECK_STR(text_of(&map), change->emplaced);
		begin();
		visited[0] = '\0';
		hs_address_range_map_delete_overlaps(&map, change->start, change->end, note_visit,
						     &map);
		CHECK_STR(visited, change->deleted);
		emplace(change->start, change->end, 9);
		CHECK_STR(text_of(&map), change->replaced);
	}
}

static void test_overlaps_are_deleted_in_order(void)
{
	begin();
	emplace(30, 35, 4);
	emplace(35, 40, 5);
	emplace(40, 50, 6);
	visited[0] = '\0';
	hs_address_range_map_delete_overlaps(&map, 20, 36, note_visit, &map);
	CHECK_STR(visited, "25-30=3 30-35=4 35-40=5");
	CHECK_STR(text_of(&map), "0-10=1 10-20=2 40-50=6");
	hs_address_range_map_delete_overlaps(&map, 0, UINT64_MAX, NULL, NULL);
	CHECK_STR(text_of(&map), "");
}

static void test_equality(void)
{
	struct hs_address_range_map other = {.nodes = NULL};

	begin();
	CHECK(!hs_address_range_map_equal(&map, &other));
	CHECK(!hs_address_range_map_equal(&other, &map));
	CHECK_INT(hs_address_range_map_emplace(&other, 25, 30, 3), 0);
	CHECK_INT(hs_address_range_map_emplace(&other, 10, 20, 2), 0);
	CHECK_INT(hs_address_range_map_emplace(&other, 0, 10, 1), 0);
	CHECK(hs_address_range_map_equal(&map, &other));
	CHECK_INT(hs_address_range_map_trim_overlaps_and_emplace(&other, 10, 20, 7), 0);
	CHECK(!hs_address_range_map_equal(&map, &other));
	CHECK_INT(hs_address_range_map_trim_overlaps_and_emplace(&other, 10, 20, 2), 0);
	CHECK(hs_address_range_map_equal(&map, &other));
	CHECK_INT(hs_address_range_map_remove_overlaps(&other, 19, 20), 0);
	CHECK(!hs_address_range_map_equal(&map, &other));
	CHECK_INT(hs_address_range_map_remove_overlaps(&map, 18, 20), 0);
	CHECK(!hs_address_range_map_equal(&map, &other));
	CHECK_INT(hs_address_range_map_remove_overlaps(&other, 10, 11), 0);
	CHECK(!hs_address_range_map_equal(&map, &other));
	hs_address_range_map_fini(&other);
	CHECK_INT(other.count, 0);
	CHECK(hs_address_range_map_equal(&other, &other));
}

/* The visitor's ranges must be the oracle's runs in [start, end), in their order. */
struct expected_visits {
	uint64_t start, end; /* what is left of them */
};

static void check_visit(void *context, const struct hs_address_range *range)
{
	struct expected_visits *expected = context;
	uint64_t address = range->start - oracle_base;

	while (expected->start < expected->end && oracle[expected->start] == 0)
		expected->start++;
	CHECK(expected->start < expected->end);
	CHECK(address <= expected->start && address < ORACLE_ADDRESSES);
	CHECK(address == run_start(address) && range->end - oracle_base == run_end(address));
	CHECK_INT(range->value, oracle[address]);
	expected->start = range->end - oracle_base;
}

static void check_visited_all(struct expected_visits expected)
{
	while (expected.start < expected.end && oracle[expected.start] == 0)
		expected.start++;
	CHECK(expected.start >= expected.end);
}

static bool is_free_range(uint64_t start, uint64_t end)
{
	for (; start < end; start++) {
		if (oracle[start] != 0)
			return false;
	}
	return true;
}

/* How many changes were refused because there was no memory. */
static unsigned refused;

/* Checks that a change was refused, with a result that it may have then. */
static void check_refusal(int result, uint64_t start, uint64_t end, int other)
{
	if (result == -ENOMEM)
		refused++;
	else
		CHECK_INT(result, start >= end ? -EINVAL : other);
}

static void try_emplace(uint64_t start, uint64_t end, uint32_t value)
{
	int result =
		hs_address_range_map_emplace(&map, oracle_base + start, oracle_base + end, value);

	if (result == 0) {
		CHECK(start < end && is_free_range(start, end));
		oracle_fill(start, end, value);
	} else {
		check_refusal(result, start, end, is_free_range(start, end) ? 0 : -EEXIST);
	}
}

static void try_trim(uint64_t start, uint64_t end, uint32_t value)
{
	int result = hs_address_range_map_trim_overlaps_and_emplace(&map, oracle_base + start,
								    oracle_base + end, value);

	if (result == 0) {
		CHECK(start < end);
		oracle_fill(start, end, value);
	} else {
		check_refusal(result, start, end, 0);
	}
}

static void try_delete(uint64_t start, uint64_t end)
{
	struct expected_visits expected = { start, end };

	hs_address_range_map_delete_overlaps(&map, oracle_base + start, oracle_base + end,
					     check_visit, &expected);
	check_visited_all(expected);
	if (start >= end)
		return;
	if (oracle[start] != 0)
		oracle_fill(run_start(start), run_end(start), 0);
	if (oracle[end - 1] != 0)
		oracle_fill(run_start(end - 1), run_end(end - 1), 0);
	oracle_fill(start, end, 0);
}

static void try_remove(uint64_t start, uint64_t end)
{
	int result =
		hs_address_range_map_remove_overlaps(&map, oracle_base + start, oracle_base + end);

	if (result == 0)
		oracle_fill(start, end, 0);
	else
		check_refusal(result, 0, 1, 0);
}

static void try_look_ups(uint64_t start, uint64_t end)
{
	bool contained = start < end && oracle[start] != 0 && run_end(start) >= end;

	if (start < ORACLE_ADDRESSES)
		CHECK_INT(value_at(oracle_base + start), oracle[start]);
	CHECK_INT(value_containing(oracle_base + start, oracle_base + end),
		  contained ? oracle[start] : 0);
}

static void change_at_random(bool growing, uint32_t value)
{
	uint64_t start, end;

	random_range(growing ? 2 : 24, &start, &end);
	switch (growing ? random_below(12) : random_below(5)) {
	case 0:
		try_look_ups(start, end);
		break;
	case 1:
		try_remove(start, end);
		break;
	case 2:
		try_delete(start, end);
		break;
	case 3:
		try_trim(start, end, value);
		break;
	default:
		try_emplace(start, end, value);
	}
}

static void test_random_changes(uint64_t seed)
{
	uint32_t most = 0, value;

	random_state = seed * 0x9e3779b97f4a7c15u;
	oracle_base = seed % 2 == 0 ? 0 : UINT64_MAX - ORACLE_ADDRESSES;
	oracle_fill(0, ORACLE_ADDRESSES, 0);
	hs_address_range_map_fini(&map);
	refused = 0;
	for (value = 1; value <= 20000; value++) {
		maybe_drain_memory(&map);
		change_at_random(value / 2500 % 2 == 0, value);
		refill_memory();
		if (map.count > most)
			most = map.count;
		if (value % 8 == 0 && !is_as_oracle(&map))
			break;
	}
	CHECK_INT(value, 20001);
	CHECK(most > 300);
	CHECK(refused > 0);
}

static void test_random_seeds(void)
{
	for (uint64_t seed = 1; seed <= 6; seed++)
		test_random_changes(seed);
}

static unsigned depth_of(const struct hs_address_range_map *tree, uint32_t node)
{
	unsigned below, above;

	if (node == 0)
		return 0;
	below = depth_of(tree, tree->nodes[node].child[0]);
	above = depth_of(tree, tree->nodes[node].child[1]);
	return 1 + (below > above ? below : above);
}

/* The order in which ranges are added must not matter.  A random order gives at most 40 levels. */
static void test_balance(void)
{
	enum { COUNT = 100000 };

	for (unsigned order = 0; order < 4; order++) {
		hs_address_range_map_clear(&map);
		for (uint32_t i = 0; i < COUNT; i++) {
			uint64_t at = i;

			if (order == 1)
				at = COUNT - i;
			else if (order == 2)
				at = i % 2 == 0 ? i : 2 * COUNT - i;
			else if (order == 3)
				at = i * UINT64_C(7919) % COUNT;
			emplace(at * 16, at * 16 + 16, i + 1);
		}
		CHECK_INT(map.count, COUNT);
		CHECK(depth_of(&map, map.root) < 60);
	}
}

static void test_memory(void)
{
	size_t before;

	hs_address_range_map_fini(&map);
	before = hs_arena_used();
	hs_arena_set_budget(before);
	CHECK_INT(hs_address_range_map_emplace(&map, 0, 1, 1), -ENOMEM);
	CHECK_STR(text_of(&map), "");
	hs_arena_set_budget(BUDGET);
	for (uint64_t i = 0; i < 10000; i++)
		emplace(i * 2, i * 2 + 1, 1);
	hs_address_range_map_clear(&map);
	CHECK_STR(text_of(&map), "");
	/* As many again need no more memory, however often ranges are deleted and added. */
	hs_arena_set_budget(hs_arena_used());
	for (uint64_t i = 0; i < 10000; i++)
		emplace(i * 2, i * 2 + 1, 1);
	for (uint64_t i = 0; i < 100000; i++)
		CHECK_INT(hs_address_range_map_trim_overlaps_and_emplace(&map, i % 10000 * 2,
									 i % 10000 * 2 + 1, 2),
			  0);
	CHECK_INT(map.count, 10000);
	hs_arena_set_budget(BUDGET);
	hs_address_range_map_fini(&map);
	CHECK_INT(hs_arena_used(), before);
}

/* A change that splits a range adds two: a map with room for one must grow. */
static void test_room_for_a_split(void)
{
	for (uint32_t room = 0; room < 3; room++) {
		hs_address_range_map_fini(&map);
		emplace(0, 100, 1);
		map.capacity = map.used + room;
		CHECK_INT(hs_address_range_map_trim_overlaps_and_emplace(&map, 40, 60, 2), 0);
		CHECK_STR(text_of(&map), "0-40=1 40-60=2 60-100=1");
		CHECK(map.used <= map.capacity);
	}
	hs_address_range_map_fini(&map);
}

int main(void)
{
	if (hs_arena_init(BUDGET) < 0)
		return 99;
	RUN(test_empty_map);
	RUN(test_emplace_refuses_overlaps);
	RUN(test_emplace_takes_what_touches);
	RUN(test_empty_ranges_are_refused);
	RUN(test_find_at_each_boundary);
	RUN(test_find_containing);
	RUN(test_from);
	RUN(test_changes_of_overlaps);
	RUN(test_overlaps_are_deleted_in_order);
	RUN(test_equality);
	RUN(test_random_seeds);
	RUN(test_balance);
	RUN(test_memory);
	RUN(test_room_for_a_split);
	return CHECK_RESULT();
}
