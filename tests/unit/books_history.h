/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A history of events, which happen on the real live set and are logged in the oracle.  They are
 * then delivered to the producer and to the oracle in any order, and the two are compared.
 *
 * A free in malloc's heap takes its number when it happens (hs_live_set_begin_move()), and is put
 * on the freed list when it is delivered (hs_live_set_end_move()), as by a thread that is stopped
 * in between.  A free in another heap only takes a number when it happens; the live set sees it
 * when it is delivered, so its id must not be used again before.
 */
#ifndef HS_TESTS_BOOKS_HISTORY_H
#define HS_TESTS_BOOKS_HISTORY_H

#include "books_oracle.h"
#include "profile/snapshot.h"
#include "profile_testing.h"
#include "random_numbers.h"
#include "sample/live_slots.h"

/* An event, as it is to be delivered. */
struct history_step {
	union test_record record; /* if it is not a free */
	uint32_t slot;            /* of a free in malloc's heap */
	bool is_free;
	bool is_stuck; /* a free whose thread has died: only a sweep finds it */
	bool delivered;
};

static struct history_step history[ORACLE_EVENTS + 1];
static struct hs_producer *producer;
static struct hs_mapping_table *history_table; /* empty */
static uint32_t history_heap = HS_HEAP_MALLOC; /* in which the next events happen */
static uint64_t history_interval;
static void (*history_pause)(void); /* called while a profile is made */
static uint64_t history_gaps;       /* the statistic when the history began */
static uint64_t history_seed; /* chooses history and order; printed if a check has failed */
static int history_failures;

static inline void history_set_up(void)
{
	set_up();
	for (unsigned heap = HS_HEAP_FIRST_REPORTED; heap < ORACLE_HEAPS; heap++) {
		snprintf(hs_heaps[heap].name, sizeof hs_heaps[heap].name, "pool%u", heap);
		atomic_store(&hs_heaps[heap].state, HS_HEAP_REGISTERED);
	}
	history_table = hs_mapping_table_create();
	CHECK(history_table != NULL);
}

static inline void history_begin(uint64_t seed, uint64_t interval)
{
	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = history_table,
		.keeps_peak = true,
	});
	oracle_begin();
	history_interval = interval;
	history_seed = seed;
	history_gaps = hs_stats_get(sequence_gaps);
	history_failures = check_failures;
}

/* Prints the seed if a check of this history has failed. */
static inline void history_end(void)
{
	if (check_failures != history_failures)
		fprintf(stderr, "with seed %llu\n", (unsigned long long)history_seed);
}

static inline struct history_step *history_note(uint64_t number)
{
	CHECK_INT(hs_sequence.next, number + 1);
	history[number] = (struct history_step){.slot = HS_SLOT_NONE};
	return &history[number];
}

static inline void history_allocate(uint64_t address, uint64_t size, unsigned site)
{
	union test_record record = allocate_in(history_heap, address, size, history_interval, site);
	uint64_t number =
		oracle_log(ORACLE_ALLOCATE, history_heap, address, size, history_interval, site);

	history_note(number)->record = record;
}

/* A free.  Returns whether there is a sample at the address; if not, it takes no number. */
static inline bool history_free(uint64_t address)
{
	uint64_t alive = oracle_alive_at(history_heap, address);
	uint32_t slot = HS_SLOT_NONE;
	struct history_step *step;

	if (history_heap == HS_HEAP_MALLOC) {
		slot = hs_live_set_begin_move((void *)(uintptr_t)address);
		CHECK(slot != HS_SLOT_NONE || alive == 0);
		if (slot == HS_SLOT_NONE)
			return false;
	} else if (alive == 0) {
		return false;
	} else {
		hs_sequence.next++;
	}
	step = history_note(oracle_log(ORACLE_FREE, history_heap, address, 0, 0, 0));
	step->is_free = true;
	step->slot = slot;
	return true;
}

/* Whether an id of another heap than malloc's may be used: its last free has been delivered. */
static inline bool history_is_settled(uint64_t address)
{
	for (uint64_t n = oracle.logged; n > 0; n--) {
		const struct oracle_event *event = &oracle.events[n];

		if (event->kind == ORACLE_FREE && event->heap == history_heap &&
		    event->address == address)
			return history[n].delivered;
	}
	return true;
}

