/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The index of the live set: key -> slots.  Entries are hints: the slot itself
 * says whether it is live and for which key.  The fast path's look is in live_set.h, where
 * the bucket's layout is.
 *
 * Two parts: the map (live_map.h), where there is one, for blocks of malloc's, and a table
 * (live_table.h) for all else.
 */
#ifndef HS_SAMPLE_LIVE_INDEX_H
#define HS_SAMPLE_LIVE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hot.h"
#include "base/likely.h"
#include "base/visibility.h"
#include "sample/live_map.h"
#include "sample/live_set.h"
#include "sample/live_table.h"

/* A table for about expected entries.  Start-up.  0 or -ENOMEM. */
int hs_live_index_init(uint32_t expected);

/*
 * Whether there is, or was, an entry in a table where there is a map too.  Set by: whoever enters
 * the first, for good.  Any thread; relaxed, as hs_live_set_may_hold_key().
 */
extern HS_HIDDEN _Atomic bool hs_live_index_has_entries;

static inline bool hs_live_index_is_table_used(void)
{
	return hs_likely(!hs_live_map_is_used()) ||
	       atomic_load_explicit(&hs_live_index_has_entries, memory_order_relaxed);
}

/*
 * Into a table.  The program's threads, lock-free.  False when both buckets of the key are full:
 * then hs_live_index_refuse() has to follow.
 */
HS_SAMPLE_CODE bool hs_live_index_insert(uint64_t key, uint32_t slot);

/*
 * After a failed insert: no table has an entry, and a larger one is made.  Apart from the insert:
 * below its frame it would take more of the program's stack.
 */
HS_RARE void hs_live_index_refuse(uint64_t key, uint32_t slot);

/*
 * Take out the entries for slot under key, of a larger table that is being made too.  Any
 * thread, lock-free: by whoever frees, so that a key used again and again does not crowd its
 * bucket, before the slot is on the freed list.  Whether there was one.  is_locked: the producer
 * calls, or the program is not alone (base/alone.h).
 */
bool hs_live_index_remove(uint64_t key, uint32_t slot, bool is_locked);

/*
 * Walk the slots entered under a key's tag when the walk began, and perhaps others.  Any thread,
 * lock-free.
 */
struct hs_live_search {
	uint32_t mapped; /* what the map has, yet to look at: slot + 1, or 0 */
	struct hs_live_bucket *bucket;
	uint64_t tag_in_each; /* the tag, in each lane's byte */
	uint64_t lanes;       /* of this bucket, yet to look at: the highest bit of their bytes */
	bool is_neighbour_left;
};

/* Begin the walk for a key. */
static inline void hs_live_search_start(struct hs_live_search *search, uint64_t key)
{
	uint64_t hash = hs_live_hash(key), tag_in_each = hs_live_table_tag_in_each(hash), tags;

	search->mapped = 0;
	search->lanes = 0;
	search->is_neighbour_left = false;
	/* Few instructions without a map: frees that the filter lets pass by mistake come here. */
	if (hs_unlikely(hs_live_map_is_used())) {
		search->mapped = hs_live_map_find(key);
		if (!hs_live_index_is_table_used())
			return;
	}
	search->bucket = hs_live_table_home(atomic_load(&hs_live_index), hash);
	tags = atomic_load_explicit(&search->bucket->tags, memory_order_relaxed);
	search->tag_in_each = tag_in_each;
	search->lanes = hs_live_table_lanes(tags, tag_in_each);
	search->is_neighbour_left = tags >> HS_LIVE_OVERFLOW_SHIFT != 0;
}

/*
 * Whether there may be an entry of a key: the filter does not deny it, and a walk would find a
 * slot, or go on to the neighbour.  A free of what is not sampled, for which the filter's byte is
 * set by chance, ends with this, and mostly with that byte.  Any thread.
 */
static inline bool hs_live_index_may_hold(uint64_t key)
{
	const uint8_t *byte = hs_live_filter_byte(hs_arch_load_shift(&hs_live_filter), key);
	struct hs_live_search search;

	if (hs_likely(!hs_live_map_is_used()) &&
	    hs_live_filter_denies(__atomic_load_n(byte, __ATOMIC_RELAXED), hs_live_hash(key)))
		return false;
	hs_live_search_start(&search, key);
	return search.mapped != 0 || search.lanes != 0 || search.is_neighbour_left;
}

uint32_t hs_live_search_next(struct hs_live_search *search);

/*
 * The producer: grow if entries are too many for the table, or if an insert was refused that
 * a larger table would have had room for.  live: all entries, those of the map too.  0 or -ENOMEM.
 */
int hs_live_index_maintain(uint32_t live);

#endif
