/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The index of the live set: from keys to slots.  An entry is a hint: the slot itself says whether
 * it is live, and for which key.  The fast path's part is in live_set.h.
 *
 * If there is a map (live_map.h) it has malloc's blocks, and a table (live_table.h) the rest;
 * otherwise a table has all.
 */
#ifndef HS_SAMPLE_LIVE_INDEX_H
#define HS_SAMPLE_LIVE_INDEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hot.h"
#include "base/likely.h"
#include "base/visibility.h"
#include "sample/live_map.h"
#include "sample/live_set.h"
#include "sample/live_table.h"

/* The current table: address of its buckets | the shift that makes a bucket number of a hash. */
extern HS_HIDDEN _Atomic uint64_t hs_live_index;

/* A table for about expected entries.  Start-up.  0 or -ENOMEM. */
int hs_live_index_init(uint32_t expected);

/*
 * With a map: whether there ever was an entry in a table.  Set by whoever enters the first.  Any
 * thread; relaxed, as hs_live_set_may_hold_key().
 */
extern HS_HIDDEN _Atomic bool hs_live_index_has_entries;

static inline bool hs_live_index_is_table_used(void)
{
	return hs_likely(!hs_live_map_is_used()) ||
	       atomic_load_explicit(&hs_live_index_has_entries, memory_order_relaxed);
}

/*
 * Enters slot into a table.  The program's threads, lock-free.  False if both buckets of the key
 * are full: hs_live_index_refuse() must follow.
 */
HS_SAMPLE_CODE bool hs_live_index_insert(uint64_t key, uint32_t slot);

/*
 * After a failed insert: removes what it has entered, and asks the producer for a larger table.
 * Not called by the insert itself, which would take more of the program's stack.
 */
HS_RARE void hs_live_index_refuse(uint64_t key, uint32_t slot);

/*
 * Removes the entries for slot under key, also from a larger table that is being made; whether
 * there was one.  Any thread, lock-free.  Called by whoever frees, before the slot is on the freed
 * list: otherwise a key used again and again would crowd its bucket.  is_locked: true for the
 * producer, and unless the program is alone (base/alone.h).
 */
bool hs_live_index_remove(uint64_t key, uint32_t slot, bool is_locked);

/*
 * A walk over all slots that were entered under a key when it began, and perhaps others.  Any
 * thread, lock-free.
 */
struct hs_live_search {
	uint32_t mapped; /* slot + 1 from the map if it is yet to be returned, else 0 */
	struct hs_live_bucket *bucket;
	uint64_t tag_in_each; /* the key's tag, in each lane's byte */
	uint64_t lanes;       /* lanes yet to be looked at, by the highest bit of their bytes */
	bool is_neighbour_left;
};

/* Its part in the table, of a key with this hash. */
static inline void hs_live_search_start_in_table(struct hs_live_search *search, uint64_t hash)
{
	uint64_t tags;

	search->bucket = hs_live_table_home(atomic_load(&hs_live_index), hash);
	tags = atomic_load_explicit(&search->bucket->tags, memory_order_relaxed);
	search->tag_in_each = hs_live_table_tag_in_each(hash);
	search->lanes = hs_live_table_lanes(tags, search->tag_in_each);
	search->is_neighbour_left = tags >> HS_LIVE_OVERFLOW_SHIFT != 0;
}

static inline void hs_live_search_start(struct hs_live_search *search, uint64_t key)
{
	search->mapped = 0;
	search->lanes = 0;
	search->is_neighbour_left = false;
	if (hs_unlikely(hs_live_map_is_used())) {
		search->mapped = hs_live_map_find(key);
		if (!hs_live_index_is_table_used())
			return;
	}
	hs_live_search_start_in_table(search, hs_live_hash(key));
}

/* hs_live_index_may_hold() if there is a map. */
bool hs_live_index_may_hold_mapped(uint64_t key);

/*
 * Whether there may be an entry of a key, for a free whose filter byte is not 0: looks at the byte
 * again, and then at the key's bucket.  If the address is not sampled, this almost always says so,
 * mostly by the byte; short without a map, for frees that the filter lets pass by mistake.  Any
 * thread.
 */
static inline bool hs_live_index_may_hold(uint64_t key)
{
	const uint8_t *byte = hs_live_filter_byte(hs_arch_load_shift(&hs_live_filter), key);
	uint64_t hash = hs_live_hash(key);
	struct hs_live_search search;

	if (hs_unlikely(hs_live_map_is_used()))
		return hs_live_index_may_hold_mapped(key);
	if (hs_live_filter_denies(__atomic_load_n(byte, __ATOMIC_RELAXED), hash))
		return false;
	hs_live_search_start_in_table(&search, hash);
	return search.lanes != 0 || search.is_neighbour_left;
}

/* The next slot, or HS_SLOT_NONE. */
uint32_t hs_live_search_next(struct hs_live_search *search);

/*
 * Makes a larger table if this one has too many entries, or has refused an insert for which a
 * larger one would have room; each call does a step of that.  live: number of entries, with those
 * of the map.  The producer.  0 or -ENOMEM.
 */
int hs_live_index_maintain(uint32_t live);

#endif
