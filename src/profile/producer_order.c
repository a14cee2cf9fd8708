/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes frees, and commits events in the order of their numbers.  See producer.h.  Runs on the
 * producer.
 */
#include "base/alone.h"
#include "base/stats.h"
#include "profile/books.h"
#include "sample/free_journal.h"
#include "sample/free_times.h"
#include "sample/heap.h"
#include "sample/live_set.h"
#include "sample/sequence.h"

/* The most frees of the journal that are committed at a time. */
#define JOURNALED_AT_ONCE 8192u

/* How many numbers ahead hs_producer_commit() looks for an entry of the journal that waits. */
#define JOURNAL_LOOK 1024u

static void apply_to_stream(struct hs_producer *producer, uint64_t number,
			    const struct hs_heap_event *event)
{
	if (event->kind == HS_HEAP_EVENT_NOTHING)
		return;
	if (event->kind == HS_HEAP_EVENT_FREE)
		hs_live_set_recycle(event->slot, event->generation);
	producer->stream(number, event);
}

/* Releases what an allocation holds on its way to the books: its stack and its thread's name. */
static void release_held(struct hs_producer *producer, const struct hs_heap_event *event)
{
	if (event->kind != HS_HEAP_EVENT_ALLOCATION || producer->stream != NULL)
		return;
	hs_callsite_trie_release(&producer->trie, event->callsite);
	hs_thread_names_release(&producer->threads, event->thread);
}

static void apply_allocation(struct hs_producer *producer, const struct hs_heap_event *event)
{
	uint32_t rows = producer->tracker.rows.used;

	hs_heap_tracker_allocated(&producer->tracker, event,
				  hs_callsite_trie_row(&producer->trie, event->callsite));
	/* A new row takes over what the event holds. */
	if (producer->tracker.rows.used == rows)
		release_held(producer, event);
}

/*
 * Whether a number has been given out.  Every event writes the cache line of the next number, so
 * that is read only if the value read before is not enough.  Relaxed: whoever delivered the number
 * has taken it before.
 */
static bool is_number(struct hs_producer *producer, uint64_t number)
{
	if (number >= producer->numbers_end)
		producer->numbers_end =
			atomic_load_explicit(&hs_sequence.next, memory_order_relaxed);
	return number != 0 && number < producer->numbers_end;
}

void hs_producer_give_up_slot(uint32_t slot, uint32_t generation)
{
	if (slot < hs_live_set_capacity())
		hs_live_set_give_up(slot, generation);
}

static bool has_heap(const struct hs_heap_event *event)
{
	return atomic_load_explicit(&hs_heaps[event->heap].state, memory_order_relaxed) !=
	       HS_HEAP_UNUSED;
}

/*
 * Whether a sample is dropped: its heap is gone, or its epoch is over.  A stream has the latter all
 * the same, because it will have the free.
 */
static bool is_stale(const struct hs_producer *producer, const struct hs_heap_event *event)
{
	bool is_over = event->epoch != producer->epoch && producer->stream == NULL;

	return event->kind == HS_HEAP_EVENT_ALLOCATION && (is_over || !has_heap(event));
}

/* The sample's slot stays in use until its free, or is given up if that cannot come. */
static void drop_stale(struct hs_producer *producer, const struct hs_heap_event *event)
{
	hs_heap_add(event->heap, stale, 1);
	release_held(producer, event);
	if (!has_heap(event))
		hs_producer_give_up_slot(event->slot, event->generation);
}

static void apply_free(struct hs_producer *producer, const struct hs_heap_event *event)
{
	if (hs_free_journal_is_kept())
		hs_heap_add(event->heap, frees, 1);
	hs_heap_tracker_freed(&producer->tracker, event);
}

static void apply(struct hs_producer *producer, uint64_t number, const struct hs_heap_event *event)
{
	if (is_stale(producer, event))
		drop_stale(producer, event);
	else if (producer->stream != NULL)
		apply_to_stream(producer, number, event);
	else if (event->kind == HS_HEAP_EVENT_ALLOCATION)
		apply_allocation(producer, event);
	else if (event->kind == HS_HEAP_EVENT_FREE)
		apply_free(producer, event);
}

