/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call sites: stacks as paths in a trie, from the root of the stack (node 0) to the
 * leaf.  A node never changes, so as long as it is held its number stands for a stack.
 *
 * Nodes are reference-counted: a node is held by its children and by whoever keeps its number, and
 * holds its parent and its location.  When nobody holds it any more it is removed, and its number
 * is given out again.
 *
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_PROFILE_CALLSITE_TRIE_H
#define HS_PROFILE_CALLSITE_TRIE_H

#include "base/hash.h"
#include "base/interner.h"
#include "profile/location_table.h"

#define HS_CALLSITE_ROOT 0
#define HS_CALLSITE_NONE HS_INTERNER_NONE

/*
 * A stack's hash: 96 bits, of two hashes of its frames, root first.  The probability that two of a
 * million stacks have the same is 1 in 10^17.
 */
struct hs_stack_hash {
	uint64_t first;
	uint32_t second;
};

/* hash: of the frame's callers; all 0: there are none. */
static inline struct hs_stack_hash hs_stack_hash_add(struct hs_stack_hash hash, uint64_t address,
						     uint32_t mapping, uint32_t code)
{
	uint64_t where = ((uint64_t)code << 32 | mapping) ^ HS_HASH_FACTOR;
	unsigned __int128 product = (unsigned __int128)(hash.first ^ address) * where;
	uint64_t word = hash.second ^ address ^ where;

	return (struct hs_stack_hash){
		.first = (uint64_t)product ^ (uint64_t)(product >> 64),
		.second = (uint32_t)(word * 0xd6e8feb86659fd93u >> 32),
	};
}

struct hs_callsite {
	uint32_t parent;
	uint32_t location; /* of location_table.h */
	uint32_t depth;    /* frames of the stack; 0 for the root, and for what is no node now */
	uint32_t holders;
	uint64_t hash_first; /* struct hs_stack_hash of the stack, its codes included */
	uint32_t hash_second;
	uint32_t row; /* that a sample of the stack was added to last; it may be another's now */
};

struct hs_callsite_trie {
	struct hs_interner interner;
	struct hs_location_table *locations;
};

/* locations: those of the nodes; must outlive the nodes. */
int hs_callsite_trie_init(struct hs_callsite_trie *trie, struct hs_location_table *locations);
void hs_callsite_trie_fini(struct hs_callsite_trie *trie);

/*
 * The node below parent for a location.  A new one is held by nobody yet: the caller holds it, or
 * settles it.  HS_CALLSITE_NONE when out of memory; then parent and location are settled.
 */
uint32_t hs_callsite_trie_child(struct hs_callsite_trie *trie, uint32_t parent, uint32_t location);

void hs_callsite_trie_hold(struct hs_callsite_trie *trie, uint32_t node);
void hs_callsite_trie_release(struct hs_callsite_trie *trie, uint32_t node);

/* The row of a node, to be written.  Valid until the next child. */
uint32_t *hs_callsite_trie_row(struct hs_callsite_trie *trie, uint32_t node);

/* Removes the node if nobody holds it, then its parent if so, and so on; never the root. */
void hs_callsite_trie_settle(struct hs_callsite_trie *trie, uint32_t node);

/* Nodes, the root included. */
static inline uint32_t hs_callsite_trie_count(const struct hs_callsite_trie *trie)
{
	return trie->interner.used;
}

/* Valid until the next child. */
static inline const struct hs_callsite *hs_callsite_trie_get(const struct hs_callsite_trie *trie,
							     uint32_t node)
{
	return hs_interner_item(&trie->interner, node);
}

#endif
