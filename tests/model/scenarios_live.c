/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live set: no free is lost, delivered twice or taken for another sample's; no entry is left
 * behind; when an address is handed over, the numbers are in the order of its uses.
 */
#include <stdatomic.h>

#include "../unit/sample_testing.h"
#include "base/alone.h"
#include "base/arena.h"
#include "profiler_steps.h"
#include "sample/free_journal.h"
#include "sample/live_index.h"
#include "sample/live_map.h"
#include "sample/live_slots.h"
#include "sample/live_table.h"
#include "sample/sequence.h"

#define SLOTS 16u
#define NUMBERS_MOST 32u

#define BUCKETS 4u

/* All blocks are below this address. */
#define MAPPED_BYTES 8192u

/* Made-up blocks of the program, all in the first two buckets of a table of BUCKETS. */
static const void *block_a, *block_b, *crowd[2 * HS_BUCKET_LANES];

static unsigned delivered[NUMBERS_MOST];  /* how often each number came */
static _Atomic uint32_t handed, released; /* 1: the thread that waits for it may go on */
static unsigned frees;                    /* of samples, by the program's threads */
static unsigned allocations;              /* of samples */

/* The next block after a place that belongs into these two buckets.  Moves the place to it. */
static const void *next_block(uintptr_t *place)
{
	do
		*place += 16;
	while (hs_live_hash(*place) >> 63 != 0);
	return (const void *)*place;
}

static void setup(void)
{
	uint64_t table = hs_live_table_make(BUCKETS);
	uintptr_t place = 4096;

	block_a = next_block(&place);
	block_b = next_block(&place);
	for (unsigned i = 0; i < 2 * HS_BUCKET_LANES; i++)
		crowd[i] = next_block(&place);
	hs_live_filter = hs_live_table_filter(table);
	atomic_store(&hs_live_index, table);
	hs_live_slots.slots = hs_arena_reserve(SLOTS * sizeof(struct hs_live_slot));
	hs_live_slots.limit = SLOTS;
	atomic_store(&hs_live_slots.capacity, SLOTS);
}

/* With a map, whose first sheet covers the blocks. */
static void map_blocks(void)
{
	static _Atomic uint64_t region;

	MODEL_CHECK((uintptr_t)crowd[2 * HS_BUCKET_LANES - 1] < MAPPED_BYTES);
	region = (uintptr_t)block_a >> HS_MAP_REGION_SHIFT << 32 | 1;
	hs_live_map.regions = &region;
	hs_live_map.cells =
		hs_arena_reserve((MAPPED_BYTES >> HS_MAP_CELL_SHIFT) * sizeof(uint32_t));
}

static void setup_map(void)
{
	setup();
	map_blocks();
}

static void make_journal(uint64_t count)
{
	hs_free_journal = (struct hs_free_journal){
		.entries = hs_arena_reserve(count * sizeof *hs_free_journal.entries),
		.count = count,
		.lg = (unsigned)__builtin_ctzll(count),
	};
}

/* With a map and a journal. */
static void setup_journal_of(uint64_t count)
{
	setup_map();
	make_journal(count);
}

static void setup_journal(void)
{
	setup_journal_of(16);
}

static uint64_t tag_of(const void *block)
{
	return hs_live_table_tag(hs_live_hash((uintptr_t)block));
}

/* With a journal, without a map; the two blocks have the same tag. */
static void setup_indexed(void)
{
	uintptr_t place;

	setup();
	place = (uintptr_t)crowd[2 * HS_BUCKET_LANES - 1];
	do
		block_b = next_block(&place);
	while (tag_of(block_b) != tag_of(block_a));
	make_journal(16);
}

