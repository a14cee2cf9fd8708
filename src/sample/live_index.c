/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hash table of the live set.  See live_set.h for the layout and live_index.h.
 */
#include "sample/live_index.h"

#include <errno.h>

#include "base/arena.h"

/* Grow past this many entries per bucket of six, on average: two full neighbours are
 * then a matter of one in five million inserts. */
#define ENTRIES_PER_BUCKET 1

/* Tables have at most this many times the room that their entries need. */
#define MOST_ROOM 64

/* Bound on retries of a compare-and-swap that others keep winning. */
#define LANE_TRIES 1000

/* Doublings tried on top of the first, where a copy finds a bucket full. */
#define GROW_TRIES 2

#define OVERFLOW_ONE ((uint64_t)1 << 56)

/* Bytes of the filter for each bucket: one entry in so many bytes when it is time to grow. */
#define FILTER_PER_BUCKET 16

/* Apart from a table's buckets and the filter: the filter's address is its shift, modulo 32. */
#define FILTER_ROOM 64

/* The hash of the filter has 32 bits, one of which at least is shifted out. */
#define FILTER_MOST_BITS 31

/* A byte that has counted so far stays so: in practice none does. */
#define FILTER_FULL UINT8_MAX

/* Before hs_live_index_init(): an empty table of two buckets.  32 bytes: 5 of 32 bits. */
static _Alignas(64) struct {
	uint8_t filter[2 * FILTER_PER_BUCKET + FILTER_ROOM];
	_Alignas(64) struct hs_live_bucket buckets[2];
} none;

_Atomic uint64_t hs_live_index = (uintptr_t)none.buckets + 63;
uintptr_t hs_live_filter = (uintptr_t)none.filter + 27;
static _Atomic uint64_t growing; /* the next table while entries are copied; 0 = none */
static _Atomic uint32_t refused; /* inserts without room since the last growth */

static uint64_t tag_of(uint64_t hash)
{
	return (hash >> 32 & 0x7f) | 0x80;
}

static struct hs_live_bucket *buckets_of(uint64_t index)
{
	return (struct hs_live_bucket *)(uintptr_t)(index & ~(uint64_t)63);
}

static uint64_t bucket_count(uint64_t index)
{
	return (uint64_t)1 << (64 - (index & 63));
}

static struct hs_live_bucket *home_of(uint64_t index, uint64_t hash)
{
	return buckets_of(index) + (hash >> (index & 63));
}

/* The other bucket of the same cache line. */
static struct hs_live_bucket *neighbour_of(struct hs_live_bucket *bucket)
{
	return (struct hs_live_bucket *)((uintptr_t)bucket ^ sizeof *bucket);
}

/* How many bytes a table's filter has. */
static uint64_t filter_bytes(uint64_t buckets)
{
	uint64_t bytes = buckets * FILTER_PER_BUCKET, most = (uint64_t)1 << FILTER_MOST_BITS;

	return bytes < most ? bytes : most;
}

/* In front of the buckets; see hs_live_filter. */
static uintptr_t filter_of(uint64_t index)
{
	uint64_t bytes = filter_bytes(bucket_count(index));

	return (uintptr_t)buckets_of(index) - bytes - FILTER_ROOM +
	       (uintptr_t)(32 - __builtin_ctzll(bytes));
}

/*
 * Count an entry in, before it is there, and out, when it is not there any more.  Relaxed:
 * hs_live_set_may_hold_key() says what orders it.
 */