/* A realloc that fails: its number will be delivered as a tombstone. */
static inline void history_fail_to_move(uint64_t address)
{
	uint32_t slot = hs_live_set_begin_move((void *)(uintptr_t)address);
	union test_record *record;

	CHECK(slot != HS_SLOT_NONE);
	record = &history_note(oracle_log(ORACLE_NOTHING, 0, 0, 0, 0, 0))->record;
	record->head.kind = HS_RECORD_TOMBSTONE;
	record->head.slot = HS_SLOT_NONE;
	record->head.sequence = hs_live_set_cancel_move(slot);
}

/* A sample whose thread has left the sample path after it had taken the number. */
static inline void history_abandon(uint64_t address)
{
	union test_record record = allocate(address, 1, history_interval, 0);

	record.head.kind = HS_RECORD_TOMBSTONE;
	history_note(oracle_log(ORACLE_NOTHING, 0, 0, 0, 0, 0))->record = record;
}

/* A sample of a past epoch, and its free: it is dropped, but keeps its slot until the free. */
static inline void history_come_too_late(uint64_t address)
{
	union test_record record = allocate(address, 1, history_interval, 0);

	record.head.epoch--;
	history_note(oracle_log(ORACLE_NOTHING, 0, 0, 0, 0, 0))->record = record;
	CHECK(history_free(address));
}

/* A sample, which is freed by a thread that dies after it has taken the free's number. */
static inline void history_die_in_free(uint64_t address)
{
	struct hs_live_slot *slot;

	history_allocate(address, 100, 0);
	CHECK(history_free(address));
	history[oracle.logged].is_stuck = true;
	slot = hs_live_slot(history[oracle.logged].slot);
	slot->state = hs_slot_with_state(slot->state, HS_SLOT_FREED);
}

static inline void history_check_progress(void)
{
	for (uint32_t heap = HS_HEAP_MALLOC; heap < ORACLE_HEAPS; heap++)
		CHECK_INT(hs_producer_in_use_bytes(producer, heap),
			  oracle.heaps[heap].in_use >> HS_WEIGHT_SHIFT);
	CHECK_INT(hs_producer_next_number(producer), oracle.next);
	CHECK_INT(hs_stats_get(sequence_gaps) - history_gaps, oracle.given_up);
}

static inline void history_deliver_free(uint64_t number)
{
	uint64_t next = atomic_exchange(&hs_sequence.next, number);

	if (history[number].slot != HS_SLOT_NONE)
		hs_live_set_end_move(history[number].slot);
	else
		CHECK_INT(hs_live_set_free_id(oracle.events[number].heap,
					      oracle.events[number].address),
			  1);
	hs_sequence.next = next;
	CHECK_INT(hs_producer_take_freed(producer), 1);
}

static inline void history_deliver(uint64_t number)
{
	struct history_step *step = &history[number];

	if (step->is_free)
		history_deliver_free(number);
	else
		take(producer, &step->record);
	step->delivered = true;
	hs_producer_commit(producer);
	oracle_arrive(number);
	history_check_progress();
}

/*
 * Delivers a record once more, unless its free has been applied: then the producer could not tell
 * it from one that was given up.
 */
static inline void history_repeat(uint64_t number)
{
	if (history[number].is_free || oracle.events[number].has_ended)
		return;
	take(producer, &history[number].record);
	hs_producer_commit(producer);
	history_check_progress();
}

/*
 * The producer gives up the missing numbers before the first event that waits.  It then finds stuck
 * frees among them; if these were all that was missing, no number is lost.
 */
static inline void history_give_up(void)
{
	uint64_t next = oracle.next, first = oracle_first_waiting();

	for (uint64_t n = 1; n < first; n++) {
		if (history[n].is_stuck && !history[n].delivered) {
			history[n].delivered = true;
			oracle_arrive(n);
		}
	}
	if (oracle.next == next)
		oracle_give_up();
	hs_producer_skip_gap(producer, first);
	history_check_progress();
}

/* The heap of a row.  Rows of malloc's heap have no label. */
static inline uint32_t history_heap_of(const struct hs_view_row *row)
{
	for (uint32_t heap = HS_HEAP_FIRST_REPORTED; heap < ORACLE_HEAPS; heap++) {
		if (row->heap != NULL && strcmp(row->heap, hs_heaps[heap].name) == 0)
			return heap;
	}
	CHECK(row->heap == NULL);
	return HS_HEAP_MALLOC;
}

typedef int64_t history_sums[ORACLE_HEAPS][ORACLE_SITES][HS_VIEW_VALUES];

