/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Four threads allocate, free and move made-up addresses, which they hand to each other,
 * while a producer recycles slots and grows the tables.  At the end no slot is in use, each free
 * was delivered once, and the numbers have no gap.  MAP_SHEETS: with a map of so many sheets, which
 * are all taken.  JOURNAL: with a journal of so many entries, so few that it is full now and then.
 */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "../unit/check.h"
#include "../unit/random_numbers.h"
#include "../unit/sample_testing.h"
#include "base/arena.h"
#include "base/sys.h"
#include "sample/free_journal.h"
#include "sample/live_map.h"
#include "sample/live_set.h"
#include "sample/sequence.h"

#define THREADS 4
#define ROUNDS 60000u
#define PLACES 20000u
#define APART 64u /* bytes: the addresses of a thread are in several regions of a map */
#define NUMBERS (THREADS * (ROUNDS + PLACES) * 4u)

static _Atomic uint64_t allocated, tombstones;

/* Addresses handed over; 0: none.  An address is in one place at a time. */
static _Atomic uint64_t places[PLACES];
static _Atomic uint8_t delivered[NUMBERS];
static _Atomic bool stop;

static void deliver(uint64_t number)
{
	CHECK(number > 0 && number < NUMBERS);
	if (number < NUMBERS)
		CHECK_INT(atomic_fetch_add(&delivered[number], 1), 0);
}

static bool allocate(uint64_t address)
{
	struct hs_taken_slot taken;

	if (!hs_live_set_take(&taken))
		return false;
	if (!live_insert(taken, (void *)(uintptr_t)address)) {
		hs_live_set_cancel(taken);
		return false;
	}
	CHECK(hs_live_set_may_hold((void *)(uintptr_t)address));
	atomic_fetch_add(&allocated, 1);
	return true;
}

static void release(uint64_t address)
{
	CHECK(hs_live_set_may_hold((void *)(uintptr_t)address));
	CHECK(live_free((void *)(uintptr_t)address));
}

/*
 * Once in the test, a thread that has taken a number pauses so long that the others get ahead by
 * hundreds of laps of the journal.
 */
static void be_away_once(void)
{
	static _Atomic unsigned calls;

	if (atomic_fetch_add(&calls, 1) == 3000)
		usleep(300000);
}

/* A realloc that fails, or that keeps the address.  False: the new sample found no room. */
static bool move(uint64_t address, bool fails)
{
	uint32_t slot = hs_live_set_begin_move((void *)(uintptr_t)address);
	bool kept = true;

	CHECK(slot != HS_SLOT_NONE);
	if (slot == HS_SLOT_NONE)
		return false;
	if (fails) {
		deliver(hs_live_set_cancel_move(slot));
		atomic_fetch_add(&tombstones, 1);
		return true;
	}
	be_away_once();
	kept = allocate(address);
	hs_live_set_end_move(slot);
	return kept;
}

static void *churn(void *argument)
{
	uint64_t id = (uint64_t)(uintptr_t)argument, random = id + 1;

	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t address = ((id << 32 | round) + 1) * APART;
		uint64_t place = random_next(&random) % PLACES, other;

		if (!allocate(address)) {
			sched_yield(); /* the producer is behind */
			continue;
		}
		other = atomic_exchange(&places[place], address);
		if (other == 0)
			continue;
		if (random_next(&random) % 4 != 0 || move(other, random_next(&random) % 2))
			release(other);
	}
	return NULL;
}

#ifdef MAP_SHEETS
static unsigned regions_with_sheets(void)
{
	unsigned count = 0;

	for (uint32_t i = 0; i <= hs_live_map.mask; i++) {
		uint32_t sheet = (uint32_t)atomic_load(&hs_live_map.regions[i]);

		count += sheet > 0 && sheet <= MAP_SHEETS;
	}
	return count;
}
#endif

static uint64_t freed;

static void recycle_slot(uint32_t slot)
{
	CHECK(hs_live_set_recycle(slot, hs_live_set_generation(slot)));
	freed++;
}

/* In the order of the numbers, up to the first that is missing. */
static void recycle_journaled(void)
{
	static uint64_t next = 1;
	struct hs_journaled journaled;

	for (; next < atomic_load(&hs_sequence.next); next++) {
		if (hs_free_journal_take(next, &journaled)) {
			deliver(next);
			CHECK(!journaled.is_late);
			CHECK(hs_live_set_take_journaled(journaled.slot, journaled.address_bits));
			recycle_slot(journaled.slot);
		} else if (atomic_load(&delivered[next]) == 0) {
			break;
		}
	}
}

static void recycle_freed(void)
{
	struct hs_freed_slots slots;
	uint32_t slot;

	hs_live_set_take_freed(&slots);
	while ((slot = hs_live_set_next_freed(&slots)) != HS_SLOT_NONE) {
		deliver(hs_live_set_free_sequence(slot));
		recycle_slot(slot);
	}
	if (hs_free_journal_is_kept())
		recycle_journaled();
	hs_live_set_give_back();
}

static void *produce(void *unused)
{
	while (!atomic_load(&stop)) {
		recycle_freed();
		CHECK_INT(hs_live_set_maintain(1000), 0);
	}
	return unused;
}

static void test_every_free_is_delivered_once(void)
{
	pthread_t threads[THREADS], producer;
	uint64_t missing = 0;

	CHECK_INT(hs_arena_init((size_t)256 << 20), 0);
#ifdef MAP_SHEETS
	CHECK_INT(hs_live_map_init(MAP_SHEETS * HS_MAP_SHEET_CELLS * sizeof(uint32_t)), 0);
#endif
#ifdef JOURNAL
	CHECK_INT(hs_free_journal_init(JOURNAL), 0);
#endif
	CHECK_INT(live_init(100000, 100), 0);
	CHECK_INT(pthread_create(&producer, NULL, produce, NULL), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < PLACES; i++) {
		if (places[i] != 0)
			release(places[i]);
	}
	atomic_store(&stop, true);
	pthread_join(producer, NULL);
	recycle_freed();

#ifdef MAP_SHEETS
	CHECK_INT(regions_with_sheets(), MAP_SHEETS);
#endif
	CHECK_INT(hs_live_set_used(), 0);
	CHECK_INT(freed, atomic_load(&allocated));
	for (uint64_t number = 1; number < atomic_load(&hs_sequence.next); number++)
		missing += atomic_load(&delivered[number]) != 1;
	CHECK_INT(missing, 0);
	CHECK_INT(atomic_load(&hs_sequence.next) - 1, freed + atomic_load(&tombstones));
	CHECK(freed > THREADS * ROUNDS / 8);
	printf("%llu frees, %llu tombstones\n", (unsigned long long)freed,
	       (unsigned long long)atomic_load(&tombstones));
}

int main(void)
{
	RUN(test_every_free_is_delivered_once);
	return CHECK_RESULT();
}