/* Bounded, even if the program goes on freeing: somebody may wait for the producer. */
static void commit_arrived(struct hs_producer *producer)
{
	struct hs_heap_event event;
	unsigned journaled = 0;

	do {
		while (hs_commit_order_take(&producer->order, &event))
			apply(producer, producer->order.next - 1, &event);
	} while (journaled++ < JOURNALED_AT_ONCE && hs_producer_commit_journaled(producer));
}

/* An event arrives, whose number has been given out.  False: there is no room for it. */
static bool arrive(struct hs_producer *producer, uint64_t number, const struct hs_heap_event *event)
{
	switch (hs_commit_order_put(&producer->order, number, event)) {
	case HS_ARRIVAL_KEPT:
		break;
	case HS_ARRIVAL_LATE:
		apply(producer, number, event);
		break;
	case HS_ARRIVAL_DUPLICATE:
		release_held(producer, event);
		break;
	case HS_ARRIVAL_NO_ROOM:
		return false;
	}
	return true;
}

/* Takes a free that is due, for which the window always has room. */
static void put_free(struct hs_producer *producer, uint32_t slot)
{
	const struct hs_heap_event event = {
		.kind = HS_HEAP_EVENT_FREE,
		.address = hs_live_set_id(slot),
		.heap = (uint16_t)hs_live_set_heap(slot),
		.time_ns = hs_free_times_get(slot),
		.slot = slot,
		.generation = hs_live_set_generation(slot),
	};
	uint64_t number = hs_live_set_free_sequence(slot);

	_Static_assert(HS_WAITING_DUE <= HS_COMMIT_WINDOW_MIN, "room without memory");
	if (is_number(producer, number))
		arrive(producer, number, &event);
	else
		apply(producer, number, &event);
}

static void commit_all(struct hs_producer *producer)
{
	uint32_t slot;

	commit_arrived(producer);
	while ((slot = hs_waiting_frees_take(&producer->frees, producer->order.next)) !=
	       HS_SLOT_NONE) {
		put_free(producer, slot);
		commit_arrived(producer);
	}
}

/* The lowest number below `to` that the journal has; 0: none. */
static uint64_t first_journaled(struct hs_producer *producer, uint64_t to)
{
	if (!hs_free_journal_is_kept())
		return 0;
	if (!is_number(producer, to))
		to = producer->numbers_end;
	return hs_free_journal_first(producer->order.next, to);
}

/* All at once: the count is in a cache line that each sample writes. */
static void count_frees(struct hs_producer *producer)
{
	if (producer->uncounted > 0)
		hs_heap_add(HS_HEAP_MALLOC, frees, producer->uncounted);
	producer->uncounted = 0;
}

bool hs_producer_commit(struct hs_producer *producer)
{
	commit_all(producer);
	count_frees(producer);
	hs_live_set_give_back();
	/* If none of the next JOURNAL_LOOK numbers has an entry, they are still to come. */
	return producer->order.waiting > 0 || producer->frees.count > 0 ||
	       first_journaled(producer, producer->order.next + JOURNAL_LOOK) != 0;
}

/* The lowest number that has arrived before its turn; 0 if there is none. */
static uint64_t first_waiting(struct hs_producer *producer)
{
	uint64_t first = hs_commit_order_first(&producer->order);
	uint64_t first_free = hs_waiting_frees_first(&producer->frees), journaled;

	if (first == 0 || (first_free != 0 && first_free < first))
		first = first_free;
	journaled = first_journaled(producer, first != 0 ? first : UINT64_MAX);
	return journaled != 0 ? journaled : first;
}

static void skip_to(struct hs_producer *producer, uint64_t number)
{
	hs_stats_add(sequence_gaps, hs_commit_order_skip_to(&producer->order, number));
	producer->has_given_up = true;
	commit_all(producer);
}

