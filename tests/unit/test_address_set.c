/* SPDX-License-Identifier: BSD-2-Clause */
#include "maps/address_set.h"

#include <errno.h>

#include "address_oracle.h"

static struct hs_address_set set;

static void add(uint64_t start, uint64_t end)
{
	CHECK_INT(hs_address_set_add(&set, start, end), 0);
}

static void begin(void)
{
	hs_address_set_clear(&set);
	add(0, 10);
	add(30, 40);
}

static void check_ranges(const char *text)
{
	CHECK_STR(text_of(&set.ranges), text);
}

static void test_empty_set(void)
{
	hs_address_set_clear(&set);
	check_ranges("");
	CHECK(!hs_address_set_contains(&set, 0, 1));
	CHECK(!hs_address_set_contains(&set, 0, 0));
}

static void test_empty_ranges_are_not_added(void)
{
	hs_address_set_clear(&set);
	add(0, 0);
	add(10, 10);
	add(11, 10);
	add(UINT64_MAX, UINT64_MAX);
	check_ranges("");
	begin();
	add(10, 10);
	add(20, 20);
	add(35, 34);
	check_ranges("0-10=0 30-40=0");
}

static void test_apart_stay_apart(void)
{
	begin();
	add(11, 29);
	check_ranges("0-10=0 11-29=0 30-40=0");
}

static void test_touching_are_merged(void)
{
	begin();
	add(10, 30);
	check_ranges("0-40=0");
	begin();
	add(10, 12);
	add(28, 30);
	check_ranges("0-12=0 28-40=0");
	begin();
	add(40, UINT64_MAX);
	check_ranges("0-10=0 30-18446744073709551615=0");
}

static void test_overlapping_are_merged(void)
{
	begin();
	add(5, 35);
	check_ranges("0-40=0");
	begin();
	add(9, 12);
	add(25, 31);
	check_ranges("0-12=0 25-40=0");
	begin();
	add(0, 50);
	check_ranges("0-50=0");
	add(0, 50);
	add(1, 49);
	add(0, 1);
	add(49, 50);
	check_ranges("0-50=0");
	begin();
	add(60, 70);
	add(9, 61);
	check_ranges("0-70=0");
}

static void test_contains(void)
{
	begin();
	CHECK(hs_address_set_contains(&set, 0, 10));
	CHECK(hs_address_set_contains(&set, 9, 1));
	CHECK(hs_address_set_contains(&set, 30, 1));
	CHECK(!hs_address_set_contains(&set, 0, 11));
	CHECK(!hs_address_set_contains(&set, 10, 1));
	CHECK(!hs_address_set_contains(&set, 29, 2));
	CHECK(!hs_address_set_contains(&set, 5, 0));
	CHECK(!hs_address_set_contains(&set, 5, UINT64_MAX));
	CHECK(!hs_address_set_contains(&set, 5, UINT64_MAX - 4));
	add(40, UINT64_MAX);
	CHECK(hs_address_set_contains(&set, UINT64_MAX - 1, 1));
	CHECK(!hs_address_set_contains(&set, UINT64_MAX - 1, 2));
	CHECK(!hs_address_set_contains(&set, UINT64_MAX, 1));
}

static void test_equality(void)
{
	struct hs_address_set other = { { .nodes = NULL } };

	begin();
	CHECK(!hs_address_set_equal(&set, &other));
	CHECK_INT(hs_address_set_add(&other, 0, 40), 0);
	CHECK(!hs_address_set_equal(&set, &other));
	add(10, 30);
	CHECK(hs_address_set_equal(&set, &other));
	hs_address_set_fini(&other);
}

/* Members are 1 in the oracle; the set must have merged them to the oracle's runs. */
static bool has_oracle_runs(void)
{
	uint32_t count = 0;

	for (uint64_t i = 0; i < ORACLE_ADDRESSES; i = run_end(i)) {
		uint64_t bytes = run_end(i) - i;

		if (hs_address_set_contains(&set, oracle_base + i, bytes) != (oracle[i] != 0) ||
		    hs_address_set_contains(&set, oracle_base + i, bytes + 1))
			return false;
		count += oracle[i];
	}
	return count == set.ranges.count && set.ranges.used <= set.ranges.capacity;
}

static void test_random_changes(void)
{
	uint32_t refused = 0, most = 0, turn;

	random_state = 88172645463325252u;
	oracle_base = UINT64_MAX - ORACLE_ADDRESSES;
	hs_address_set_fini(&set);
	for (turn = 0; turn < 60000; turn++) {
		bool growing = turn / 6000 % 2 == 0; /* into many short ranges */
		bool is_add = random_below(2) == 0;
		uint64_t start, end;
		int result;

		random_range(growing ? 1 : 24, &start, &end);
		maybe_drain_memory(&set.ranges);
		result = is_add ? hs_address_set_add(&set, oracle_base + start, oracle_base + end)
				: hs_address_range_map_remove_overlaps(
					  &set.ranges, oracle_base + start, oracle_base + end);
		refill_memory();
		if (result == 0)
			oracle_fill(start, end, is_add);
		else
			CHECK_INT(result, -ENOMEM);
		refused += result == -ENOMEM;
		most = set.ranges.count > most ? set.ranges.count : most;
		if (turn % 8 == 0 && !has_oracle_runs())
			break;
	}
	CHECK_INT(turn, 60000);
	CHECK(most > 200);
	CHECK(refused > 0);
	hs_address_set_fini(&set);
}

int main(void)
{
	if (hs_arena_init(BUDGET) < 0)
		return 99;
	RUN(test_empty_set);
	RUN(test_empty_ranges_are_not_added);
	RUN(test_apart_stay_apart);
	RUN(test_touching_are_merged);
	RUN(test_overlapping_are_merged);
	RUN(test_contains);
	RUN(test_equality);
	RUN(test_random_changes);
	return CHECK_RESULT();
}
