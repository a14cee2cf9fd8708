/* SPDX-License-Identifier: BSD-2-Clause */
/* How many of the keys that are not in the live set pass its filter. */
#include <stdlib.h>

#include "base/arena.h"
#include "check.h"
#include "sample/live_table.h"

enum { BLOCKS = 100000, KIB = 1024, MIB = 1024 * KIB };

static const uint64_t intervals[] = {64, 512, 4 * KIB, 64 * KIB, 512 * KIB, 8 * MIB};

static uint64_t keys[BLOCKS];
static bool is_sampled[BLOCKS];
static uint64_t random_state = 1;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1du >> 32;
}

/* Chooses one key in so many at random, at most one in two.  Returns how many. */
static unsigned sample(uint64_t one_of)
{
	unsigned count = 0;

	for (unsigned i = 0; i < BLOCKS; i++) {
		is_sampled[i] = next_random() % (one_of < 2 ? 2 : one_of) == 0;
		count += is_sampled[i];
	}
	return count;
}

/* A table as large as the live set makes it, with the chosen keys. */
static uint64_t make_table(unsigned entries)
{
	uint64_t buckets = 512, table;

	while (buckets < entries)
		buckets *= 2;
	table = hs_live_table_make(buckets);
	CHECK(table != 0);
	for (unsigned i = 0; i < BLOCKS; i++)
		CHECK(!is_sampled[i] || hs_live_table_insert(table, keys[i], i, true));
	return table;
}

/* How many in a thousand of the keys that were not chosen */
struct passed {
	unsigned by_filter; /* have a byte that is not 0 */
	unsigned to_bucket; /* and are not denied by it: the bucket is next, another cache line */
};

static struct passed passing(uint64_t one_of)
{
	uint64_t table = make_table(sample(one_of));
	unsigned count = 0, passed = 0, looked = 0;

