/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks that came before.  Runs on the producer. */
#include "profile/stack_cache.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum { FIRST_SETS = 64, LAST_SETS = 8192 };

static struct hs_known_stack *set_of(const struct hs_stack_cache *cache, uint32_t hash)
{
	return cache->sets[hash & (cache->set_count - 1)];
}

static bool make_sets(struct hs_stack_cache *cache, uint32_t count)
{
	cache->sets = hs_arena_zalloc(count * sizeof *cache->sets);
	cache->set_count = count;
	return cache->sets != NULL;
}

int hs_stack_cache_init(struct hs_stack_cache *cache)
{
	return make_sets(cache, FIRST_SETS) ? 0 : -ENOMEM;
}

void hs_stack_cache_empty(struct hs_stack_cache *cache)
{
	struct hs_stack_cache empty;

	if (!make_sets(&empty, FIRST_SETS))
		return; /* it stays as it is, for want of memory */
	hs_arena_free(cache->sets);
	*cache = empty;
}

void hs_stack_cache_fini(struct hs_stack_cache *cache)
{
	hs_arena_free(cache->sets);
	*cache = (struct hs_stack_cache){0};
}

uint32_t hs_stack_cache_hash(const struct hs_frame *frames, uint32_t count)
{
	uint64_t hash = count;

	for (uint32_t i = 0; i < count; i++) {
		hash ^= frames[i].address ^ (uint64_t)frames[i].mapping << 32;
		hash *= 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return (uint32_t)hash;
}

static bool is_at(const struct hs_location *location, const struct hs_frame *frame)
{
	return location->address == frame->address && location->mapping == frame->mapping &&
	       location->code == 0 && location->verdict != HS_VERDICT_HIDDEN;
}

static bool is_stack(const struct hs_callsite_trie *trie, uint32_t node,
		     const struct hs_frame *frames, uint32_t count)
{
	const struct hs_callsite *site;

	if (node >= trie->interner.count || !hs_interner_is_used(&trie->interner, node) ||
	    hs_callsite_trie_get(trie, node)->depth != count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		site = hs_callsite_trie_get(trie, node);
		if (!is_at(hs_location_table_get(trie->locations, site->location), &frames[i]))
			return false;
		node = site->parent;
	}
	return true;
}

uint32_t hs_stack_cache_find(const struct hs_stack_cache *cache,
			     const struct hs_callsite_trie *trie, uint32_t hash,
			     const struct hs_frame *frames, uint32_t count)
{
	const struct hs_known_stack *set = set_of(cache, hash);

	for (int i = 0; i < HS_STACK_CACHE_WAYS; i++) {
		if (set[i].hash == hash && set[i].node != 0 &&
		    is_stack(trie, set[i].node - 1, frames, count))
			return set[i].node - 1;
	}
	return HS_CALLSITE_NONE;
}

/* Where there is room for a stack, or a node of it that is no more; NULL: nowhere. */
static struct hs_known_stack *find_room(const struct hs_stack_cache *cache, uint32_t hash)
{
	struct hs_known_stack *set = set_of(cache, hash);

	for (int i = 0; i < HS_STACK_CACHE_WAYS; i++) {
		if (set[i].node == 0 || set[i].hash == hash)
			return &set[i];
	}
	return NULL;
}

/* What is in a set goes into two. */
static void grow(struct hs_stack_cache *cache)
{
	struct hs_stack_cache larger;

	if (cache->set_count == LAST_SETS || !make_sets(&larger, cache->set_count * 2))
		return;
	for (uint32_t i = 0; i < cache->set_count; i++) {
		for (int j = 0; j < HS_STACK_CACHE_WAYS; j++) {
			const struct hs_known_stack *known = &cache->sets[i][j];

			if (known->node != 0)
				*find_room(&larger, known->hash) = *known;
		}
	}
	hs_arena_free(cache->sets);
	*cache = larger;
}

void hs_stack_cache_put(struct hs_stack_cache *cache, uint32_t hash, uint32_t node)
{
	struct hs_known_stack *room = find_room(cache, hash);

	if (room == NULL) {
		grow(cache);
		room = find_room(cache, hash);
	}
	if (room == NULL)
		room = &set_of(cache, hash)[hash >> 28 & (HS_STACK_CACHE_WAYS - 1)];
	*room = (struct hs_known_stack){.hash = hash, .node = node + 1};
}
