/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One table of the live set's index, by the word that hs_live_index has for it.  live_set.h
 * has the buckets' layout and the filter; live_index.h goes from a table to a larger one.
 */
#ifndef HS_SAMPLE_LIVE_TABLE_H
#define HS_SAMPLE_LIVE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hot.h"
#include "sample/live_set.h"

/* Bytes of the filter for each bucket: one entry in so many bytes when it is time to grow. */
#define HS_LIVE_FILTER_PER_BUCKET 16

/* Apart from a table's buckets and the filter: the filter's address is its shift, modulo 64. */
#define HS_LIVE_FILTER_ROOM 64

/* The lowest and the highest bit of each lane's tag.  The highest is set in all but free lanes. */
#define HS_LIVE_TAGS_LOWEST 0x0000010101010101u
#define HS_LIVE_TAGS_HIGHEST 0x0000808080808080u

/*
 * A byte of the filter: 0 for no entry; for one, its key's mark; for several, and for what is left
 * of them, HS_LIVE_FILTER_SEVERAL and how many.  So a free that the filter lets pass for the entry
 * of another key mostly ends there, and does not wait for a bucket.
 */
#define HS_LIVE_FILTER_ONE 0x40u
#define HS_LIVE_FILTER_SEVERAL 0x80u

/* By bits of the hash that neither the tag has nor, but in large tables, the bucket's number. */
static inline uint8_t hs_live_filter_mark(uint64_t hash)
{
	return (uint8_t)(HS_LIVE_FILTER_ONE | (hash >> 40 & (HS_LIVE_FILTER_ONE - 1)));
}

/* Whether a byte of the filter tells that a key with its hash has no entry. */
static inline bool hs_live_filter_denies(uint8_t byte, uint64_t hash)
{
	return byte < HS_LIVE_FILTER_SEVERAL && byte != hs_live_filter_mark(hash);
}

/* The bits of hs_live_bucket.tags from here on: how many entries are in the neighbour. */
#define HS_LIVE_OVERFLOW_SHIFT 56

static inline uint64_t hs_live_table_tag(uint64_t hash)
{
	return (hash >> 32 & 0x7f) | 0x80;
}

static inline uint64_t hs_live_table_tag_in_each(uint64_t hash)
{
	return hs_live_table_tag(hash) * HS_LIVE_TAGS_LOWEST;
}

/*
 * Which lanes have a tag, by the highest bit of their bytes.  A lane above one that has it may
 * be among them by mistake.
 */
static inline uint64_t hs_live_table_lanes(uint64_t tags, uint64_t tag_in_each)
{
	uint64_t differ = tags ^ tag_in_each;

	return (differ - HS_LIVE_TAGS_LOWEST) & ~differ & HS_LIVE_TAGS_HIGHEST;
}

/* The lowest of such lanes. */
static inline int hs_live_table_lane(uint64_t lanes)
{
	return __builtin_ctzll(lanes) / 8;
}

static inline struct hs_live_bucket *hs_live_table_buckets(uint64_t table)
{
	return (struct hs_live_bucket *)(uintptr_t)(table & ~(uint64_t)63);
}

static inline uint64_t hs_live_table_count(uint64_t table)
{
	return (uint64_t)1 << (64 - (table & 63));
}

static inline struct hs_live_bucket *hs_live_table_home(uint64_t table, uint64_t hash)
{
	return hs_live_table_buckets(table) + (hash >> (table & 63));
}

/* The other bucket of the same cache line. */
static inline struct hs_live_bucket *hs_live_table_neighbour(struct hs_live_bucket *bucket)
{
	return (struct hs_live_bucket *)((uintptr_t)bucket ^ sizeof *bucket);
}

/* The filter, in front of the buckets; see hs_live_filter. */
uintptr_t hs_live_table_filter(uint64_t table);

/*
 * No table has a filter: all keys pass, and each free looks at its bucket.  For a program that has
 * most of what it frees sampled: there the filter is one more cache line to wait for.  Start-up,
 * before hs_live_set_init().
 */
void hs_live_table_without_filter(void);

/* A table of so many buckets; 0: out of memory.  Start-up and the producer. */
uint64_t hs_live_table_make(uint64_t buckets);

/* Have its pages, all of which come into use.  The producer. */
void hs_live_table_touch(uint64_t table);

/*
 * Any thread, lock-free.  False when both buckets of the key are full.
 *
 * is_locked: others may be writing to this table.  Not in a program of one thread (base/alone.h),
 * to the current table: there the producer but takes out, now and then, what was given up.  That it
 * does locked, and so undoes nothing of the thread's; should the two meet in one word, what the
 * producer has taken out may stay counted there, or its lane taken: a look too many, or a lane of
 * six too few.
 */
HS_SAMPLE_CODE bool hs_live_table_insert(uint64_t table, uint64_t key, uint32_t slot,
					 bool is_locked);

/* Take out all entries for slot under key; whether there was one.  The same. */
bool hs_live_table_remove(uint64_t table, uint64_t key, uint32_t slot, bool is_locked);

/* Whether there is an entry for slot under key. */
bool hs_live_table_holds(uint64_t table, uint64_t key, uint32_t slot);

#endif
