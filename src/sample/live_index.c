/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The index of the live set: the current table and how it grows.  See live_index.h.
 */
#include "sample/live_index.h"

#include <errno.h>

#include "base/alone.h"
#include "base/hot.h"
#include "base/likely.h"
#include "sample/live_table.h"

/* Grow past this many entries per bucket of six, on average: two full neighbours are
 * then a matter of one in five million inserts. */
#define ENTRIES_PER_BUCKET 1

/* A table has at most this many times the room that its entries need. */
#define MOST_ROOM 64

/* So many buckets are copied in a step. */
#define COPIED_AT_ONCE 2048u

/* Doublings tried after the first, if entries that were made meanwhile fill two buckets. */
#define GROW_TRIES 2

/* The table before hs_live_index_init(): two buckets, empty.  Its factor is 0. */
static _Alignas(64) struct {
	uint8_t filter[2 * HS_LIVE_FILTER_PER_BUCKET + HS_LIVE_FILTER_ROOM];
	_Alignas(64) struct hs_live_bucket buckets[2];
} none;

HS_SAMPLE_WORDS _Atomic uint64_t hs_live_index = (uintptr_t)none.buckets + 63;
HS_HOT uintptr_t hs_live_filter = (uintptr_t)none.filter + 59;
/* The next table while entries are copied; 0 = none. */
static HS_SAMPLE_WORDS _Atomic uint64_t growing;

/*
 * A larger table while it is made, in steps of less than a millisecond: a fork waits until the
 * producer has done one, and the child's producer does the rest.
 */
static struct {
	uint64_t table;     /* 0: none is made */
	size_t touched;     /* bytes of it that have their pages */
	uint64_t copied;    /* buckets of the current table that have been copied */
	unsigned doublings; /* so often it was too small */
} larger;
static _Atomic uint64_t refused; /* hash of a key without room, lowest bit set; 0 = none */

HS_SAMPLE_WORDS _Atomic bool hs_live_index_has_entries;

/*
 * With a map: the number of entries in the table.  Entries removed while a table is made may be
 * subtracted twice; then the next table is made later, when an insert is refused.
 */
static _Atomic int32_t table_entries;

static void count(int32_t more)
{
	if (hs_unlikely(hs_live_map_is_used()))
		atomic_fetch_add_explicit(&table_entries, more, memory_order_relaxed);
}

/* Whether there was an entry.  Inlined to save stack. */
static inline __attribute__((always_inline)) bool remove_from_tables(uint64_t key, uint32_t slot,
								      bool is_locked)
{
	uint64_t index = atomic_load(&hs_live_index), next;
	bool was_there = false;

	for (;;) {
		/*
		 * As in hs_live_index_insert(): either this sees the new table, or the copy sees
		 * that the entry is gone, before or after copying it.
		 */
		was_there |= hs_live_table_remove(index, key, slot, is_locked);
		next = atomic_load(&growing);
		if (hs_unlikely(next != 0 && next != index))
			was_there |= hs_live_table_remove(next, key, slot, true);
		next = atomic_load(&hs_live_index);
		if (hs_likely(next == index))
			return was_there;
		index = next;
	}
}

bool hs_live_index_insert(uint64_t key, uint32_t slot)
{
	bool is_locked = !hs_is_alone();
	uint64_t index, next;

	if (hs_unlikely(!hs_live_index_is_table_used()))
		atomic_store_explicit(&hs_live_index_has_entries, true, memory_order_relaxed);
	index = atomic_load(&hs_live_index);
	while (hs_likely(hs_live_table_insert(index, key, slot, is_locked))) {
		/*
		 * The store of the entry and this load, go_on()'s store and the copy's loads
		 * are sequentially consistent: either this sees the new table, or the copy sees
		 * the entry.
		 */
		next = atomic_load(&growing);
		if (hs_unlikely(next != 0 && next != index) &&
		    !hs_live_table_insert(next, key, slot, true))
			break;
		/* The new table has become current in between, perhaps without the entry. */
		next = atomic_load(&hs_live_index);
		if (hs_likely(next == index)) {
			count(1);
			return true;
		}
		index = next;
	}
	return false;
}