/* Whether two blocks share a byte of the filter but have different marks in it. */
static bool differ_by_mark(const void *a, const void *b)
{
	uint64_t a_hash = hs_live_hash((uintptr_t)a), b_hash = hs_live_hash((uintptr_t)b);

	return hs_live_filter_byte(hs_live_filter, (uintptr_t)a) ==
		       hs_live_filter_byte(hs_live_filter, (uintptr_t)b) &&
	       hs_live_filter_mark(a_hash) != hs_live_filter_mark(b_hash);
}

/* The two blocks share a byte of the filter. */
static void setup_one_byte(void)
{
	uintptr_t place;

	setup();
	place = (uintptr_t)crowd[2 * HS_BUCKET_LANES - 1];
	do
		block_b = next_block(&place);
	while (!differ_by_mark(block_a, block_b));
}

/* The program has one thread. */
static void be_alone(void)
{
	static const char flag = 1;

	hs_alone_begin(&flag);
}

static void setup_alone_journal(void)
{
	setup_journal_of(2);
	be_alone();
}

/* The journal has one place, for all numbers. */
static void setup_full_journal(void)
{
	setup_journal_of(1);
}

static void deliver(uint64_t number)
{
	MODEL_CHECK(number > 0 && number < atomic_load(&hs_sequence.next) && number < NUMBERS_MOST);
	delivered[number]++;
}

/* An allocation, as the recorder does it.  Returns its number; 0: there was no room. */
static uint64_t allocate(const void *block)
{
	struct hs_taken_slot taken;
	uint64_t number;

	if (!hs_live_set_take(&taken))
		return 0;
	if (!live_insert(taken, block)) {
		hs_live_set_cancel(taken);
		return 0;
	}
	number = atomic_fetch_add_explicit(&hs_sequence.next, 1, memory_order_acq_rel);
	delivered[number]++;
	allocations++;
	return number;
}

static unsigned release(const void *block)
{
	unsigned count = 0;

	/* With a map there is no filter. */
	if ((hs_live_map_is_used() || hs_live_set_may_hold(block)) &&
	    hs_live_index_may_hold((uintptr_t)block))
		count = live_free(block);
	frees += count;
	return count;
}

static void hand_over(_Atomic uint32_t *word)
{
	atomic_store_explicit(word, 1, memory_order_release);
}

/* Takes the frees in the journal.  A double free, a mistake of the program, frees nothing. */
static void take_journaled(void)
{
	struct hs_journaled journaled;

	for (uint64_t number = 1; number < atomic_load(&hs_sequence.next); number++) {
		/* If it is not there it comes later: the producer waits for each number. */
		if (hs_free_journal_first(number, number + 1) == 0 ||
		    !hs_free_journal_take(number, &journaled))
			continue;
		deliver(number);
		if (hs_live_set_take_journaled(journaled.slot, journaled.address_bits))
			MODEL_CHECK(hs_live_set_recycle(journaled.slot,
							hs_live_set_generation(journaled.slot)));
	}
	hs_live_set_give_back();
}

/* What the producer does with the frees. */
static void take_freed(void)
{
	take_freed_and(deliver);
	if (hs_free_journal_is_kept())
		take_journaled();
}

static void produce(void)
{
	take_freed();
	take_freed();
}

/* At the end nothing is live: no slot is in use, no entry is left, each number came once. */
static void finish_empty(void)
{
	uint64_t index = atomic_load(&hs_live_index);
	struct hs_live_bucket *buckets = hs_live_table_buckets(index);
	const uint8_t *filter = (const uint8_t *)hs_live_table_filter(index);

	take_freed();
	MODEL_CHECK(hs_live_set_used() == 0);
	for (uint64_t number = 1; number < atomic_load(&hs_sequence.next); number++)
		MODEL_CHECK(delivered[number] == 1);
	for (uint64_t bucket = 0; bucket < hs_live_table_count(index); bucket++) {
		MODEL_CHECK(atomic_load(&buckets[bucket].tags) == 0);
		for (unsigned lane = 0; lane < HS_BUCKET_LANES; lane++)
			MODEL_CHECK(atomic_load(&buckets[bucket].slots[lane]) == 0);
	}
	for (uint64_t i = 0; i < hs_live_table_count(index) * HS_LIVE_FILTER_PER_BUCKET; i++)
		MODEL_CHECK(filter[i] == 0);
	for (uint64_t block = 0; block < MAPPED_BYTES && hs_live_map_is_used(); block += 16)
		MODEL_CHECK(hs_live_map_find(block) == 0);
}

