/* SPDX-License-Identifier: BSD-2-Clause */
/* A two-way page cache of the process's memory.  Run by the unwinding worker. */
#include "unwind/memory_cache.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/libraries.h"
#include "base/sys.h"

#define WAYS 2u
/* 2 MiB of pages: the tables that a large program's hot frames need. */
#define SETS 256u

/* Libraries may be closed as fast as a page is read. */
#define READ_TRIES 16

/* No page starts here: it is not page-aligned. */
#define NO_PAGE UINT64_MAX

struct set {
	uint64_t address[WAYS];
	uint32_t tag[WAYS]; /* hs_mapping_table_page_tag(); 0: a page that changes */
	uint32_t batch[WAYS]; /* in which a page that changes was read */
	uint32_t oldest;      /* the way to fill next */
};

struct hs_memory_cache {
	struct hs_mapping_table *table;
	uint32_t batch;
	uint64_t last_address; /* the page of the last read */
	const uint8_t *last_page;
	struct set sets[SETS];
	uint8_t (*pages)[HS_PAGE_BYTES]; /* page of set s, way w: s * WAYS + w */
};

struct hs_memory_cache *hs_memory_cache_create(struct hs_mapping_table *table)
{
	struct hs_memory_cache *cache = hs_arena_zalloc(sizeof *cache);

	if (cache == NULL)
		return NULL;
	cache->pages = hs_arena_aligned_alloc(HS_PAGE_BYTES, (size_t)SETS * WAYS * HS_PAGE_BYTES);
	if (cache->pages == NULL) {
		hs_arena_free(cache);
		return NULL;
	}
	cache->table = table;
	cache->last_address = NO_PAGE;
	for (size_t i = 0; i < SETS; i++) {
		for (size_t way = 0; way < WAYS; way++)
			cache->sets[i].address[way] = NO_PAGE;
	}
	return cache;
}

void hs_memory_cache_destroy(struct hs_memory_cache *cache)
{
	if (cache == NULL)
		return;
	hs_arena_free(cache->pages);
	hs_arena_free(cache);
}

void hs_memory_cache_forget_changing(struct hs_memory_cache *cache)
{
	/* A JIT compiler writes more into its page, and the maps do not change. */
	cache->batch++;
	cache->last_address = NO_PAGE;
}

void hs_memory_cache_drop_stale(struct hs_memory_cache *cache)
{
	hs_memory_cache_forget_changing(cache);
	for (size_t i = 0; i < SETS; i++) {
		struct set *set = &cache->sets[i];

		for (size_t way = 0; way < WAYS; way++) {
			if (set->address[way] != NO_PAGE &&
			    set->tag[way] !=
				    hs_mapping_table_page_tag(cache->table, set->address[way]))
				set->address[way] = NO_PAGE;
		}
	}
}

static bool is_up_to_date(const struct hs_memory_cache *cache)
{
	return hs_closes_over(hs_closes_now()) == hs_mapping_table_closes(cache->table);
}

/*
 * A library was closed since the maps were read: whether it was the page's is seen only by
 * reading them again.  Returns whether they are up to date, and the page is of the same file.
 */
static bool catch_up(struct hs_memory_cache *cache, uint64_t address)
{
	uint32_t tag = hs_mapping_table_page_tag(cache->table, address);

	return is_up_to_date(cache) || (tag != 0 && hs_mapping_table_refresh(cache->table) == 0 &&
					hs_mapping_table_page_tag(cache->table, address) == tag);
}

/*
 * Whether the page was read while the maps said what it is.  It is of the smallest size, so that no
 * read straddles two mappings.
 */
static bool read_page(struct hs_memory_cache *cache, uint64_t address, uint8_t *page)
{
	for (int tries = 0; tries < READ_TRIES; tries++) {
		if (!catch_up(cache, address) ||
		    !hs_mapping_table_is_readable(cache->table, address, HS_PAGE_BYTES) ||
		    hs_sys_read_memory(address, page, HS_PAGE_BYTES) != (ssize_t)HS_PAGE_BYTES)
			return false;
		if (is_up_to_date(cache))
			return true;
	}
	return false;
}

static const uint8_t *fill(struct hs_memory_cache *cache, size_t index, uint64_t address)
{
	struct set *set = &cache->sets[index];
	uint32_t way = set->oldest;
	uint8_t *page = cache->pages[index * WAYS + way];

	set->address[way] = NO_PAGE;
	if (cache->last_page == page)
		cache->last_address = NO_PAGE;
	if (!read_page(cache, address, page))
		return NULL;
	set->tag[way] = hs_mapping_table_page_tag(cache->table, address);
	set->batch[way] = cache->batch;
	set->address[way] = address;
	set->oldest = (way + 1) % WAYS;
	cache->last_address = address;
	cache->last_page = page;
	return page;
}

static const uint8_t *find_page(struct hs_memory_cache *cache, uint64_t address)
{
	size_t index = (address / HS_PAGE_BYTES * HS_HASH_FACTOR >> 32) % SETS;
	struct set *set = &cache->sets[index];

	if (address == cache->last_address)
		return cache->last_page;
	for (uint32_t way = 0; way < WAYS; way++) {
		if (set->address[way] == address &&
		    (set->tag[way] != 0 || set->batch[way] == cache->batch)) {
			set->oldest = (way + 1) % WAYS;
			cache->last_address = address;
			cache->last_page = cache->pages[index * WAYS + way];
			return cache->last_page;
		}
	}
	return fill(cache, index, address);
}

int hs_memory_cache_read(struct hs_memory_cache *cache, uint64_t address, void *buffer,
			 size_t bytes)
{
	uint8_t *out = buffer;

	if (bytes > UINT64_MAX - address)
		return -EFAULT;
	while (bytes > 0) {
		uint64_t start = address & ~(uint64_t)(HS_PAGE_BYTES - 1);
		size_t inside = (size_t)(address - start);
		size_t part = HS_PAGE_BYTES - inside < bytes ? HS_PAGE_BYTES - inside : bytes;
		const uint8_t *page = find_page(cache, start);

		if (page == NULL)
			return -EFAULT;
		memcpy(out, page + inside, part);
		out += part;
		address += part;
		bytes -= part;
	}
	return 0;
}