void hs_live_index_refuse(uint64_t key, uint32_t slot)
{
	(void)remove_from_tables(key, slot, true);
	atomic_store_explicit(&refused, hs_live_hash(key) | 1, memory_order_relaxed);
}

bool hs_live_index_remove(uint64_t key, uint32_t slot, bool is_locked)
{
	if (hs_unlikely(hs_live_map_is_used())) {
		if (hs_live_map_remove(key, slot))
			return true;
		if (!hs_live_index_is_table_used())
			return false;
	}
	if (hs_unlikely(!remove_from_tables(key, slot, is_locked)))
		return false;
	count(-1);
	return true;
}

bool hs_live_index_may_hold_mapped(uint64_t key)
{
	struct hs_live_search search;

	hs_live_search_start(&search, key);
	return search.mapped != 0 || search.lanes != 0 || search.is_neighbour_left;
}

uint32_t hs_live_search_next(struct hs_live_search *search)
{
	uint32_t mapped = search->mapped;

	search->mapped = 0;
	if (hs_unlikely(mapped != 0))
		return mapped - 1;
	for (;;) {
		while (search->lanes != 0) {
			int lane = hs_live_table_lane(search->lanes);
			uint32_t slot = atomic_load_explicit(&search->bucket->slots[lane],
							     memory_order_acquire);

			search->lanes &= search->lanes - 1;
			if (slot != 0)
				return slot - 1;
		}
		if (!search->is_neighbour_left)
			return HS_SLOT_NONE;
		search->is_neighbour_left = false;
		search->bucket = hs_live_table_neighbour(search->bucket);
		search->lanes = hs_live_table_lanes(
			atomic_load_explicit(&search->bucket->tags, memory_order_relaxed),
			search->tag_in_each);
	}
}

/*
 * The filter first: a thread that sees the new table enters samples only there, and whoever gets
 * their addresses must see the new filter.
 */
static void switch_to(uint64_t index)
{
	__atomic_store_n(&hs_live_filter, hs_live_table_filter(index), __ATOMIC_RELEASE);
	atomic_store(&hs_live_index, index);
}

int hs_live_index_init(uint32_t expected)
{
	uint64_t buckets = 128, index;

	while (buckets * ENTRIES_PER_BUCKET < expected)
		buckets *= 2;
	index = hs_live_table_make(buckets);
	if (index == 0)
		return -ENOMEM;
	switch_to(index);
	return 0;
}

/*
 * Copies the entry of a lane.  False: the new table has no room for it.  The slot's key does not
 * change meanwhile: only the producer, which is here, recycles slots that are in the index.
 */
static bool copy_lane(_Atomic uint32_t *lane, uint64_t to)
{
	/* Sequentially consistent: see hs_live_index_insert() and _remove(). */
	uint32_t slot = atomic_load(lane) - 1;
	uint64_t key;

	if (slot == HS_SLOT_NONE)
		return true;
	key = hs_live_set_key(slot);
	if (!hs_live_table_holds(to, key, slot) && !hs_live_table_insert(to, key, slot, true))
		return false;
	if (atomic_load(lane) != slot + 1)
		hs_live_table_remove(to, key, slot, true);
	return true;
}

/* Copies the entries of more buckets; false when the new table has no room for one. */
static bool copy_some(uint64_t from)
{
	uint64_t end = hs_live_table_count(from);

	if (end - larger.copied > COPIED_AT_ONCE)
		end = larger.copied + COPIED_AT_ONCE;
	for (; larger.copied < end; larger.copied++) {
		struct hs_live_bucket *bucket = hs_live_table_buckets(from) + larger.copied;

		for (int lane = 0; lane < HS_BUCKET_LANES; lane++) {
			if (!copy_lane(&bucket->slots[lane], larger.table))
				return false;
		}
	}
	return true;
}

