/* SPDX-License-Identifier: BSD-2-Clause */
/* The journal of frees: entries in time, ahead and late, and what the producer does with them. */
#define MAP_BYTES (64 * MIB)
#define JOURNAL 16384
#define LAPS 65536 /* as many as an entry can tell apart */

#include "profile_testing.h"

#define A ((uint64_t)0x700000000000)

static struct hs_producer *producer;

static void test_one_place(void)
{
	struct hs_journaled out;

	for (uint64_t number = 5; number < 5 + (uint64_t)3 * LAPS * JOURNAL; number += JOURNAL) {
		CHECK(!hs_free_journal_take(number, &out));
		CHECK(hs_free_journal_put(number, 7, A + 0x50));
		CHECK(!hs_free_journal_put(number, 8, A));
		CHECK(!hs_free_journal_put(number + JOURNAL, 8, A));
		CHECK_INT(hs_free_journal_peek(number), 7);
		CHECK(!hs_free_journal_is_late(number));
		CHECK(hs_free_journal_is_late(number + JOURNAL));
		/* It is of a later lap. */
		CHECK(number < JOURNAL || !hs_free_journal_take(number - JOURNAL, &out));
		CHECK(hs_free_journal_take(number, &out));
		CHECK(out.slot == 7 && out.address_bits == 5 && !out.is_late);
		CHECK_INT(hs_free_journal_peek(number), HS_SLOT_NONE);
	}
}

static void test_late_ones_are_told(void)
{
	struct hs_journaled out;

	CHECK(hs_free_journal_put(100, 1, A));
	CHECK(hs_free_journal_take(100 + 2 * JOURNAL, &out));
	CHECK(out.is_late && out.slot == 1);
	CHECK(!hs_free_journal_take(100, &out));
}

/* A late entry, however late, is not taken for one that is ahead, and need not wait. */
static void test_very_late_ones_are_told(void)
{
	struct hs_journaled out;

	for (uint64_t laps = 1; laps < LAPS; laps++) {
		CHECK(hs_free_journal_put(100, 1, A));
		/* Otherwise at most some laps later. */
		if (!hs_free_journal_take(100 + laps * JOURNAL, &out))
			CHECK(hs_free_journal_take(100 + (laps + LAPS / 8) * JOURNAL, &out));
		CHECK(out.slot == 1 && out.is_late);
	}
}

/* An entry far ahead is not taken for a late one: the producer has not run for so long. */
static void test_those_far_ahead_wait(void)
{
	struct hs_journaled out;

	for (uint64_t laps = 1; laps < LAPS / 8; laps++) {
		CHECK(hs_free_journal_put(100 + laps * JOURNAL, 1, A));
		CHECK(!hs_free_journal_is_late(100));
		CHECK(!hs_free_journal_take(100, &out));
		CHECK(hs_free_journal_take(100 + laps * JOURNAL, &out));
		CHECK(!out.is_late);
	}
}

static void test_first(void)
{
	struct hs_journaled out;

	CHECK(hs_free_journal_put(200, 1, A));
	CHECK(hs_free_journal_put(210, 1, A));
	CHECK_INT(hs_free_journal_first(190, 300), 200);
	CHECK_INT(hs_free_journal_first(190, UINT64_MAX), 200);
	CHECK_INT(hs_free_journal_first(201, 211), 210);
	CHECK_INT(hs_free_journal_first(201, 210), 0);
	CHECK_INT(hs_free_journal_first(211, 1000), 0);
	CHECK_INT(hs_free_journal_first(211, UINT64_MAX), 0); /* they are late there */
	CHECK(hs_free_journal_take(200, &out) && hs_free_journal_take(210, &out));
}

static void deliver(uint64_t address)
{
	union test_record record = allocate(address, 10, 1, 0);

	take(producer, &record);
}

