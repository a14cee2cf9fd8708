/* SPDX-License-Identifier: BSD-2-Clause */
/* The cache of stacks.  See stack_cache.h. */
#include "profile/stack_cache.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"

/*
 * SETS_TRIED: a stack may be in so many sets.  With many, most places are used before the cache
 * grows, and it stays small enough for the processor's caches.
 */
enum { FIRST_SETS = 64, SETS_TRIED = 8 };

/* The cache takes at most this part of the budget: in the rest there is no room for more stacks. */
#define BUDGET_SHARE 32

/* i: below SETS_TRIED; 0: the set of a tag, otherwise those beside it, for what does not fit. */
static struct hs_known_stack *set_of(const struct hs_stack_cache *cache, uint32_t tag, uint32_t i)
{
	return cache->sets[(tag & (cache->set_count - 1)) ^ i];
}

static bool make_sets(struct hs_stack_cache *cache, uint32_t count)
{
	cache->sets = hs_arena_zalloc(count * sizeof *cache->sets);
	cache->set_count = count;
	return cache->sets != NULL;
}

int hs_stack_cache_init(struct hs_stack_cache *cache)
{
	*cache = (struct hs_stack_cache){0};
	return make_sets(cache, FIRST_SETS) ? 0 : -ENOMEM;
}

void hs_stack_cache_empty(struct hs_stack_cache *cache)
{
	struct hs_stack_cache empty = {0};

	if (!make_sets(&empty, FIRST_SETS)) {
		memset(cache->sets, 0, cache->set_count * sizeof *cache->sets);
		memset(cache->path, 0, sizeof cache->path);
		return;
	}
	hs_arena_free(cache->sets);
	*cache = empty;
}

void hs_stack_cache_fini(struct hs_stack_cache *cache)
{
	hs_arena_free(cache->sets);
	*cache = (struct hs_stack_cache){0};
}

static uint32_t tag_of(struct hs_stack_hash hash)
{
	return (uint32_t)hash.first;
}

void hs_stack_cache_fetch_set(const struct hs_stack_cache *cache, struct hs_stack_hash hash)
{
	__builtin_prefetch(set_of(cache, tag_of(hash), 0));
}

void hs_stack_cache_fetch_node(const struct hs_stack_cache *cache,
			       const struct hs_callsite_trie *trie, struct hs_stack_hash hash)
{
	const struct hs_known_stack *set = set_of(cache, tag_of(hash), 0);
	uint32_t node = 0;

	/* Without a branch for the place that matches, which the processor could not predict. */
	for (uint32_t i = 0; i < HS_STACK_CACHE_WAYS; i++)
		node |= set[i].tag == tag_of(hash) ? set[i].node : 0;
	if (node != 0 && node <= trie->interner.count)
		__builtin_prefetch(hs_callsite_trie_get(trie, node - 1), 1);
}

static bool is_stack(const struct hs_callsite_trie *trie, uint32_t node, struct hs_stack_hash hash,
		     uint32_t count)
{
	const struct hs_callsite *site;

	if (node >= trie->interner.count)
		return false;
	site = hs_callsite_trie_get(trie, node);
	return site->hash_first == hash.first && site->hash_second == hash.second &&
	       site->depth == count;
}

uint32_t hs_stack_cache_find(const struct hs_stack_cache *cache,
			     const struct hs_callsite_trie *trie, struct hs_stack_hash hash,
			     uint32_t count)
{
	uint32_t tag = tag_of(hash);

	for (uint32_t i = 0; i < SETS_TRIED * HS_STACK_CACHE_WAYS; i++) {
		const struct hs_known_stack *known =
			&set_of(cache, tag, i / HS_STACK_CACHE_WAYS)[i % HS_STACK_CACHE_WAYS];

		/* Sets are filled from their first place on, and the next set after one is full. */
		if (known->node == 0)
			break;
		if (known->tag == tag && is_stack(trie, known->node - 1, hash, count))
			return known->node - 1;
	}
	return HS_CALLSITE_NONE;
}

uint32_t hs_stack_cache_find_path(const struct hs_stack_cache *cache,
				  const struct hs_callsite_trie *trie, struct hs_stack_hash hash,
				  uint32_t count)
{
	/* 0 - 1: no node. */
	uint32_t node = count <= HS_STACK_CACHE_PATH ? cache->path[count - 1] - 1 : UINT32_MAX;

	return is_stack(trie, node, hash, count) ? node : HS_CALLSITE_NONE;
}

void hs_stack_cache_put_path(struct hs_stack_cache *cache, uint32_t count, uint32_t node)
{
	if (count <= HS_STACK_CACHE_PATH)
		cache->path[count - 1] = node + 1;
}

/* A free place for a stack, or one with the same tag; NULL: there is none. */
static struct hs_known_stack *find_room(const struct hs_stack_cache *cache, uint32_t tag)
{
	for (uint32_t i = 0; i < SETS_TRIED * HS_STACK_CACHE_WAYS; i++) {
		struct hs_known_stack *known =
			&set_of(cache, tag, i / HS_STACK_CACHE_WAYS)[i % HS_STACK_CACHE_WAYS];

		if (known->node == 0 || known->tag == tag)
			return known;
	}
	return NULL;
}

/* Doubles the sets.  The few stacks that do not fit then are dropped. */
static void grow(struct hs_stack_cache *cache)
{
	struct hs_stack_cache larger = *cache;

	if (cache->set_count * 2 * sizeof *cache->sets > hs_arena_budget() / BUDGET_SHARE ||
	    !make_sets(&larger, cache->set_count * 2))
		return;
	for (uint32_t i = 0; i < cache->set_count; i++) {
		for (int j = 0; j < HS_STACK_CACHE_WAYS; j++) {
			const struct hs_known_stack *known = &cache->sets[i][j];
			struct hs_known_stack *room = find_room(&larger, known->tag);

			if (known->node != 0 && room != NULL)
				*room = *known;
		}
	}
	hs_arena_free(cache->sets);
	*cache = larger;
}

void hs_stack_cache_put(struct hs_stack_cache *cache, struct hs_stack_hash hash, uint32_t node)
{
	uint32_t tag = tag_of(hash);
	struct hs_known_stack *room = find_room(cache, tag);

	if (room == NULL) {
		grow(cache);
		room = find_room(cache, tag);
	}
	if (room == NULL)
		room = &set_of(cache, tag, 0)[tag >> 28 & (HS_STACK_CACHE_WAYS - 1)];
	*room = (struct hs_known_stack){.tag = tag, .node = node + 1};
}