static void count_in(uint64_t index, uint64_t key)
{
	uint8_t *byte = hs_live_filter_byte(filter_of(index), key);
	uint8_t count = __atomic_load_n(byte, __ATOMIC_RELAXED);

	while (count != FILTER_FULL &&
	       !__atomic_compare_exchange_n(byte, &count, (uint8_t)(count + 1), true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void count_out(uint64_t index, uint64_t key)
{
	uint8_t *byte = hs_live_filter_byte(filter_of(index), key);
	uint8_t count = __atomic_load_n(byte, __ATOMIC_RELAXED);

	while (count != FILTER_FULL &&
	       !__atomic_compare_exchange_n(byte, &count, (uint8_t)(count - 1), true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Take a free lane for tag: its number, or -1. */
static int take_lane(struct hs_live_bucket *bucket, uint64_t tag)
{
	uint64_t tags = atomic_load_explicit(&bucket->tags, memory_order_relaxed);

	for (int tries = 0; tries < LANE_TRIES; tries++) {
		int lane = 0;

		while (lane < HS_BUCKET_LANES && (tags >> (8 * lane) & 0xff) != 0)
			lane++;
		if (lane == HS_BUCKET_LANES)
			return -1;
		/* Acquire: after the clearing of the lane's slot in empty_lane(). */
		if (atomic_compare_exchange_weak_explicit(
			    &bucket->tags, &tags, tags | tag << (8 * lane), memory_order_acq_rel,
			    memory_order_relaxed))
			return lane;
	}
	return -1;
}

static bool insert_into(uint64_t index, uint64_t key, uint32_t slot)
{
	uint64_t hash = hs_live_hash(key);
	struct hs_live_bucket *home = home_of(index, hash), *bucket = home;
	int lane;

	count_in(index, key);
	lane = take_lane(bucket, tag_of(hash));
	if (lane < 0) {
		bucket = neighbour_of(home);
		lane = take_lane(bucket, tag_of(hash));
		if (lane < 0) {
			count_out(index, key);
			return false;
		}
		atomic_fetch_add_explicit(&home->tags, OVERFLOW_ONE, memory_order_relaxed);
	}
	/*
	 * Release: the slot's fields, for searches on other threads.  Sequentially
	 * consistent for the sake of hs_live_index_insert().
	 */
	atomic_store(&bucket->slots[lane], slot + 1);
	return true;
}

bool hs_live_index_insert(uint64_t key, uint32_t slot)
{
	uint64_t index = atomic_load(&hs_live_index), next;

	for (;;) {
		if (!insert_into(index, key, slot)) {
			atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
			return false;
		}
		/*
		 * The store of the entry and this load, grow()'s store and the copy's loads are
		 * sequentially consistent: either this sees the new table, or the copy sees
		 * the entry.
		 */
		next = atomic_load(&growing);
		if (next != 0 && next != index && !insert_into(next, key, slot)) {
			atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
			return false;
		}
		/* The switch happened in between: the entry may be in the old table alone. */
		next = atomic_load(&hs_live_index);
		if (next == index)
			return true;
		index = next;
	}
}

/* Empty a lane if it holds slot; of several threads that try, one succeeds. */
static bool empty_lane(struct hs_live_bucket *bucket, int lane, uint32_t slot)
{
	uint32_t held = slot + 1;

	if (!atomic_compare_exchange_strong_explicit(&bucket->slots[lane], &held, 0,
						     memory_order_relaxed, memory_order_relaxed))
		return false;
	/* Release: the store before, for the next owner of the lane. */
	atomic_fetch_and_explicit(&bucket->tags, ~((uint64_t)0xff << (8 * lane)),
				  memory_order_release);
	return true;
}

static void remove_from(uint64_t index, uint64_t key, uint32_t slot)
{
	struct hs_live_bucket *home = home_of(index, hs_live_hash(key));
	struct hs_live_bucket *neighbour = neighbour_of(home);

	for (int lane = 0; lane < HS_BUCKET_LANES; lane++) {
		if (empty_lane(home, lane, slot))
			count_out(index, key);
		if (empty_lane(neighbour, lane, slot)) {
			atomic_fetch_sub_explicit(&home->tags, OVERFLOW_ONE, memory_order_relaxed);
			count_out(index, key);
		}
	}
}

void hs_live_index_remove(uint64_t key, uint32_t slot)
{
	remove_from(atomic_load(&hs_live_index), key, slot);
}

void hs_live_search_start(struct hs_live_search *search, uint64_t key)
{
	uint64_t hash = hs_live_hash(key);

	search->bucket = home_of(atomic_load(&hs_live_index), hash);
	search->tag = tag_of(hash);
	search->lane = 0;
	search->buckets_left = 1;
	if (atomic_load_explicit(&search->bucket->tags, memory_order_relaxed) >> 56 != 0)
		search->buckets_left = 2;
}

uint32_t hs_live_search_next(struct hs_live_search *search)
{
	for (; search->buckets_left > 0; search->buckets_left--) {
		uint64_t tags = atomic_load_explicit(&search->bucket->tags, memory_order_relaxed);

		while (search->lane < HS_BUCKET_LANES) {
			unsigned lane = search->lane++;
			uint32_t slot;

			if ((tags >> (8 * lane) & 0xff) != search->tag)
				continue;
			slot = atomic_load_explicit(&search->bucket->slots[lane],
						    memory_order_acquire);
			if (slot != 0)
				return slot - 1;
		}
		search->lane = 0;
		search->bucket = neighbour_of(search->bucket);
	}
	return HS_SLOT_NONE;
}

static uint64_t make_table(uint64_t buckets)
{
	size_t before = filter_bytes(buckets) + FILTER_ROOM;
	size_t bytes = before + buckets * sizeof(struct hs_live_bucket);
	unsigned char *memory;

	bytes = (bytes + 4095) & ~(size_t)4095;
	memory = hs_arena_reserve(bytes);
	if (memory == NULL)
		return 0;
	if (hs_arena_commit(memory, bytes) != 0) {
		/* It is tried again and again: addresses run out too. */
		hs_arena_unreserve(memory, bytes);
		return 0;
	}
	return (uint64_t)(uintptr_t)(memory + before) | (uint64_t)(64 - __builtin_ctzll(buckets));
}

/*
 * The filter first: who has seen the new table puts entries into that alone, so those that get
 * the address from there must see the new filter too.
 */
static void switch_to(uint64_t index)
{
	__atomic_store_n(&hs_live_filter, filter_of(index), __ATOMIC_RELEASE);
	atomic_store(&hs_live_index, index);
}

int hs_live_index_init(uint32_t expected)
{
	uint64_t buckets = 128, index;

	while (buckets * ENTRIES_PER_BUCKET < expected)
		buckets *= 2;
	index = make_table(buckets);
	if (index == 0)
		return -ENOMEM;
	switch_to(index);
	return 0;
}

static bool copy_entry(uint64_t to, uint32_t slot)
{
	return insert_into(to, hs_live_set_key(slot), slot);
}

/* Copy all entries; false when the new table has no room for one. */
static bool copy_table(uint64_t from, uint64_t to)
{
	struct hs_live_bucket *bucket = buckets_of(from);

	for (uint64_t n = bucket_count(from); n > 0; n--, bucket++) {
		for (int lane = 0; lane < HS_BUCKET_LANES; lane++) {
			/* Sequentially consistent: see hs_live_index_insert(). */
			uint32_t slot = atomic_load(&bucket->slots[lane]);

			if (slot != 0 && !copy_entry(to, slot - 1))
				return false;
		}
	}
	return true;
}

/* Go over to a table of that many buckets.  0, -ENOMEM, or -EAGAIN: they are too few. */
static int grow_to(uint64_t buckets)
{
	uint64_t old = atomic_load(&hs_live_index);
	uint64_t next = make_table(buckets);

	if (next == 0)
		return -ENOMEM;
	/* Before the copy's loads: see hs_live_index_insert(). */
	atomic_store(&growing, next);
	if (!copy_table(old, next)) {
		/* Inserts may still be writing to it: the memory is not used again. */
		atomic_store(&growing, 0);
		return -EAGAIN;
	}
	/* In this order: an insert that no longer sees growing sees the new table. */
	switch_to(next);
	atomic_store(&growing, 0);
	atomic_store_explicit(&refused, 0, memory_order_relaxed);
	return 0;
}

int hs_live_index_maintain(uint32_t entries)
{
	uint64_t buckets = bucket_count(atomic_load(&hs_live_index));
	uint64_t room = buckets * ENTRIES_PER_BUCKET;
	bool crowded = atomic_load_explicit(&refused, memory_order_relaxed) != 0;
	int error;

	/*
	 * A refusal in a table that is far from full means addresses that the hash does not
	 * part; a larger table may, up to a point.
	 */
	if (entries <= room && !(crowded && entries > room / MOST_ROOM))
		return 0;
	/* Not by one doubling: where the program was much faster, that is still too full. */
	do
		buckets *= 2;
	while (buckets * ENTRIES_PER_BUCKET < entries);
	for (int tries = 0; (error = grow_to(buckets)) == -EAGAIN && tries < GROW_TRIES; tries++)
		buckets *= 2;
	return error == -EAGAIN ? -ENOMEM : error;
}
