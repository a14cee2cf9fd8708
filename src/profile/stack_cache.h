/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cache from stacks to their nodes of the trie: for a stack that came before one look-up, instead
 * of two for each frame.
 *
 * It also has the path of the last new stack.  The frames that the next new stack has in common
 * with it, from the root on, are found by comparing one node for each.
 *
 * A node has the hash of its stack, which is compared at each look-up.  So the cache does not hold
 * nodes, and need not be told when one is removed or its number is given out again.
 *
 * Called on: the producer.  Allocates: from the arena, at most a 32nd of the budget.
 */
#ifndef HS_PROFILE_STACK_CACHE_H
#define HS_PROFILE_STACK_CACHE_H

#include <stdint.h>

#include "profile/callsite_trie.h"

/* Stacks of a set, which are searched one by one: a cache line. */
#define HS_STACK_CACHE_WAYS 8

/* So many frames of the last new stack are kept, from the root on. */
#define HS_STACK_CACHE_PATH 128u

struct hs_known_stack {
	uint32_t tag;  /* a part of the hash */
	uint32_t node; /* number + 1; 0: none */
};

struct hs_stack_cache {
	struct hs_known_stack (*sets)[HS_STACK_CACHE_WAYS]; /* by tag */
	uint32_t set_count;                                 /* a power of two */
	uint32_t path[HS_STACK_CACHE_PATH]; /* nodes of the last new stack + 1, root first */
};

/* Returns 0 or -ENOMEM. */
int hs_stack_cache_init(struct hs_stack_cache *cache);
void hs_stack_cache_fini(struct hs_stack_cache *cache);

/*
 * Empties the cache, and gives memory back.  Must be called when a location that may be in a stack
 * becomes hidden: the same frames make another stack from then on.
 */
void hs_stack_cache_empty(struct hs_stack_cache *cache);

/* Prefetches what a look-up will need: its set; later, when that has arrived, the node in it. */
void hs_stack_cache_fetch_set(const struct hs_stack_cache *cache, struct hs_stack_hash hash);
void hs_stack_cache_fetch_node(const struct hs_stack_cache *cache,
			       const struct hs_callsite_trie *trie, struct hs_stack_hash hash);

/* The node of a stack by its hash and number of frames; HS_CALLSITE_NONE: the cache has none. */
uint32_t hs_stack_cache_find(const struct hs_stack_cache *cache,
			     const struct hs_callsite_trie *trie, struct hs_stack_hash hash,
			     uint32_t count);

/*
 * For a stack that was not found, frame by frame from the root: the node of its first `count`
 * frames (at least 1) by their hash, if the last new stack had them; and noting that node, which
 * may be of another hash if a frame is hidden.
 */
uint32_t hs_stack_cache_find_path(const struct hs_stack_cache *cache,
				  const struct hs_callsite_trie *trie, struct hs_stack_hash hash,
				  uint32_t count);
void hs_stack_cache_put_path(struct hs_stack_cache *cache, uint32_t count, uint32_t node);

/*
 * Adds the node of a stack that was not found, in place of another one if need be.  A node that has
 * another hash, because a frame is hidden, will not be found.
 */
void hs_stack_cache_put(struct hs_stack_cache *cache, struct hs_stack_hash hash, uint32_t node);

#endif
