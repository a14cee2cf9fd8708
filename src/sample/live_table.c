/* SPDX-License-Identifier: BSD-2-Clause */
/* One table of the live set's index.  See live_table.h. */
#include "sample/live_table.h"

#include <string.h>

#include "base/arena.h"
#include "base/hot.h"
#include "base/likely.h"
#include "base/sys.h"

/* Bound on retries of a compare-and-swap that others keep winning. */
#define LANE_TRIES 1000

#define OVERFLOW_ONE ((uint64_t)1 << HS_LIVE_OVERFLOW_SHIFT)

/* 2 GiB: for more than 100 million samples. */
#define FILTER_MOST_BITS 31

#define TOUCHED_AT_ONCE ((size_t)1 << 20)

/* A byte that has reached this is not changed any more.  It does not happen in practice. */
#define FILTER_FULL UINT8_MAX

/* A filter byte after an entry of a key with this hash is added. */
static uint8_t with_one_more(uint8_t byte, uint64_t hash)
{
	if (hs_likely(byte == 0))
		return hs_live_filter_mark(hash);
	return byte < HS_LIVE_FILTER_SEVERAL ? HS_LIVE_FILTER_SEVERAL + 2 : (uint8_t)(byte + 1);
}

static uint8_t with_one_less(uint8_t byte)
{
	return byte <= HS_LIVE_FILTER_SEVERAL + 1 ? 0 : (uint8_t)(byte - 1);
}

static HS_SAMPLE_WORDS bool has_filter = true; /* start-up */

/* The filter of tables without one: a byte that denies no key.  Its factor is 0. */
#define NO_FILTER_SHIFT 63
static _Alignas(64) const uint8_t no_filter[NO_FILTER_SHIFT + 1] = {
	[NO_FILTER_SHIFT] = FILTER_FULL,
};

/*
 * A filter's factor is 2^64 / golden ratio shifted right: small enough that keys close to each
 * other get bytes close to each other, and with low bits that spread blocks at equal distances over
 * different bytes.  See Knuth, The Art of Computer Programming 3, 6.4.  It is shifted by one more
 * for each bit that the filter's size has more than 13, so that this distance stays the same.
 */
#define SPREAD_SHIFT 4
#define SPREAD_MOST_SHIFT (SPREAD_SHIFT + 20)
#define SPREAD_BITS 13

static int spread_shift = SPREAD_MOST_SHIFT; /* start-up */

void hs_live_table_set_filter(bool is_used, uint64_t interval_bytes)
{
	int shift = SPREAD_SHIFT + 63 - __builtin_clzll(interval_bytes | 1);

	has_filter = is_used;
	spread_shift = shift < SPREAD_MOST_SHIFT ? shift : SPREAD_MOST_SHIFT;
}

static uint64_t filter_bytes(uint64_t buckets)
{
	uint64_t bytes = buckets * HS_LIVE_FILTER_PER_BUCKET,
		 most = (uint64_t)1 << FILTER_MOST_BITS;

	if (!has_filter)
		return 0;
	return bytes < most ? bytes : most;
}

uintptr_t hs_live_table_filter(uint64_t table)
{
	uint64_t bytes = filter_bytes(hs_live_table_count(table));

	if (!has_filter)
		return (uintptr_t)no_filter + NO_FILTER_SHIFT;
	return (uintptr_t)hs_live_table_buckets(table) - bytes - HS_LIVE_FILTER_ROOM +
	       (uintptr_t)(64 - __builtin_ctzll(bytes));
}

/* The filter byte of a key; NULL: there is no filter. */
static inline uint8_t *filter_byte(uint64_t table, uint64_t key)
{
	return hs_likely(has_filter) ? hs_live_filter_byte(hs_live_table_filter(table), key) : NULL;
}

/*
 * Counts an entry in before it is entered, or out after it is removed.  Relaxed:
 * hs_live_set_may_hold_key() says what orders it.
 */
static inline void count(uint64_t table, uint64_t key, bool is_in, bool is_locked)
{
	uint8_t *byte = filter_byte(table, key), now, next;

	if (hs_unlikely(byte == NULL))
		return;
	now = __atomic_load_n(byte, __ATOMIC_RELAXED);
	do {
		if (hs_unlikely(now == FILTER_FULL))
			return;
		next = is_in ? with_one_more(now, hs_live_hash(key)) : with_one_less(now);
	} while (hs_unlikely(!hs_arch_compare_exchange_byte(byte, &now, next, is_locked)));
}

/* Takes a free lane for tag; -1: there is none.  Inlined to save stack. */
static inline __attribute__((always_inline)) int take_lane(struct hs_live_bucket *bucket,
							    uint64_t tag, bool is_locked)
{
	uint64_t tags = atomic_load_explicit(&bucket->tags, memory_order_relaxed);

	for (int tries = 0; tries < LANE_TRIES; tries++) {
		uint64_t free_lanes = ~tags & HS_LIVE_TAGS_HIGHEST;
		int lane;

		if (hs_unlikely(free_lanes == 0))
			return -1;
		lane = hs_live_table_lane(free_lanes);
		/*
		 * Acquire: after the clearing of the lane's slot in empty_lane().  Sequentially
		 * consistent for hs_live_table_remove().
		 */
		if (hs_likely(hs_arch_compare_exchange(&bucket->tags, &tags,
						       tags | tag << (8 * lane), is_locked)))
			return lane;
	}
	return -1;
}