void hs_producer_put(struct hs_producer *producer, uint64_t number,
		     const struct hs_heap_event *event)
{
	if (!is_number(producer, number)) {
		/* At once: nothing waits for it, and it must not make a gap. */
		apply(producer, number, event);
		return;
	}
	/* Each round empties a part of the window; an empty window has room for any number. */
	while (!arrive(producer, number, event)) {
		uint64_t first = first_waiting(producer);

		skip_to(producer, first != 0 && first < number ? first : number);
	}
}

static void take_free(struct hs_producer *producer, uint32_t slot)
{
	uint64_t number = hs_live_set_free_sequence(slot);

	if (is_number(producer, number) && !hs_waiting_frees_is_due(number, producer->order.next))
		hs_waiting_frees_add(&producer->frees, slot);
	else
		put_free(producer, slot);
}

/* Whether there are freed slots.  Prefetches the rows of the next HS_FETCHED_FREES together. */
static bool has_freed(struct hs_producer *producer)
{
	uint32_t *slots = producer->fetched, count = 0, slot;

	if (producer->fetched_from < producer->fetched_end)
		return true;
	while (count < HS_FETCHED_FREES &&
	       (slot = hs_live_set_next_freed(&producer->freed)) != HS_SLOT_NONE) {
		slots[count++] = slot;
	}
	for (uint32_t i = 0; i < count; i++)
		hs_heap_tracker_fetch_row_of(&producer->tracker, slots[i]);
	producer->fetched_from = 0;
	producer->fetched_end = count;
	return count > 0;
}

uint32_t hs_producer_take_freed(struct hs_producer *producer)
{
	uint32_t most = hs_live_set_capacity(), count;

	if (hs_free_journal_is_kept())
		hs_free_journal_maintain(producer->numbers_end);
	commit_all(producer);
	if (!has_freed(producer))
		hs_live_set_take_freed(&producer->freed);
	for (count = 0; count < most && has_freed(producer); count++) {
		take_free(producer, producer->fetched[producer->fetched_from++]);
		/* After each, so that the window need not span all frees since the last time. */
		commit_all(producer);
	}
	hs_live_set_give_back();
	count_frees(producer);
	count += producer->journaled;
	producer->journaled = 0;
	return count;
}

bool hs_producer_has_taken_frees(const struct hs_producer *producer)
{
	return producer->journaled > 0;
}

uint64_t hs_producer_next_number(const struct hs_producer *producer)
{
	return producer->order.next;
}

static void sweep(struct hs_producer *producer, uint64_t stuck_before)
{
	producer->has_to_sweep = !hs_live_set_sweep_freed(stuck_before);
	hs_producer_take_freed(producer);
}

void hs_producer_skip_gap(struct hs_producer *producer, uint64_t stuck_before)
{
	uint64_t next = producer->order.next;

	/* If nothing waits, no number is known to be missing. */
	if (first_waiting(producer) == 0)
		return;
	/* The missing number may be that of a free whose thread died before it listed the slot. */
	if (stuck_before != 0)
		sweep(producer, stuck_before);
	if (producer->order.next == next)
		skip_to(producer, first_waiting(producer));
	/* Here, since gaps are rare: the longer one was waited for, the more had to wait. */
	hs_commit_order_trim(&producer->order);
	hs_live_set_give_back();
}

void hs_producer_commit_before(struct hs_producer *producer, uint64_t number)
{
	bool has_swept = false;
	uint64_t first;

	if (producer->has_to_sweep && hs_alone_has_ended())
		sweep(producer, 0);
	for (;;) {
		hs_producer_commit(producer);
		first = first_waiting(producer);
		if (first == 0 || first >= number)
			break;
		/* The journal's frees are committed some at a time. */
		if (first == producer->order.next)
			continue;
		/* Once for all gaps: a sweep looks at every slot that was ever used. */
		if (has_swept)
			skip_to(producer, first);
		else
			sweep(producer, number);
		has_swept = true;
	}
	if (producer->has_given_up && hs_free_journal_is_kept())
		hs_producer_apply_late(producer);
	count_frees(producer);
	hs_live_set_give_back();
}
