/* SPDX-License-Identifier: BSD-2-Clause */
/* The mappings by id.  Run by the unwinding worker, and by the producer. */
#include "maps/mapping_store.h"

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/sys.h"

void hs_mapping_store_init(struct hs_mapping_store *store)
{
	memset(store, 0, sizeof *store);
	memset(store->buckets, 0xff, sizeof store->buckets);
	_Static_assert(HS_MAPPING_NONE == UINT32_MAX, "an empty bucket is all ones");
}

static void locate(uint32_t id, uint32_t *block, uint32_t *index)
{
	uint32_t position = id / HS_MAPPING_BLOCK + 1;

	*block = 31u - (uint32_t)__builtin_clz(position);
	*index = id - ((1u << *block) - 1) * HS_MAPPING_BLOCK;
}

static struct hs_mapping_entry *entry_at(const struct hs_mapping_store *store, uint32_t id)
{
	uint32_t block, index;

	locate(id, &block, &index);
	return &store->blocks[block][index];
}

void hs_mapping_store_fini(struct hs_mapping_store *store)
{
	uint32_t count = atomic_load_explicit(&store->count, memory_order_relaxed);

	for (uint32_t id = 0; id < count; id++) {
		/* A copy made by add(), handed out as const. */
		hs_arena_free((void *)(uintptr_t)entry_at(store, id)->mapping.path);
	}
	for (uint32_t block = 0; block < HS_MAPPING_BLOCKS; block++)
		hs_arena_free(store->blocks[block]);
}

static uint32_t *bucket_of(struct hs_mapping_store *store, uint64_t start)
{
	return &store->buckets[(start / HS_PAGE_BYTES * HS_HASH_FACTOR >> 32) % HS_MAPPING_BUCKETS];
}

static bool is_same(const struct hs_mapping *known, const struct hs_mapping *now)
{
	if (known->device != now->device || known->inode != now->inode ||
	    known->flags != now->flags || strcmp(known->build_id, now->build_id) != 0 ||
	    strcmp(known->path, now->path) != 0)
		return false;
	if (known->version != now->version && known->version != 0 && now->version != 0)
		return false;
	/* The same file may have been written anew meanwhile. */
	if ((now->flags & HS_MAPPING_HINT) != 0 &&
	    (known->offset != now->offset || known->load_bias != now->load_bias))
		return false;
	/* Anonymous memory has no offset: the kernel shows 0. */
	if (now->inode != 0 && known->offset - known->start != now->offset - now->start)
		return false;
	if ((now->flags & HS_MAPPING_ANONYMOUS) != 0)
		return known->start <= now->start && now->start < known->end;
	return known->start == now->start && known->end == now->end;
}

bool hs_mapping_store_goes_on(struct hs_mapping_store *store, uint32_t id,
			      const struct hs_mapping *now)
{
	struct hs_mapping *known = &entry_at(store, id)->mapping;

	if (!is_same(known, now))
		return false;
	if (now->end > known->end)
		atomic_store_explicit(&known->end, now->end, memory_order_relaxed);
	return true;
}

static uint32_t add(struct hs_mapping_store *store, const struct hs_mapping *mapping)
{
	uint32_t id = atomic_load_explicit(&store->count, memory_order_relaxed);
	uint32_t *bucket = bucket_of(store, mapping->start);
	size_t path_bytes = strlen(mapping->path) + 1;
	struct hs_mapping_entry *entry;
	uint32_t block, index;
	char *path;

	locate(id, &block, &index);
	if (block >= HS_MAPPING_BLOCKS)
		return HS_MAPPING_NONE;
	if (store->blocks[block] == NULL)
		store->blocks[block] =
			hs_arena_alloc((sizeof *entry * HS_MAPPING_BLOCK) << block);
	path = hs_arena_alloc(path_bytes);
	if (store->blocks[block] == NULL || path == NULL) {
		hs_arena_free(path);
		return HS_MAPPING_NONE;
	}
	memcpy(path, mapping->path, path_bytes);
	entry = &store->blocks[block][index];
	*entry = (struct hs_mapping_entry){.mapping = *mapping, .next = *bucket};
	entry->mapping.path = path;
	*bucket = id;
	/* The entry and its block first; pairs with the load in hs_mapping_store_get(). */
	atomic_store_explicit(&store->count, id + 1, memory_order_release);
	return id;
}

uint32_t hs_mapping_store_intern(struct hs_mapping_store *store, const struct hs_mapping *mapping)
{
	uint32_t id = *bucket_of(store, mapping->start);

	while (id != HS_MAPPING_NONE) {
		const struct hs_mapping_entry *entry = entry_at(store, id);
		if (entry->mapping.start == mapping->start &&
		    hs_mapping_store_goes_on(store, id, mapping))
			return id;
		id = entry->next;
	}
	return add(store, mapping);
}

const struct hs_mapping *hs_mapping_store_get(const struct hs_mapping_store *store, uint32_t id)
{
	/* Sees the entry; pairs with the store in add(). */
	if (id >= atomic_load_explicit(&store->count, memory_order_acquire))
		return NULL;
	return &entry_at(store, id)->mapping;
}

void hs_mapping_store_set_since(struct hs_mapping_store *store, uint32_t id, uint32_t closes)
{
	entry_at(store, id)->since = closes;
}

uint32_t hs_mapping_store_since(const struct hs_mapping_store *store, uint32_t id)
{
	return entry_at(store, id)->since;
}
