/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Callsites: whole stacks, as paths in a trie from the root of the stack (node 0) to the leaf.  A
 * node never changes, so as long as it is held its number stands for a stack.
 *
 * A node is held by its children and by holders outside, and holds its parent and its location.
 * Without holders it is removed, and its number is given out again.
 *
 * Called on: the producer.  Allocates: from the arena.
 */
#ifndef HS_PROFILE_CALLSITE_TRIE_H
#define HS_PROFILE_CALLSITE_TRIE_H

#include "base/hash.h"
#include "base/interner.h"
#include "profile/location_table.h"

#define HS_CALLSITE_ROOT 0
#define HS_CALLSITE_NONE HS_INTERNER_NONE

/*
 * A stack is recognised by these 96 bits, two hashes of its frames, root first.  The probability
 * that any two of a million stacks have the same is one in 10^17.
 */
struct hs_stack_hash {
	uint64_t first;
	uint32_t second;
};

/* The hash of a frame and its callers.  hash: of the callers; all 0: there are none. */
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
	uint32_t depth;    /* frames of the stack; 0: the root, or a node that was removed */
	uint32_t holders;
	uint64_t hash_first; /* struct hs_stack_hash of the stack */
	uint32_t hash_second;
	uint32_t row; /* the row that a sample of the stack was last added to; may be another now */
};

struct hs_callsite_trie {
	struct hs_interner interner;
	struct hs_location_table *locations;
};

/* locations: the table of the nodes' locations; must outlive them.  Returns 0 or -ENOMEM. */
int hs_callsite_trie_init(struct hs_callsite_trie *trie, struct hs_location_table *locations);
void hs_callsite_trie_fini(struct hs_callsite_trie *trie);

/*
 * The child of parent for a location, added if need be.  A new one has no holders; it stays until
 * the last holder releases it, or it is settled.  HS_CALLSITE_NONE: out of memory, and parent and
 * location have been settled.
 */
uint32_t hs_callsite_trie_child(struct hs_callsite_trie *trie, uint32_t parent, uint32_t location);

void hs_callsite_trie_hold(struct hs_callsite_trie *trie, uint32_t node);
void hs_callsite_trie_release(struct hs_callsite_trie *trie, uint32_t node);

/* The `row` of a node, for writing.  Valid until the next hs_callsite_trie_child(). */
uint32_t *hs_callsite_trie_row(struct hs_callsite_trie *trie, uint32_t node);

/* Removes a node without holders, and then its parent likewise; never the root. */
void hs_callsite_trie_settle(struct hs_callsite_trie *trie, uint32_t node);

/* Valid until the next hs_callsite_trie_child(). */
static inline const struct hs_callsite *hs_callsite_trie_get(const struct hs_callsite_trie *trie,
							     uint32_t node)
{
	return hs_interner_item(&trie->interner, node);
}

#endif
