/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long random histories over few addresses, in random orders of arrival, compared with the oracle.
 * Some events come twice, too late or never.
 */
#include "books_history.h"

enum { EVENTS = 3000, SITES = 6, REMEMBERED = 16 };

/* How a history arrives. */
struct arrival {
	uint64_t interval;
	unsigned held_most; /* events under way at a time */
	/*
	 * Addresses used.  With too few the index of the live set would have no room for all
	 * slots of one address whose frees are under way.
	 */
	unsigned blocks;
	bool lossy; /* numbers are given up early, and some never come */
	unsigned first_seed, orders;
};

enum { ORDERS_PER_HISTORY = 8 };

static const struct arrival *arrival;
static uint64_t held[EVENTS + 2], late[EVENTS + 2], delivered[REMEMBERED];
static unsigned held_count, late_count, delivered_count;
static uint64_t happening, arriving; /* random states, so that a history is the same in any order */

static uint64_t address_of(uint64_t block)
{
	return 0x100000 + 32 * block;
}

static uint64_t random_size(void)
{
	switch (random_below(&happening, 16)) {
	case 0:
		return random_below(&happening, UINT32_MAX) << 12;
	case 1:
		return 0;
	default:
		return random_below(&happening, 2000);
	}
}

/* With an interval that may rise and fall. */
static void allocate_at(uint64_t address)
{
	uint64_t size = random_size();

	if (arrival->interval != 1)
		history_interval = arrival->interval << random_below(&happening, 4);
	history_allocate(address, size, (unsigned)random_below(&happening, SITES));
}

/* At an address that the program never gets, so it is not used again. */
static void abandon_one(void)
{
	uint64_t address = address_of(arrival->blocks + oracle.logged);

	history_abandon(address);
	if (random_below(&happening, 2) == 0)
		history_free(address);
}

/* In a heap of the program's own, at the addresses of malloc's. */
static void happen_in_pool(uint64_t address)
{
	history_heap = HS_HEAP_FIRST_REPORTED + (uint32_t)random_below(&happening, 2);
	if (oracle_alive_at(history_heap, address) != 0)
		history_free(address);
	else if (history_is_settled(address))
		allocate_at(address);
	history_heap = HS_HEAP_MALLOC;
}

static void happen_once(void)
{
	uint64_t address = address_of(random_below(&happening, arrival->blocks));
	uint64_t choice = random_below(&happening, 100);

	if (choice < 5) {
		abandon_one();
	} else if (choice < 8) {
		history_come_too_late(address_of(arrival->blocks + oracle.logged));
	} else if (choice < 10 && arrival->lossy) {
		history_die_in_free(address_of(arrival->blocks + oracle.logged));
	} else if (choice < 30) {
		happen_in_pool(address);
	} else if (oracle_alive_at(HS_HEAP_MALLOC, address) == 0) {
		CHECK(choice >= 40 || !history_free(address)); /* not sampled */
		allocate_at(address);
	} else if (choice < 40) {
		history_fail_to_move(address);
	} else {
		history_free(address);
		if (choice < 55)
			allocate_at(address);
	}
}

static void deliver_one(void)
{
	unsigned pick = (unsigned)random_below(&arriving, held_count);

	history_deliver(held[pick]);
	delivered[delivered_count++ % REMEMBERED] = held[pick];
	held[pick] = held[--held_count];
	if (random_below(&arriving, 16) == 0 && delivered_count >= REMEMBERED)
		history_repeat(delivered[random_below(&arriving, REMEMBERED)]);
	if (arrival->lossy && random_below(&arriving, 16) == 0)
		history_give_up();
}

/* Records come while a profile is made. */
static void pause_profile(void)
{
	for (int i = 0; i < 3 && held_count > 0; i++)
		deliver_one();
}

/* Delivers all but so many, and makes a profile now and then. */
static void deliver_all_but(unsigned count)
{
	while (held_count > count) {
		deliver_one();
		if (random_below(&arriving, 1000) == 0)
			history_compare();
	}
}

static void send(uint64_t number)
{
	if (history[number].is_stuck)
		return;
	if (arrival->lossy && random_below(&arriving, 50) == 0)
		late[late_count++] = number;
	else
		held[held_count++] = number;
	deliver_all_but(arrival->held_most);
}

/* Delivers the numbers that had not come, after all others are in the books. */
static void deliver_late(void)
{
	while (oracle_first_waiting() != 0)
		history_give_up();
	history_compare();
	while (late_count > 0)
		history_deliver(late[--late_count]);
}

static void play_events(unsigned seed, uint64_t events)
{
	uint64_t sent = oracle.logged, end = sent + events;

	happening = seed / ORDERS_PER_HISTORY;
	arriving = seed;
	held_count = late_count = delivered_count = 0;
	while (oracle.logged < end) {
		happen_once();
		while (sent < oracle.logged)
			send(++sent);
	}
	deliver_all_but(0);
	deliver_late();
	history_compare();
	history_free_all();
	history_compare();
}

static void play(unsigned seed)
{
	history_begin(seed, arrival->interval);
	play_events(seed, EVENTS);
	history_end();
}

static void play_all(const struct arrival *how)
{
	int failures = check_failures;

	arrival = how;
	for (unsigned i = 0; i < how->orders && check_failures == failures; i++)
		play(how->first_seed + i);
}

static void far_out_of_order(void)
{
	play_all(&(struct arrival){1, EVENTS + 2, 500, false, 1000, 120});
	play_all(&(struct arrival){512, EVENTS + 2, 500, false, 2000, 40});
}

/* Slots are used again while older events are still under way. */
static void somewhat_out_of_order(void)
{
	play_all(&(struct arrival){1, 40, 10, false, 3000, 120});
	play_all(&(struct arrival){512, 300, 80, false, 4000, 40});
}

static void with_numbers_that_are_given_up(void)
{
	uint64_t gaps = hs_stats_get(sequence_gaps);

	play_all(&(struct arrival){1, 40, 20, true, 5000, 120});
	play_all(&(struct arrival){512, 300, 100, true, 6000, 120});
	CHECK(hs_stats_get(sequence_gaps) > gaps);
}

/* Repeating a history needs no more memory than playing it once. */
static void memory_returns_to_its_floor(void)
{
	static const struct arrival hows[] = {
		{512, EVENTS, 80, false, 7000, 1},
		{1, 40, 20, true, 7001, 1},
	};

	for (size_t i = 0; i < COUNT(hows); i++) {
		size_t floor_bytes = 0;

		arrival = &hows[i];
		history_begin(arrival->first_seed, arrival->interval);
		for (int round = 0; round < 100; round++) {
			play_events(arrival->first_seed, 300);
			CHECK_INT(hs_live_set_maintain(64), 0);
			if (round == 0)
				floor_bytes = hs_arena_used();
			CHECK_INT(hs_arena_used(), floor_bytes);
		}
		history_end();
	}
}

int main(void)
{
	history_set_up();
	history_pause = pause_profile;
	RUN(far_out_of_order);
	RUN(somewhat_out_of_order);
	RUN(with_numbers_that_are_given_up);
	RUN(memory_returns_to_its_floor);
	CHECK_INT(hs_heap_total(lost_memory), 0);
	return CHECK_RESULT();
}
