/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cache from stacks to nodes of the trie: one look-up for a stack that came before, instead of
 * two for each of its frames.
 *
 * What a new stack has in common with the new one before it, from the root on, is found without
 * look-ups too: by a comparison with a node for each frame.
 *
 * A node has the hash of its stack, which is compared.  So the cache need not hold nodes, nor know
 * when one is removed or its number is given out again.
 *
 * Threads: the producer.  Memory: the arena, at most 640 KiB.
 */
#ifndef HS_PROFILE_STACK_CACHE_H
#define HS_PROFILE_STACK_CACHE_H

#include <stdint.h>

#include "profile/callsite_trie.h"

/* The stacks of one set are looked through: a line of the processor's cache. */
#define HS_STACK_CACHE_WAYS 8

/* Frames from the root on that are kept of the last new stack. */
#define HS_STACK_CACHE_PATH 128u

struct hs_known_stack {
	uint32_t tag;  /* of the hash, all of which the node has */
	uint32_t node; /* number + 1; 0: none */
};

struct hs_stack_cache {
	struct hs_known_stack (*sets)[HS_STACK_CACHE_WAYS]; /* by the tag */
	uint32_t set_count;                                 /* a power of two */
	uint32_t path[HS_STACK_CACHE_PATH]; /* the last new stack's nodes + 1, root first */
};

/* Returns 0 or -ENOMEM. */
int hs_stack_cache_init(struct hs_stack_cache *cache);
void hs_stack_cache_fini(struct hs_stack_cache *cache);

/*
 * Forget all stacks, and give back the room.  To be called when a location that may be in them
 * is hidden: a stack of these frames is another one from then on.
 */
void hs_stack_cache_empty(struct hs_stack_cache *cache);

/* Prefetch for a look-up: its set; and, when that is there, the node that it may find. */
void hs_stack_cache_fetch_set(const struct hs_stack_cache *cache, struct hs_stack_hash hash);
void hs_stack_cache_fetch_node(const struct hs_stack_cache *cache,
			       const struct hs_callsite_trie *trie, struct hs_stack_hash hash);

/* The node of a stack of this hash and count of frames; HS_CALLSITE_NONE: it is not known here. */
uint32_t hs_stack_cache_find(const struct hs_stack_cache *cache,
			     const struct hs_callsite_trie *trie, struct hs_stack_hash hash,
			     uint32_t count);

/*
 * The same of the first frames of a stack that was not found, from the root on: so many, at least
 * 1.  put: their node, whatever is hidden.
 */
uint32_t hs_stack_cache_find_path(const struct hs_stack_cache *cache,
				  const struct hs_callsite_trie *trie, struct hs_stack_hash hash,
				  uint32_t count);
void hs_stack_cache_put_path(struct hs_stack_cache *cache, uint32_t count, uint32_t node);

/*
 * Note the node of a stack that was not found; if need be, in place of another's.  What it does
 * not have the hash of, for something is hidden, will not be found.
 */
void hs_stack_cache_put(struct hs_stack_cache *cache, struct hs_stack_hash hash, uint32_t node);

#endif
