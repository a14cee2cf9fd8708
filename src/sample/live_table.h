/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One table of the live set's index, by the word that hs_live_index has for it.  live_set.h has how
 * frees find the filter; live_index.h goes from a table to a larger one.
 */
#ifndef HS_SAMPLE_LIVE_TABLE_H
#define HS_SAMPLE_LIVE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/hot.h"
#include "sample/live_set.h"

#define HS_BUCKET_LANES 6

/*
 * tags: bytes 0..5 the tag of each lane (0 = lane free), byte 7 how many entries of
 * this bucket were put into its neighbour (bucket number ^ 1, in the same cache line).
 * slots: slot number + 1; 0 while a lane is being filled or emptied.
 */
struct hs_live_bucket {
	_Atomic uint64_t tags;
	_Atomic uint32_t slots[HS_BUCKET_LANES];
};

/*
 * Multiplicative hashing.  Without the folding, blocks at equal distances would crowd into one
 * bucket at some distances, one in 300.
 */
static inline uint64_t hs_live_hash(uint64_t key)
{
	return (key ^ key >> 15) * HS_HASH_FACTOR;
}

/* Filter bytes per bucket.  A table grows at one entry per bucket, so per so many bytes. */
#define HS_LIVE_FILTER_PER_BUCKET 16

/*
 * A table needs this besides buckets and filter: the filter's address has its shift, modulo 64, and
 * its factor is in front.
 */
#define HS_LIVE_FILTER_ROOM 64

/* The lowest and the highest bit of each lane's tag.  The highest is set in all but free lanes. */
#define HS_LIVE_TAGS_LOWEST 0x0000010101010101u
#define HS_LIVE_TAGS_HIGHEST 0x0000808080808080u

/*
 * A byte of the filter is 0 for no entry, the key's mark for one entry, and for several
 * HS_LIVE_FILTER_SEVERAL + their number, even when only one of them is left.  By the mark most
 * frees of other keys that meet the byte end there, without reading a bucket.
 */
#define HS_LIVE_FILTER_ONE 0x40u
#define HS_LIVE_FILTER_SEVERAL 0x80u

/* Made of bits of the hash that are in no tag, and in no bucket's number except in large tables. */
static inline uint8_t hs_live_filter_mark(uint64_t hash)
{
	return (uint8_t)(HS_LIVE_FILTER_ONE | (hash >> 40 & (HS_LIVE_FILTER_ONE - 1)));
}

/* Whether a byte of the filter says that a key with this hash has no entry. */
static inline bool hs_live_filter_denies(uint8_t byte, uint64_t hash)
{
	return byte < HS_LIVE_FILTER_SEVERAL && byte != hs_live_filter_mark(hash);
}

/* hs_live_bucket.tags from this bit on: how many of the bucket's entries are in its neighbour. */
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
 * Which filter tables get that are made from now on.  is_used: false for programs that have most of
 * what they free sampled, where a filter would be one more cache miss; then each free looks at its
 * bucket.  interval_bytes: a 300th of it is how far apart keys must be to have different bytes.
 * Start-up; otherwise there is a filter, as for an interval of 1m.
 */
void hs_live_table_set_filter(bool is_used, uint64_t interval_bytes);

/* A table of so many buckets; 0: out of memory.  Start-up and the producer. */
uint64_t hs_live_table_make(uint64_t buckets);

/*
 * Has the kernel give the table more of its pages; true: it has all.  *touched: bytes that have
 * theirs, 0 at first.  The producer.
 */
bool hs_live_table_touch(uint64_t table, size_t *touched);

/*
 * Enters slot under key.  Any thread, lock-free.  False: both buckets of the key are full.
 *
 * is_locked: with lock prefix, because others may be writing to this table.  In a program of one
 * thread (base/alone.h) its writes to the current table need none: the producer writes there only
 * to take out what is given up, which it does with lock prefix.  If the two meet in one word the
 * producer's write may be lost, so that a filter byte counts one too many or a lane stays taken;
 * the thread's is never lost.
 */
HS_SAMPLE_CODE bool hs_live_table_insert(uint64_t table, uint64_t key, uint32_t slot,
					 bool is_locked);

/* Removes all entries for slot under key; whether there was one.  Otherwise the same. */
bool hs_live_table_remove(uint64_t table, uint64_t key, uint32_t slot, bool is_locked);

/* Whether there is an entry for slot under key. */
bool hs_live_table_holds(uint64_t table, uint64_t key, uint32_t slot);

#endif