	for (unsigned i = 0; i < BLOCKS; i++) {
		uint8_t byte = *hs_live_filter_byte(hs_live_table_filter(table), keys[i]);
		bool denies = hs_live_filter_denies(byte, hs_live_hash(keys[i]));

		CHECK(!is_sampled[i] || (byte != 0 && !denies));
		count += !is_sampled[i];
		passed += !is_sampled[i] && byte != 0;
		looked += !is_sampled[i] && !denies;
		hs_live_table_remove(table, keys[i], i, true);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		CHECK_INT(*hs_live_filter_byte(hs_live_table_filter(table), keys[i]), 0);
	return (struct passed){passed * 1000u / count, looked * 1000u / count};
}

static void check_passing(uint64_t one_of, unsigned by_filter, unsigned to_bucket)
{
	struct passed passed = passing(one_of);

	CHECK(passed.by_filter <= by_filter);
	CHECK(passed.to_bucket <= to_bucket);
}

/* Of larger blocks most are sampled: they may crowd, because they are freed rarely. */
static void test_equal_distances(void)
{
	static const uint64_t distances[] = {16, 48, 64, 1040, 4096, 4112, 8208, 16384};

	for (unsigned i = 0; i < sizeof intervals / sizeof *intervals; i++) {
		hs_live_table_set_filter(true, intervals[i]);
		for (unsigned d = 0; d < sizeof distances / sizeof *distances; d++) {
			if (distances[d] > intervals[i] / 16)
				continue;
			for (unsigned b = 0; b < BLOCKS; b++)
				keys[b] = 0x7f3a12345010 + b * distances[d];
			check_passing(intervals[i] / distances[d], 90, 5);
		}
	}
}

/* As glibc's arenas for many threads: 64 MiB apart, with little of each in use. */
static void test_many_heaps(void)
{
	for (unsigned i = 2; i < sizeof intervals / sizeof *intervals; i++) {
		hs_live_table_set_filter(true, intervals[i]);
		for (unsigned b = 0; b < BLOCKS; b++)
			keys[b] = 0x7f3a14000010 + b % 100 * (64 * MIB) + b / 100 * 128;
		check_passing(intervals[i] / 128, 90, 20);
	}
}

/*
 * Ids that a heap of the program may use: 1, 2, 3...  The hash factor was chosen for addresses, and
 * is not as good for these at all intervals.
 */
static void test_small_ids(void)
{
	for (unsigned i = 0; i < sizeof intervals / sizeof *intervals; i++) {
		hs_live_table_set_filter(true, intervals[i]);
		for (unsigned b = 0; b < BLOCKS; b++)
			keys[b] = hs_live_key(HS_HEAP_FIRST_REPORTED, b);
		check_passing(intervals[i] / 16, 200, 50);
	}
}

/* A byte of one entry denies all keys with other marks, one of several denies none; and back. */
static void test_what_a_byte_tells(void)
{
	enum { ENTRIES = 200, FULL = 127 };
	uint64_t table, of_byte[ENTRIES];
	const uint8_t *byte;
	unsigned count = 0;

	hs_live_table_set_filter(true, 512 * KIB);
	table = hs_live_table_make(512);
	byte = hs_live_filter_byte(hs_live_table_filter(table), 16);
	for (uint64_t key = 16; count < ENTRIES; key += 16) {
		if (hs_live_filter_byte(hs_live_table_filter(table), key) == byte)
			of_byte[count++] = key;
	}
	for (unsigned round = 0; round < 2; round++) {
		unsigned denied = 0;

		/* One. */
		CHECK(hs_live_table_insert(table, of_byte[round], 1, true));
		CHECK(!hs_live_filter_denies(*byte, hs_live_hash(of_byte[round])));
		for (unsigned i = 0; i < ENTRIES; i++)
			denied += hs_live_filter_denies(*byte, hs_live_hash(of_byte[i]));
		CHECK(denied >= ENTRIES * 9 / 10);
		/* Two, of which the first is taken out first. */
		CHECK(hs_live_table_insert(table, of_byte[5], 2, true));
		for (unsigned i = 0; i < ENTRIES; i++)
			CHECK(!hs_live_filter_denies(*byte, hs_live_hash(of_byte[i])));
		CHECK(hs_live_table_remove(table, of_byte[round], 1, true));
		CHECK(!hs_live_filter_denies(*byte, hs_live_hash(of_byte[5])));
		CHECK(hs_live_table_remove(table, of_byte[5], 2, true));
		CHECK_INT(*byte, 0);
	}
	/* As many as can be counted, and more: after that the byte stays as it is. */
	for (unsigned i = 0; i < ENTRIES; i++) {
		CHECK(hs_live_table_insert(table, of_byte[i], i, true));
		CHECK_INT(*byte == UINT8_MAX, i + 1 >= FULL);
	}
	for (unsigned i = 0; i < ENTRIES; i++)
		CHECK(hs_live_table_remove(table, of_byte[i], i, true));
	CHECK_INT(*byte, UINT8_MAX);
}

/* Frees of addresses near each other look at few cache lines of the filter, however large it is. */
static void test_neighbours(void)
{
	hs_live_table_set_filter(true, 512 * KIB);
	for (uint64_t buckets = 512; buckets <= 512 * KIB; buckets *= 4) {
		uintptr_t filter = hs_live_table_filter(hs_live_table_make(buckets));

		for (uint64_t key = 0x7f3a12345010; key < 0x7f3a52345010; key += 64 * KIB) {
			uint8_t *low = hs_live_filter_byte(filter, key);
			uint8_t *high = hs_live_filter_byte(filter, key + 64 * KIB - 1);

			/* Except where the filter's end meets its beginning. */
			CHECK(high >= low ? high - low <= 64
					  : low - high >= (ptrdiff_t)buckets * 16 - 64);
		}
	}
}

int main(void)
{
	CHECK_INT(hs_arena_init((size_t)256 << 20), 0);
	RUN(test_equal_distances);
	RUN(test_many_heaps);
	RUN(test_small_ids);
	RUN(test_what_a_byte_tells);
	RUN(test_neighbours);
	return CHECK_RESULT();
}
