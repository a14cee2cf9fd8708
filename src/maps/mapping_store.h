/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every mapping that was ever seen, by id.  Entries are never moved, and their mappings never
 * changed, except that the end of anonymous memory moves up: a compiler's heap that grows is the
 * same heap.
 *
 * Threads: one owner adds (the unwinding worker; the producer, to that of its map hints); any
 * thread reads entries below the count.
 * Memory: the arena.
 */
#ifndef HS_MAPS_MAPPING_STORE_H
#define HS_MAPS_MAPPING_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "maps/mapping.h"

/* Block k holds HS_MAPPING_BLOCK << k entries: 16 blocks are 4 million. */
#define HS_MAPPING_BLOCK 64u
#define HS_MAPPING_BLOCKS 16u
#define HS_MAPPING_BUCKETS 1024u

struct hs_mapping_entry {
	struct hs_mapping mapping;
	uint32_t next;  /* older entry of the same bucket, HS_MAPPING_NONE = none */
	uint32_t since; /* see hs_mapping_table_since(); the owner's, changes */
};

struct hs_mapping_store {
	/* Written by: the owner.  Read by: any thread, for ids below count. */
	struct hs_mapping_entry *blocks[HS_MAPPING_BLOCKS];
	_Atomic uint32_t count;
	uint32_t buckets[HS_MAPPING_BUCKETS]; /* by start address; the owner's */
};

void hs_mapping_store_init(struct hs_mapping_store *store);
void hs_mapping_store_fini(struct hs_mapping_store *store);

/*
 * The id of an entry of the same start that goes on as mapping, or of a new entry with a copy of it
 * (and of its path).
 * Returns HS_MAPPING_NONE when the arena or the store is full.
 */
uint32_t hs_mapping_store_intern(struct hs_mapping_store *store, const struct hs_mapping *mapping);

const struct hs_mapping *hs_mapping_store_get(const struct hs_mapping_store *store, uint32_t id);

/* See hs_mapping_table_since().  id is below the count. */
void hs_mapping_store_set_since(struct hs_mapping_store *store, uint32_t id, uint32_t closes);
uint32_t hs_mapping_store_since(const struct hs_mapping_store *store, uint32_t id);

/*
 * Whether entry id goes on standing for what is mapped now: that is equal, or anonymous memory of
 * the same path that begins in it, to whose end it grows.
 */
bool hs_mapping_store_goes_on(struct hs_mapping_store *store, uint32_t id,
			      const struct hs_mapping *now);

#endif