static void finish_all_freed(void)
{
	MODEL_CHECK(allocations > 0 && frees == allocations);
	finish_empty();
}

/* After a double free: both threads may have been told that they freed the sample. */
static void finish_freed_twice(void)
{
	MODEL_CHECK(frees >= allocations);
	finish_empty();
}

/* One thread allocates, another frees. */

static void allocate_a(void)
{
	MODEL_CHECK(allocate(block_a) != 0);
	hand_over(&handed);
}

static void free_a(void)
{
	model_await(&handed, 1);
	MODEL_CHECK(release(block_a) == 1);
}

/* Two threads free a block at once, a mistake of the program: only one of them finds the sample. */

static void setup_a(void)
{
	setup();
	allocate(block_a);
}

static void setup_map_a(void)
{
	setup_map();
	allocate(block_a);
	MODEL_CHECK(hs_live_map_find((uintptr_t)block_a) != 0);
}

static void setup_journal_a(void)
{
	setup_journal();
	allocate(block_a);
}

static void setup_indexed_a(void)
{
	setup_indexed();
	allocate(block_a);
}

/* The journal's place is taken by the free of another block. */
static void setup_full_journal_a(void)
{
	setup_full_journal();
	allocate(block_a);
	allocate(block_b);
	release(block_b);
}

static void free_a_perhaps(void)
{
	release(block_a);
}

/* A block is freed, and another thread gets its address and samples it again. */

static void free_a_and_release(void)
{
	MODEL_CHECK(release(block_a) == 1);
	hand_over(&released);
}

static void allocate_again(void)
{
	model_await(&released, 1);
	MODEL_CHECK(allocate(block_a) > 2);
	MODEL_CHECK(release(block_a) == 1);
}

/* Two threads allocate and free at the same time. */

static void allocate_and_free_a(void)
{
	MODEL_CHECK(allocate(block_a) != 0);
	MODEL_CHECK(release(block_a) == 1);
}

static void allocate_and_free_twice(void)
{
	allocate_and_free_a();
	allocate_and_free_a();
}

static void allocate_and_free_b(void)
{
	MODEL_CHECK(allocate(block_b) != 0);
	MODEL_CHECK(release(block_b) == 1);
}

/* realloc moves the block: another thread has the old address before the call returns. */

static void move_a(void)
{
	uint32_t slot = hs_live_set_begin_move(block_a);

	MODEL_CHECK(slot != HS_SLOT_NONE);
	hand_over(&released);
	hs_live_set_end_move(slot);
	frees++;
}

/* The other thread's block at the address is not sampled: its free must find no sample. */

static void free_unsampled(void)
{
	model_await(&released, 1);
	MODEL_CHECK(release(block_a) == 0);
}

/* realloc fails: the sample lives on, and the number that the call took means nothing. */

static void fail_to_move_a(void)
{
	uint32_t slot = hs_live_set_begin_move(block_a);

	MODEL_CHECK(slot != HS_SLOT_NONE);
	deliver(hs_live_set_cancel_move(slot));
	hand_over(&handed);
}

/* The index grows while threads allocate and free. */

static void setup_to_grow(void)
{
	setup();
	allocate(block_b);
}

static void setup_indexed_to_grow(void)
{
	setup_to_grow();
	make_journal(16);
}

static void setup_alone_to_grow(void)
{
	setup_indexed_to_grow();
	be_alone();
}

static void grow(void)
{
	MODEL_CHECK(hs_live_index_maintain(BUCKETS + 1) == 0);
}

