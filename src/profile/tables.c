/* SPDX-License-Identifier: BSD-2-Clause */
/* The books' tables.  See tables.h. */
#include "profile/tables.h"

#include "profile/books.h"

void hs_tables_release_row(struct hs_producer *producer, uint32_t row)
{
	const struct hs_row_key *key = &hs_heap_tracker_row(&producer->tracker, row)->key;

	hs_callsite_trie_release(&producer->trie, key->callsite);
	hs_thread_names_release(&producer->threads, key->thread);
}

void hs_tables_trim(struct hs_producer *producer)
{
	hs_commit_order_trim(&producer->order);
	hs_interner_trim(&producer->tracker.rows);
	hs_interner_trim(&producer->trie.interner);
	hs_interner_trim(&producer->locations.interner);
	hs_interner_trim(&producer->threads.names);
	hs_interner_trim(&producer->threads.tids);
	hs_stack_cache_empty(&producer->known_stacks);
	hs_delta_trim(&producer->delta, &producer->tracker.rows);
}