/* A number never comes: the frees that wait for it are enough for the gap to be noticed. */
static void test_frees_wait_for_a_number(void)
{
	producer = new_producer(NULL, 0);
	deliver(A);
	deliver(A + 16);
	hs_producer_commit(producer);
	atomic_fetch_add(&hs_sequence.next, 1);
	release(A);
	release(A + 16);
	CHECK_INT(hs_producer_take_freed(producer), 0);
	CHECK(hs_producer_commit(producer));
	CHECK_INT(hs_producer_next_number(producer), 3);
	hs_producer_skip_gap(producer, UINT64_MAX);
	CHECK_INT(hs_producer_take_freed(producer), 2);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(hs_producer_next_number(producer), 6);
	CHECK_INT(hs_live_set_used(), 0);
	check_sums(producer, 2, 20, 0, 0);
}

/* A thread has a number for freeing A, but the producer gives it up.  Returns the number. */
static uint64_t give_up_a_free(void)
{
	uint64_t number;

	producer = new_producer(NULL, 0);
	deliver(A);
	number = atomic_fetch_add(&hs_sequence.next, 1);
	deliver(A + 16);
	CHECK(hs_producer_commit(producer));
	hs_producer_skip_gap(producer, UINT64_MAX);
	return number;
}

/* Then the thread goes on. */
static void free_late(uint64_t number)
{
	CHECK(hs_free_journal_put(number, hs_live_map_find(A) - 1, A));
	CHECK(hs_live_map_remove(A, hs_live_map_find(A) - 1));
}

static void test_a_late_free_is_in_the_next_profile(void)
{
	uint64_t number = give_up_a_free();

	CHECK(!hs_producer_commit(producer));
	check_sums(producer, 2, 20, 2, 20);
	/* Much later. */
	for (unsigned i = 0; i < 2 * JOURNAL; i++) {
		deliver(A + 32);
		hs_producer_commit(producer);
		release(A + 32);
		hs_producer_take_freed(producer);
	}
	free_late(number);
	hs_producer_commit_before(producer, UINT64_MAX);
	check_sums(producer, 2 + 2 * JOURNAL, 20 + 20 * JOURNAL, 1, 10);
	release(A + 16);
	hs_producer_take_freed(producer);
	check_sums(producer, 2 + 2 * JOURNAL, 20 + 20 * JOURNAL, 0, 0);
	CHECK_INT(hs_live_set_used(), 0);
}

/* Without a profile it is found a lap later, and the number that it is found at has its turn. */
static void test_a_late_free_is_found_a_lap_later(void)
{
	free_late(give_up_a_free());
	for (unsigned i = 0; i < JOURNAL; i++) {
		deliver(A + 32);
		hs_producer_commit(producer);
		release(A + 32);
		hs_producer_take_freed(producer);
	}
	check_sums(producer, 2 + JOURNAL, 20 + 10 * JOURNAL, 1, 10);
	release(A + 16);
	hs_producer_take_freed(producer);
	CHECK(!hs_producer_commit(producer));
	check_sums(producer, 2 + JOURNAL, 20 + 10 * JOURNAL, 0, 0);
}

/* What the journal has is no gap, whatever waits behind it. */
static void test_frees_before_what_waits(void)
{
	uint64_t gaps = hs_stats_get(sequence_gaps);

	producer = new_producer(NULL, 0);
	deliver(A);
	hs_producer_commit(producer);
	atomic_fetch_add(&hs_sequence.next, 1);
	release(A);
	deliver(A + 16);
	CHECK(hs_producer_commit(producer));
	hs_producer_skip_gap(producer, UINT64_MAX);
	CHECK_INT(hs_stats_get(sequence_gaps) - gaps, 1);
	CHECK(!hs_producer_commit(producer));
	check_sums(producer, 2, 20, 1, 10);
	release(A + 16);
	hs_producer_take_freed(producer);
}

