/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call sites: stacks as paths in a trie, from the root of the stack (node 0) to the
 * leaf.  A node never changes and never goes, so a node number stands for a stack.
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_PROFILE_CALLSITE_TRIE_H
#define HS_PROFILE_CALLSITE_TRIE_H

#include "base/interner.h"

#define HS_CALLSITE_ROOT 0
#define HS_CALLSITE_NONE HS_INTERNER_NONE

struct hs_callsite {
	uint32_t parent;
	uint32_t location; /* of location_table.h */
	uint32_t depth;    /* frames of the stack; 0 for the root */
};

struct hs_callsite_trie {
	struct hs_interner interner;
};

int hs_callsite_trie_init(struct hs_callsite_trie *trie);
void hs_callsite_trie_fini(struct hs_callsite_trie *trie);

/* The node below parent for a location, or HS_CALLSITE_NONE when out of memory. */
uint32_t hs_callsite_trie_child(struct hs_callsite_trie *trie, uint32_t parent, uint32_t location);

/* Nodes, the root included. */
static inline uint32_t hs_callsite_trie_count(const struct hs_callsite_trie *trie)
{
	return trie->interner.count;
}

/* Valid until the next child. */
static inline const struct hs_callsite *hs_callsite_trie_get(const struct hs_callsite_trie *trie,
							     uint32_t node)
{
	return hs_interner_item(&trie->interner, node);
}

#endif