/* Adds up the values of each site's rows in the profile. */
static inline void history_sum_sites(const struct hs_view *view, history_sums sums)
{
	for (size_t i = 0; i < view->row_count; i++) {
		const struct hs_view_row *row = &view->rows[i];
		uint64_t stack[FRAMES_MAX], site;
		uint32_t heap = history_heap_of(row);

		CHECK_INT(view->get_stack(view->stack_context, row->callsite, stack, FRAMES_MAX),
			  2);
		site = view->locations[stack[0] - 1].address - 0x1000;
		CHECK(site < ORACLE_SITES);
		for (int value = 0; site < ORACLE_SITES && value < HS_VIEW_VALUES; value++)
			sums[heap][site][value] += row->values[value];
	}
}

/* A value is rounded up or down: see hs_row_round(). */
static inline void history_check_value(int64_t got, unsigned __int128 want)
{
	CHECK(got == (int64_t)(want >> HS_WEIGHT_SHIFT) ||
	      got == (int64_t)((want + HS_WEIGHT_ONE - 1) >> HS_WEIGHT_SHIFT));
}

static inline void history_compare_site(const int64_t got[HS_VIEW_VALUES],
					const struct oracle_totals *want)
{
	history_check_value(got[0], want->objects);
	history_check_value(got[1], want->bytes);
	history_check_value(got[2], want->inuse_objects);
	history_check_value(got[3], want->inuse_bytes);
	CHECK(got[2] < got[0] || (got[2] == got[0] && got[3] <= got[1]));
}

/*
 * Compares the present profile (HS_HEAP_NONE), or that of a heap's peak, with the oracle's numbers
 * from when it was begun, whatever happens while it is made.
 */
static inline void history_compare_one(uint32_t peak_heap)
{
	static const struct hs_options options = {.symbolize = HS_SYMBOLIZE_NONE};
	struct oracle_heap now[ORACLE_HEAPS];
	history_sums sums = {{{0}}};
	struct hs_view view = {0};
	struct hs_snapshot *snapshot;

	memcpy(now, oracle.heaps, sizeof now);
	snapshot = hs_snapshot_create(producer, &options, peak_heap, history_pause, &view);
	CHECK(snapshot != NULL);
	if (snapshot == NULL)
		return;
	history_sum_sites(&view, sums);
	for (uint32_t heap = 0; heap < ORACLE_HEAPS; heap++) {
		for (unsigned site = 0; site < ORACLE_SITES; site++) {
			static const struct oracle_totals none;
			const struct oracle_totals *want = &now[heap].now[site];

			if (peak_heap != HS_HEAP_NONE)
				want = heap == peak_heap ? &now[heap].peak[site] : &none;
			history_compare_site(sums[heap][site], want);
		}
	}
	hs_snapshot_destroy(snapshot);
}

static inline void history_compare(void)
{
	CHECK_INT(hs_producer_commit(producer), oracle_first_waiting() != 0);
	history_compare_one(HS_HEAP_NONE);
	for (uint32_t heap = HS_HEAP_MALLOC; heap < ORACLE_HEAPS; heap++) {
		if (heap == HS_HEAP_MALLOC || oracle.heaps[heap].peak_bytes != 0)
			history_compare_one(heap);
	}
}

/* Delivers all that has not been delivered, and gives up what is stuck. */
static inline void history_deliver_rest(void)
{
	uint64_t happened = oracle.logged;

	for (uint64_t n = 1; n <= happened; n++) {
		if (!history[n].delivered && !history[n].is_stuck)
			history_deliver(n);
	}
	/* With an event that waits, what is missing before it can be given up. */
	history_abandon(UINT32_MAX);
	history_deliver(oracle.logged);
	while (oracle_first_waiting() != 0)
		history_give_up();
}

/* Frees all that is alive, and checks that nothing is left. */
static inline void history_free_all(void)
{
	uint64_t happened;

	history_deliver_rest();
	happened = oracle.logged;
	for (uint64_t n = 1; n <= happened; n++) {
		const struct oracle_event *event = &oracle.events[n];

		history_heap = event->heap;
		if (event->kind == ORACLE_ALLOCATE &&
		    oracle_alive_at(event->heap, event->address) == n &&
		    history_free(event->address))
			history_deliver(oracle.logged);
	}
	history_heap = HS_HEAP_MALLOC;
	CHECK_INT(hs_live_set_used(), 0);
	check_holders(producer);
	for (uint32_t heap = HS_HEAP_MALLOC; heap < ORACLE_HEAPS; heap++) {
		CHECK_INT(hs_producer_in_use_bytes(producer, heap), 0);
		for (unsigned site = 0; site < ORACLE_SITES; site++)
			CHECK(oracle.heaps[heap].now[site].inuse_objects == 0);
	}
}

#endif
