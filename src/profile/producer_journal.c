/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes frees from the journal.  See books.h.  Runs on the producer. */
#include "profile/books.h"
#include "sample/free_journal.h"
#include "sample/live_set.h"

/* So many numbers ahead it is looked up what their frees will need, and that is prefetched. */
#define FETCHED_AHEAD 32u

/* Applies an entry of the journal, in its turn or late. */
static void apply_journaled(struct hs_producer *producer, const struct hs_journaled *journaled)
{
	uint32_t slot = journaled->slot;
	struct hs_heap_event event = {
		.kind = HS_HEAP_EVENT_FREE,
		.heap = HS_HEAP_MALLOC,
		.slot = slot,
	};

	if (!hs_live_set_take_journaled(slot, journaled->address_bits))
		return;
	producer->journaled++;
	producer->uncounted++;
	event.generation = hs_live_set_generation(slot);
	hs_heap_tracker_freed(&producer->tracker, &event);
}

/*
 * Prefetches what frees after `number` will need: FETCHED_AHEAD numbers ahead their slots and
 * books, and half as far ahead, when those have arrived, their rows.  Each number is looked up once
 * for either (slots_fetched, rows_fetched), and not before it is given out, for only then can it
 * have an entry.
 */
static void fetch_journaled(struct hs_producer *producer, uint64_t number)
{
	uint64_t end = number + FETCHED_AHEAD, *slots = &producer->slots_fetched,
		 *rows = &producer->rows_fetched;
	uint32_t most = hs_live_set_capacity(), slot;

	if (end > producer->numbers_end)
		end = producer->numbers_end;
	if (*rows < number)
		*rows = *slots = number;
	for (; *slots < end; ++*slots) {
		if ((slot = hs_free_journal_peek(*slots)) < most)
			hs_live_set_fetch_slot(slot);
	}
	for (; *rows < end && *rows < number + FETCHED_AHEAD / 2; ++*rows) {
		if ((slot = hs_free_journal_peek(*rows)) < most)
			hs_heap_tracker_fetch_row_of(&producer->tracker, slot);
	}
}

bool hs_producer_commit_journaled(struct hs_producer *producer)
{
	struct hs_journaled journaled;

	if (!hs_free_journal_is_kept() || !hs_free_journal_take(producer->order.next, &journaled))
		return false;
	fetch_journaled(producer, producer->order.next);
	apply_journaled(producer, &journaled);
	if (!journaled.is_late)
		hs_commit_order_pass(&producer->order);
	return true;
}

void hs_producer_apply_late(struct hs_producer *producer)
{
	uint64_t end = producer->order.next + hs_free_journal.count;
	struct hs_journaled journaled;

	for (uint64_t number = producer->order.next; number < end; number++) {
		if (hs_free_journal_is_late(number) && hs_free_journal_take(number, &journaled))
			apply_journaled(producer, &journaled);
	}
}
