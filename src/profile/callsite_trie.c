/* SPDX-License-Identifier: BSD-2-Clause */
/* The trie of callsites.  See callsite_trie.h. */
#include "profile/callsite_trie.h"

#include <stddef.h>

static struct hs_callsite *node_at(const struct hs_callsite_trie *trie, uint32_t node)
{
	return hs_interner_item(&trie->interner, node);
}

int hs_callsite_trie_init(struct hs_callsite_trie *trie, struct hs_location_table *locations)
{
	/* No node is searched for with this parent, so no search finds the root. */
	struct hs_callsite root = {.parent = HS_CALLSITE_NONE, .location = HS_CALLSITE_NONE};
	int error =
		hs_interner_init(&trie->interner, sizeof root, offsetof(struct hs_callsite, depth));

	trie->locations = locations;
	if (error == 0)
		hs_interner_add(&trie->interner, &root);
	return error;
}

void hs_callsite_trie_fini(struct hs_callsite_trie *trie)
{
	hs_interner_fini(&trie->interner);
}

/* Hashes the stack of a new node. */
static void set_hash(struct hs_callsite_trie *trie, uint32_t number)
{
	struct hs_callsite *node = node_at(trie, number);
	const struct hs_callsite *parent = node_at(trie, node->parent);
	const struct hs_location *location = hs_location_table_get(trie->locations, node->location);
	struct hs_stack_hash hash =
		hs_stack_hash_add((struct hs_stack_hash){parent->hash_first, parent->hash_second},
				  location->address, location->mapping, location->code);

	node->hash_first = hash.first;
	node->hash_second = hash.second;
}

uint32_t hs_callsite_trie_child(struct hs_callsite_trie *trie, uint32_t parent, uint32_t location)
{
	struct hs_callsite node = {
		.parent = parent,
		.location = location,
		.depth = node_at(trie, parent)->depth + 1,
	};
	uint32_t used = trie->interner.used;
	uint32_t number = hs_interner_add(&trie->interner, &node);

	if (number == HS_CALLSITE_NONE) {
		hs_location_table_settle(trie->locations, location);
		hs_callsite_trie_settle(trie, parent);
	} else if (trie->interner.used != used) {
		hs_location_table_hold(trie->locations, location);
		hs_callsite_trie_hold(trie, parent);
		set_hash(trie, number);
	}
	return number;
}

void hs_callsite_trie_hold(struct hs_callsite_trie *trie, uint32_t node)
{
	node_at(trie, node)->holders++;
}

void hs_callsite_trie_release(struct hs_callsite_trie *trie, uint32_t node)
{
	node_at(trie, node)->holders--;
	hs_callsite_trie_settle(trie, node);
}

uint32_t *hs_callsite_trie_row(struct hs_callsite_trie *trie, uint32_t node)
{
	return &node_at(trie, node)->row;
}

void hs_callsite_trie_settle(struct hs_callsite_trie *trie, uint32_t node)
{
	while (node != HS_CALLSITE_ROOT && node_at(trie, node)->holders == 0) {
		uint32_t parent = node_at(trie, node)->parent;

		hs_location_table_release(trie->locations, node_at(trie, node)->location);
		node_at(trie, node)->depth = 0;
		hs_interner_remove(&trie->interner, node);
		node_at(trie, parent)->holders--;
		node = parent;
	}
}