bool hs_live_table_insert(uint64_t table, uint64_t key, uint32_t slot, bool is_locked)
{
	uint64_t hash = hs_live_hash(key);
	struct hs_live_bucket *home = hs_live_table_home(table, hash), *bucket = home;
	int lane;

	count(table, key, true, is_locked);
	lane = take_lane(bucket, hs_live_table_tag(hash), is_locked);
	if (hs_unlikely(lane < 0)) {
		bucket = hs_live_table_neighbour(home);
		lane = take_lane(bucket, hs_live_table_tag(hash), is_locked);
		if (lane < 0) {
			count(table, key, false, is_locked);
			return false;
		}
		/* Sequentially consistent, before the entry: for hs_live_table_remove(). */
		atomic_fetch_add(&home->tags, OVERFLOW_ONE);
	}
	/*
	 * Release: the slot's fields, for searches on other threads.  Sequentially
	 * consistent for the sake of hs_live_index_insert().
	 */
	atomic_store(&bucket->slots[lane], slot + 1);
	return true;
}

/*
 * Empties a lane if it holds slot; if several threads try, one succeeds.  Sequentially
 * consistent: see hs_live_index_remove().
 */
static bool empty_lane(struct hs_live_bucket *bucket, int lane, uint32_t slot, bool is_locked)
{
	uint32_t held = slot + 1;
	uint64_t tags;

	if (hs_unlikely(atomic_load(&bucket->slots[lane]) != held) ||
	    !atomic_compare_exchange_strong(&bucket->slots[lane], &held, 0))
		return false;
	/* Release: the store before, for the next owner of the lane. */
	tags = atomic_load_explicit(&bucket->tags, memory_order_relaxed);
	while (hs_unlikely(!hs_arch_compare_exchange(&bucket->tags, &tags,
						     tags & ~((uint64_t)0xff << (8 * lane)),
						     is_locked)))
		;
	return true;
}

bool hs_live_table_remove(uint64_t table, uint64_t key, uint32_t slot, bool is_locked)
{
	uint64_t hash = hs_live_hash(key), tag_in_each = hs_live_table_tag_in_each(hash);
	struct hs_live_bucket *home = hs_live_table_home(table, hash), *bucket = home;
	bool was_there = false;

	/*
	 * An entry's tag, and its home's count of entries in the neighbour, are set before the
	 * entry and cleared after it, so where they show none the lanes need not be read.
	 * Sequentially consistent, as the insert's stores, in place of those loads.
	 */
	for (uint64_t tags = atomic_load(&bucket->tags);; tags = atomic_load(&bucket->tags)) {
		uint64_t lanes = hs_live_table_lanes(tags, tag_in_each);

		/* All of them: while a table is being made an entry may be in it twice. */
		for (; lanes != 0; lanes &= lanes - 1) {
			if (!empty_lane(bucket, hs_live_table_lane(lanes), slot, is_locked))
				continue;
			if (hs_unlikely(bucket != home))
				atomic_fetch_sub_explicit(&home->tags, OVERFLOW_ONE,
							  memory_order_relaxed);
			count(table, key, false, is_locked);
			was_there = true;
		}
		if (hs_likely(tags < OVERFLOW_ONE) || bucket != home)
			return was_there;
		bucket = hs_live_table_neighbour(home);
	}
}

bool hs_live_table_holds(uint64_t table, uint64_t key, uint32_t slot)
{
	struct hs_live_bucket *home = hs_live_table_home(table, hs_live_hash(key));
	struct hs_live_bucket *neighbour = hs_live_table_neighbour(home);

	for (int lane = 0; lane < HS_BUCKET_LANES; lane++) {
		if (atomic_load_explicit(&home->slots[lane], memory_order_relaxed) == slot + 1 ||
		    atomic_load_explicit(&neighbour->slots[lane], memory_order_relaxed) == slot + 1)
			return true;
	}
	return false;
}

/* Of what lies in front of the buckets, the filter; and of a whole table. */
static size_t bytes_before(uint64_t buckets)
{
	return filter_bytes(buckets) + HS_LIVE_FILTER_ROOM;
}

static size_t bytes_of(uint64_t buckets)
{
	return bytes_before(buckets) + buckets * sizeof(struct hs_live_bucket);
}

bool hs_live_table_touch(uint64_t table, size_t *touched)
{
	uint64_t buckets = hs_live_table_count(table);
	char *start = (char *)hs_live_table_buckets(table) - bytes_before(buckets);
	size_t left = bytes_of(buckets) - *touched;
	size_t bytes = left < TOUCHED_AT_ONCE ? left : TOUCHED_AT_ONCE;

	hs_sys_touch(start + *touched, bytes);
	*touched += bytes;
	return bytes == left;
}

static void set_factor(uint64_t table)
{
	uintptr_t filter = hs_live_table_filter(table);
	uint64_t factor;

	if (!has_filter)
		return;
	factor = HS_HASH_FACTOR >> (spread_shift + 64 - (int)(filter & 63) - SPREAD_BITS);
	memcpy((uint8_t *)filter - sizeof factor, &factor, sizeof factor);
}

uint64_t hs_live_table_make(uint64_t buckets)
{
	size_t bytes = bytes_of(buckets);
	unsigned char *memory = hs_arena_reserve(bytes);
	uint64_t table;

	if (memory == NULL)
		return 0;
	if (hs_arena_commit(memory, bytes) != 0) {
		/* Tried again later: without this, address space would run out. */
		hs_arena_unreserve(memory, bytes);
		return 0;
	}
	table = (uint64_t)(uintptr_t)(memory + bytes_before(buckets)) |
		(uint64_t)(64 - __builtin_ctzll(buckets));
	set_factor(table);
	return table;
}