/* A free that is not in the journal is counted too. */
static void test_a_moved_block_counts_as_freed(void)
{
	uint64_t frees = hs_heap_total(frees);

	producer = new_producer(NULL, 0);
	deliver(A);
	hs_producer_commit(producer);
	hs_live_set_end_move(hs_live_set_begin_move((void *)(uintptr_t)A));
	CHECK_INT(hs_producer_take_freed(producer), 1);
	CHECK_INT(hs_heap_total(frees) - frees, 1);
	check_sums(producer, 1, 10, 0, 0);
}

/* More than are committed at once: a caller that asks for all gets all. */
static void test_many_frees(void)
{
	enum { MANY = 12000 };
	uint64_t frees = hs_heap_total(frees);

	producer = new_producer(NULL, 0);
	for (uint64_t i = 0; i < MANY; i++) {
		deliver(A + 16 * i);
		hs_producer_commit(producer);
	}
	for (uint64_t i = 0; i < MANY; i++)
		release(A + 16 * i);
	CHECK(hs_producer_commit(producer));
	CHECK(hs_producer_has_taken_frees(producer));
	CHECK(hs_producer_next_number(producer) < 2 * MANY + 1);
	CHECK_INT(hs_heap_total(frees) - frees, hs_producer_next_number(producer) - MANY - 1);
	hs_producer_commit_before(producer, UINT64_MAX);
	CHECK_INT(hs_producer_next_number(producer), 2 * MANY + 1);
	CHECK_INT(hs_heap_total(frees) - frees, MANY);
	CHECK_INT(hs_producer_take_freed(producer), MANY);
	CHECK(!hs_producer_has_taken_frees(producer));
	CHECK_INT(hs_live_set_used(), 0);
	check_sums(producer, MANY, 10 * MANY, 0, 0);
}

/* After a double free the slot may be another sample's by now, or empty. */
static void test_entries_of_other_samples(void)
{
	uint32_t slot;

	producer = new_producer(NULL, 0);
	deliver(A);
	hs_producer_commit(producer);
	slot = hs_live_map_find(A) - 1;
	release(A);
	CHECK(hs_free_journal_put(atomic_fetch_add(&hs_sequence.next, 1), slot, A));
	CHECK_INT(hs_producer_take_freed(producer), 1);
	deliver(A + 16);
	CHECK_INT(hs_live_map_find(A + 16) - 1, slot);
	CHECK(hs_free_journal_put(atomic_fetch_add(&hs_sequence.next, 1), slot, A));
	hs_producer_take_freed(producer);
	CHECK(!hs_producer_commit(producer));
	check_sums(producer, 2, 20, 1, 10);
	release(A + 16);
	hs_producer_take_freed(producer);
	CHECK_INT(hs_live_set_used(), 0);
}

/* The slot may have become another heap's sample, whose key has the same bits. */
static void test_entry_of_another_heap(void)
{
	uint64_t id = 5, bits = hs_free_journal_bits(hs_live_key(HS_HEAP_FIRST_REPORTED, id));
	struct hs_taken_slot taken;

	CHECK(hs_live_set_take(&taken));
	CHECK(hs_live_set_insert_id(&taken, HS_HEAP_FIRST_REPORTED, id));
	CHECK(!hs_live_set_take_journaled(taken.slot, (uint32_t)bits));
	CHECK_INT(hs_live_set_free_id(HS_HEAP_FIRST_REPORTED, id), 1);
}

int main(void)
{
	set_up();
	hs_free_journal_maintain(1);
	RUN(test_one_place);
	RUN(test_late_ones_are_told);
	RUN(test_very_late_ones_are_told);
	RUN(test_those_far_ahead_wait);
	RUN(test_first);
	RUN(test_frees_wait_for_a_number);
	RUN(test_a_late_free_is_in_the_next_profile);
	RUN(test_a_late_free_is_found_a_lap_later);
	RUN(test_frees_before_what_waits);
	RUN(test_a_moved_block_counts_as_freed);
	RUN(test_many_frees);
	RUN(test_entries_of_other_samples);
	RUN(test_entry_of_another_heap);
	return CHECK_RESULT();
}