static void allocate_a_only(void)
{
	MODEL_CHECK(allocate(block_a) != 0);
}

static void free_b(void)
{
	MODEL_CHECK(release(block_b) == 1);
}

static void allocate_a_and_free_b(void)
{
	allocate_a_only();
	free_b();
}

static void allocate_and_free_a_and_free_b(void)
{
	allocate_and_free_a();
	free_b();
}

static void finish_grown(void)
{
	MODEL_CHECK(hs_live_table_count(atomic_load(&hs_live_index)) == 2 * BUCKETS);
	MODEL_CHECK(release(block_a) == 1);
	MODEL_CHECK(release(block_a) == 0 && release(block_b) == 0);
	finish_all_freed();
}

static void finish_grown_empty(void)
{
	MODEL_CHECK(hs_live_table_count(atomic_load(&hs_live_index)) == 2 * BUCKETS);
	finish_all_freed();
}

/* The producer gives up a sample while the program's only thread uses the same bucket. */

static void setup_alone_given_up(void)
{
	setup_indexed();
	allocate(block_b);
	be_alone();
}

static void give_up_b(void)
{
	MODEL_CHECK(hs_live_set_give_up(0, hs_live_set_generation(0)));
	hs_live_set_give_back();
}

/* The lane of the sample that was given up may stay in use, or its key stay counted. */
static void finish_given_up(void)
{
	take_freed();
	MODEL_CHECK(hs_live_set_used() == 0);
	MODEL_CHECK(release(block_a) == 0 && release(block_b) == 0);
}

/* Both buckets are full; one entry is removed while one is added. */

static void setup_full(void)
{
	setup();
	for (unsigned i = 0; i < 2 * HS_BUCKET_LANES; i++)
		allocate(crowd[i]);
	MODEL_CHECK(allocations == 2 * HS_BUCKET_LANES);
}

static void allocate_a_perhaps(void)
{
	if (allocate(block_a) != 0)
		MODEL_CHECK(release(block_a) == 1);
}

static void free_first(void)
{
	MODEL_CHECK(release(crowd[0]) == 1);
}

static void finish_full(void)
{
	for (unsigned i = 1; i < 2 * HS_BUCKET_LANES; i++)
		MODEL_CHECK(release(crowd[i]) == 1);
	finish_all_freed();
}

static void setup_indexed_full(void)
{
	setup_full();
	make_journal(64);
}

/* There is one slot. */

static void setup_one_slot(void)
{
	setup();
	atomic_store(&hs_live_slots.capacity, 1);
}

static void allocate_b_perhaps(void)
{
	if (allocate(block_b) != 0)
		MODEL_CHECK(release(block_b) == 1);
}

/* A thread is killed at any step of a free, or slow, while the producer looks for stuck frees. */

static void sweep(void)
{
	hs_live_set_sweep_freed(atomic_load_explicit(&hs_sequence.next, memory_order_relaxed));
	take_freed();
}

static bool is_free_done; /* its thread was not killed before the end of the free */

static void free_a_once(void)
{
	release(block_a);
	is_free_done = true;
}

/*
 * A slot is lost when a thread dies between marking it as listed and putting it on the list.  This
 * is known, see ARCHITECTURE: nobody can list it for the thread, which may only be asleep.
 */
static unsigned slots_taken_along(void)
{
	unsigned count = 0;

	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		uint64_t state = atomic_load(&hs_live_slot(slot)->state);

		count += hs_slot_state(state) == HS_SLOT_FREED &&
			 atomic_load(&hs_live_slot(slot)->listed) == hs_slot_listed(state);
	}
	return count;
}