static int begin(uint64_t buckets)
{
	larger.table = hs_live_table_make(buckets);
	larger.touched = 0;
	larger.copied = 0;
	return larger.table == 0 ? -ENOMEM : 0;
}

/* Does a step, of which the last makes the next table current.  False: it is too small. */
static bool go_on(void)
{
	uint64_t current = atomic_load(&hs_live_index);

	if (!hs_live_table_touch(larger.table, &larger.touched))
		return true;
	/* Before the copy's loads: see hs_live_index_insert(). */
	if (larger.copied == 0)
		atomic_store(&growing, larger.table);
	if (!copy_some(current)) {
		/* Its memory is not used again: inserts may still be writing to it. */
		atomic_store(&growing, 0);
		return false;
	}
	if (larger.copied < hs_live_table_count(current))
		return true;
	/* In this order: an insert that no longer sees growing sees the new table. */
	switch_to(larger.table);
	atomic_store(&growing, 0);
	larger.table = 0;
	return true;
}

/*
 * Whether a hash would find room in a table of so many buckets, no fewer than now: the hash's two
 * buckets there get entries only from its two buckets here.
 */
static bool would_have_room(uint64_t hash, uint64_t buckets)
{
	struct hs_live_bucket *home = hs_live_table_home(atomic_load(&hs_live_index), hash);
	struct hs_live_bucket *both[] = {home, hs_live_table_neighbour(home)};
	int pair_shift = 64 - __builtin_ctzll(buckets) + 1;
	unsigned count = 0;

	for (int lane = 0; lane < 2 * HS_BUCKET_LANES; lane++) {
		uint32_t slot = atomic_load_explicit(
			&both[lane / HS_BUCKET_LANES]->slots[lane % HS_BUCKET_LANES],
			memory_order_acquire);

		count += slot != 0 && hs_live_hash(hs_live_set_key(slot - 1)) >> pair_shift ==
					      hash >> pair_shift;
	}
	return count < 2 * HS_BUCKET_LANES;
}

/* The number of buckets wanted; as many as now if more would not help. */
static uint64_t buckets_wanted(uint64_t buckets, uint32_t entries)
{
	uint64_t wanted = buckets, hash = atomic_load_explicit(&refused, memory_order_relaxed);

	/* Written only if needed: each sample reads its cache line. */
	if (hash != 0)
		hash = atomic_exchange_explicit(&refused, 0, memory_order_relaxed);
	/* One doubling may not be enough if the program was much faster. */
	while (wanted * ENTRIES_PER_BUCKET < entries)
		wanted *= 2;
	if (wanted > buckets || hash == 0)
		return wanted;
	/*
	 * An insert was refused though the table is far from full: the entries in its way may be
	 * gone by now, or have keys that no larger table separates.
	 */
	while (!would_have_room(hash, wanted)) {
		if (wanted * ENTRIES_PER_BUCKET / MOST_ROOM >= entries)
			return buckets;
		wanted *= 2;
	}
	return wanted;
}

int hs_live_index_maintain(uint32_t live)
{
	int32_t counted = atomic_load_explicit(&table_entries, memory_order_relaxed);
	uint32_t entries = hs_live_map_is_used() ? (uint32_t)(counted > 0 ? counted : 0) : live;
	uint64_t now = hs_live_table_count(atomic_load(&hs_live_index)), buckets;

	if (larger.table == 0) {
		buckets = buckets_wanted(now, entries);
		larger.doublings = 0;
		if (buckets == now)
			return 0;
		if (begin(buckets) != 0)
			return -ENOMEM;
	}
	if (go_on())
		return 0;
	if (larger.doublings++ < GROW_TRIES)
		return begin(2 * hs_live_table_count(larger.table));
	larger.table = 0;
	return -ENOMEM;
}
