/* SPDX-License-Identifier: BSD-2-Clause */
/* The trie of call sites.  Runs on the producer. */
#include "profile/callsite_trie.h"

#include <stddef.h>

int hs_callsite_trie_init(struct hs_callsite_trie *trie)
{
	/* No node has this parent: no search meets the root. */
	struct hs_callsite root = { HS_CALLSITE_NONE, HS_CALLSITE_NONE, 0 };
	int error = hs_interner_init(&trie->interner, sizeof root,
				     offsetof(struct hs_callsite, depth));

	if (error == 0)
		hs_interner_add(&trie->interner, &root);
	return error;
}

void hs_callsite_trie_fini(struct hs_callsite_trie *trie)
{
	hs_interner_fini(&trie->interner);
}

uint32_t hs_callsite_trie_child(struct hs_callsite_trie *trie, uint32_t parent, uint32_t location)
{
	struct hs_callsite node = {
		.parent = parent,
		.location = location,
		.depth = hs_callsite_trie_get(trie, parent)->depth + 1,
	};

	return hs_interner_add(&trie->interner, &node);
}