static void finish_swept(void)
{
	hs_live_set_sweep_freed(UINT64_MAX);
	take_freed();
	/* If it is not freed by now its thread was killed before the free. */
	release(block_a);
	take_freed();
	MODEL_CHECK(hs_live_set_used() == slots_taken_along());
	MODEL_CHECK(slots_taken_along() <= !is_free_done);
	for (uint64_t number = 1; number < atomic_load(&hs_sequence.next); number++)
		MODEL_CHECK(delivered[number] <= 1);
	MODEL_CHECK(release(block_a) == 0 && release(block_b) == 0);
}

/* A sample that is not freed by now stays in use for good, as its block does. */
static void finish_swept_or_in_use(void)
{
	sweep();
	release(block_a);
	take_freed();
	MODEL_CHECK(hs_live_set_used() <= !is_free_done);
	for (uint64_t number = 1; number < atomic_load(&hs_sequence.next); number++)
		MODEL_CHECK(delivered[number] <= 1);
	MODEL_CHECK(release(block_a) == 0 && release(block_b) == 0);
}

/* The slot of a swept sample is used again before the slow thread goes on with its free. */

static void sweep_and_allocate(void)
{
	sweep();
	if (allocate(block_b) != 0) {
		take_freed();
		MODEL_CHECK(release(block_b) == 1);
	}
	take_freed();
}

/* The sweep comes during the free, and then another thread gets the address. */

static void free_a_once_and_release(void)
{
	free_a_once();
	hand_over(&released);
}

static void allocate_once_released(void)
{
	model_await(&released, 1);
	MODEL_CHECK(allocate(block_a) != 0);
}

static void finish_reused(void)
{
	MODEL_CHECK(release(block_a) == 1);
	finish_swept();
}

#define SCENARIO(name_, setup_, finish_, quick_, full_, ...)                                       \
	{                                                                                          \
		.name = (name_), .setup = (setup_), .finish = (finish_), .quick_bound = (quick_),  \
		.full_bound = (full_), .threads = {                                                \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

const struct model_scenario model_live_scenarios[] = {
	SCENARIO("live-insert-and-free", setup, finish_all_freed, MODEL_COMPLETE, MODEL_COMPLETE,
		 {.run = allocate_a}, {.run = free_a}, {.run = produce}),
	SCENARIO("live-two-free", setup_a, finish_all_freed, 1, MODEL_COMPLETE,
		 {.run = free_a_perhaps}, {.run = free_a_perhaps}, {.run = produce}),
	SCENARIO("live-reuse-of-address", setup_a, finish_all_freed, 1, MODEL_COMPLETE,
		 {.run = free_a_and_release}, {.run = allocate_again}, {.run = produce}),
	SCENARIO("live-two-blocks", setup, finish_all_freed, 1, 2, {.run = allocate_and_free_a},
		 {.run = allocate_and_free_b}, {.run = take_freed}),
	SCENARIO("live-realloc-moves", setup_a, finish_all_freed, 1, MODEL_COMPLETE,
		 {.run = move_a}, {.run = allocate_again}, {.run = produce}),
	SCENARIO("live-realloc-fails", setup_a, finish_all_freed, 1, MODEL_COMPLETE,
		 {.run = fail_to_move_a}, {.run = free_a}, {.run = produce}),
	SCENARIO("live-one-byte", setup_one_byte, finish_all_freed, 1, 2,
		 {.run = allocate_and_free_a}, {.run = allocate_and_free_b}),
	SCENARIO("live-grow-and-insert", setup_to_grow, finish_grown, 1, MODEL_COMPLETE,
		 {.run = allocate_a_only}, {.run = free_b}, {.run = grow}),
	SCENARIO("live-grow-and-free", setup_to_grow, finish_grown_empty, 1, 2,
		 {.run = allocate_and_free_a}, {.run = free_b}, {.run = grow}),
	SCENARIO("live-full-table", setup_full, finish_full, MODEL_COMPLETE, MODEL_COMPLETE,
		 {.run = allocate_a_perhaps}, {.run = free_first}),
	SCENARIO("live-full-table-grows", setup_full, finish_full, 0, 1,
		 {.run = allocate_a_perhaps}, {.run = free_first}, {.run = grow}),
	SCENARIO("live-one-slot", setup_one_slot, finish_empty, 1, MODEL_COMPLETE,
		 {.run = allocate_a_perhaps}, {.run = allocate_b_perhaps}, {.run = produce}),
	SCENARIO("live-dead-free", setup_a, finish_swept, MODEL_COMPLETE, MODEL_COMPLETE,
		 {.run = free_a_once, .flags = MODEL_MAY_DIE}, {.run = sweep}),
	SCENARIO("live-slow-free", setup_a, finish_swept, 1, MODEL_COMPLETE,
		 {.run = free_a_once, .flags = MODEL_MAY_DIE}, {.run = sweep_and_allocate}),
	SCENARIO("map-insert-and-free", setup_map, finish_all_freed, MODEL_COMPLETE, MODEL_COMPLETE,
		 {.run = allocate_a}, {.run = free_a}, {.run = produce}),
	SCENARIO("map-two-free", setup_map_a, finish_all_freed, 1, MODEL_COMPLETE,
		 {.run = free_a_perhaps}, {.run = free_a_perhaps}, {.run = produce}),
	SCENARIO("map-reuse-of-address", setup_map_a, finish_all_freed, 1, MODEL_COMPLETE,
		 {.run = free_a_and_release}, {.run = allocate_again}, {.run = produce}),
	SCENARIO("map-realloc-moves", setup_map_a, finish_all_freed, 1, MODEL_COMPLETE,
		 {.run = move_a}, {.run = allocate_again}, {.run = produce}),
	SCENARIO("map-realloc-fails", setup_map_a, finish_all_freed, 1, MODEL_COMPLETE,
		 {.run = fail_to_move_a}, {.run = free_a}, {.run = produce}),
	SCENARIO("map-dead-free", setup_map_a, finish_swept, MODEL_COMPLETE, MODEL_COMPLETE,
		 {.run = free_a_once, .flags = MODEL_MAY_DIE}, {.run = sweep}),
	SCENARIO("map-slow-free", setup_map_a, finish_swept, 1, MODEL_COMPLETE,
		 {.run = free_a_once, .flags = MODEL_MAY_DIE}, {.run = sweep_and_allocate}),
	SCENARIO("map-sweep-and-reuse", setup_map_a, finish_reused, 1, MODEL_COMPLETE,
		 {.run = free_a_once_and_release}, {.run = allocate_once_released}, {.run = sweep}),
	SCENARIO("journal-insert-and-free", setup_journal, finish_all_freed, 1, MODEL_COMPLETE,
		 {.run = allocate_a}, {.run = free_a}, {.run = produce}),
	SCENARIO("journal-alone", setup_alone_journal, finish_all_freed, 1, 3,
		 {.run = allocate_and_free_twice}, {.run = produce}),
	SCENARIO("journal-two-free", setup_journal_a, finish_freed_twice, 1, MODEL_COMPLETE,
		 {.run = free_a_perhaps}, {.run = free_a_perhaps}, {.run = produce}),
	SCENARIO("journal-reuse-of-address", setup_journal_a, finish_all_freed, 1, 3,
		 {.run = free_a_and_release}, {.run = allocate_again}, {.run = produce}),
	SCENARIO("journal-realloc-moves", setup_journal_a, finish_all_freed, 1, 3, {.run = move_a},
		 {.run = allocate_again}, {.run = produce}),
	SCENARIO("journal-realloc-and-unsampled", setup_journal_a, finish_all_freed, 1,
		 MODEL_COMPLETE, {.run = move_a}, {.run = free_unsampled}, {.run = produce}),
	SCENARIO("journal-realloc-fails", setup_journal_a, finish_all_freed, 1, MODEL_COMPLETE,
		 {.run = fail_to_move_a}, {.run = free_a}, {.run = produce}),
	SCENARIO("journal-full", setup_full_journal, finish_all_freed, 1, 2,
		 {.run = allocate_and_free_a}, {.run = allocate_and_free_b}, {.run = take_freed}),
	SCENARIO("journal-full-dead-free", setup_full_journal_a, finish_swept, MODEL_COMPLETE,
		 MODEL_COMPLETE, {.run = free_a_once, .flags = MODEL_MAY_DIE}, {.run = sweep}),
	SCENARIO("journal-full-slow-free", setup_full_journal_a, finish_swept, 1, 2,
		 {.run = free_a_once, .flags = MODEL_MAY_DIE}, {.run = sweep_and_allocate}),
	SCENARIO("journal-dead-free", setup_journal_a, finish_swept, MODEL_COMPLETE, MODEL_COMPLETE,
		 {.run = free_a_once, .flags = MODEL_MAY_DIE}, {.run = sweep}),
	SCENARIO("journal-slow-free", setup_journal_a, finish_swept, 1, MODEL_COMPLETE,
		 {.run = free_a_once, .flags = MODEL_MAY_DIE}, {.run = sweep_and_allocate}),
	SCENARIO("indexed-insert-and-free", setup_indexed, finish_all_freed, 1, MODEL_COMPLETE,
		 {.run = allocate_a}, {.run = free_a}, {.run = produce}),
	SCENARIO("indexed-two-free", setup_indexed_a, finish_freed_twice, 1, MODEL_COMPLETE,
		 {.run = free_a_perhaps}, {.run = free_a_perhaps}, {.run = produce}),
	SCENARIO("indexed-reuse-of-address", setup_indexed_a, finish_all_freed, 1, 3,
		 {.run = free_a_and_release}, {.run = allocate_again}, {.run = produce}),
	SCENARIO("indexed-realloc-moves", setup_indexed_a, finish_all_freed, 1, 3, {.run = move_a},
		 {.run = allocate_again}, {.run = produce}),
	SCENARIO("indexed-realloc-and-unsampled", setup_indexed_a, finish_all_freed, 1,
		 MODEL_COMPLETE, {.run = move_a}, {.run = free_unsampled}, {.run = produce}),
	SCENARIO("indexed-grow-and-insert", setup_indexed_to_grow, finish_grown, 1, 2,
		 {.run = allocate_a_only}, {.run = free_b}, {.run = grow}),
	SCENARIO("indexed-grow-and-free", setup_indexed_to_grow, finish_grown_empty, 1, 2,
		 {.run = allocate_and_free_a}, {.run = free_b}, {.run = grow}),
	SCENARIO("alone-grow-and-insert", setup_alone_to_grow, finish_grown, 1, 3,
		 {.run = allocate_a_and_free_b}, {.run = grow}),
	SCENARIO("alone-grow-and-free", setup_alone_to_grow, finish_grown_empty, 1, 3,
		 {.run = allocate_and_free_a_and_free_b}, {.run = grow}),
	SCENARIO("alone-given-up", setup_alone_given_up, finish_given_up, 2, MODEL_COMPLETE,
		 {.run = allocate_and_free_a}, {.run = give_up_b}),
	SCENARIO("indexed-full-table", setup_indexed_full, finish_full, 1, MODEL_COMPLETE,
		 {.run = allocate_a_perhaps}, {.run = free_first}),
	SCENARIO("indexed-dead-free", setup_indexed_a, finish_swept_or_in_use, MODEL_COMPLETE,
		 MODEL_COMPLETE, {.run = free_a_once, .flags = MODEL_MAY_DIE}, {.run = sweep}),
	SCENARIO("indexed-slow-free", setup_indexed_a, finish_swept_or_in_use, 1, MODEL_COMPLETE,
		 {.run = free_a_once, .flags = MODEL_MAY_DIE}, {.run = sweep_and_allocate}),
	{.name = NULL},
};
