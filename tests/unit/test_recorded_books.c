/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the sample path to the books: the program's calls are told to the recorder and to the
 * oracle, and the ring and the freed list are emptied now and then.  Some frees are missed, as of
 * memory that an allocator takes back by itself.
 */
#include "books_history.h"

#include "base/sys.h"
#include "sample/record.h"
#include "sample_testing.h"

enum { RING_BYTES = 1 << 20, BLOCKS = 10, SITES = 6, CALLS = 3000 };

static struct hs_ring ring;
static uint64_t state;
static bool misses_frees;

static void start(uint64_t interval)
{
	static void *memory;

	if (memory == NULL)
		memory = hs_sys_map(hs_ring_memory_bytes(RING_BYTES), 3);
	memset(memory, 0, hs_ring_memory_bytes(RING_BYTES));
	hs_ring_init(&ring, memory, RING_BYTES);
	hs_recorder.process_id = hs_sys_getpid();
	hs_recorder.ring = &ring;
	hs_recorder.stack_limit_bytes = 0;
	atomic_store(&hs_sampler_interval, interval);
	atomic_store(&hs_sampler_is_ready, true);
	hs_thread.has_drawn = false;
	hs_thread.bytes_until_sample = 0;
}

static void record(uint64_t address, uint64_t size)
{
	unsigned site = (unsigned)random_below(&state, SITES);
	struct hs_regs regs = {
		.pc = 0x1000 + site,
		.sp = (uintptr_t)__builtin_frame_address(0),
	};

	if (hs_sampler_passes(size) ||
	    !hs_record_allocation((void *)(uintptr_t)address, size, &regs))
		return;
	oracle_arrive(
		oracle_log(ORACLE_ALLOCATE, HS_HEAP_MALLOC, address, size, history_interval, site));
}

/* Told to the oracle too, where the free of what is not alive has no effect. */
static void release_block(uint64_t address)
{
	hs_record_free((void *)(uintptr_t)address);
	oracle_arrive(oracle_log(ORACLE_FREE, HS_HEAP_MALLOC, address, 0, 0, 0));
}

static void move_block(uint64_t address, uint64_t to, uint64_t size)
{
	uint32_t token = hs_record_move_begin((void *)(uintptr_t)address);
	bool fails = random_below(&state, 4) == 0;

	hs_record_move_end(token, !fails);
	if (fails)
		return;
	oracle_arrive(oracle_log(ORACLE_FREE, HS_HEAP_MALLOC, address, 0, 0, 0));
	record(to, size);
}

static void read_ring(void)
{
	struct hs_ring_item item;

	for (hs_ring_read(&ring, &item); item.state != HS_RING_EMPTY; hs_ring_read(&ring, &item)) {
		const struct hs_record *record = item.data;
		union test_record unwound = {.head = {
						     .sequence = item.sequence,
						     .size = record->size,
						     .interval_bytes = record->interval_bytes,
						     .address = record->address,
						     .epoch = record->epoch,
						     .kind = record->kind,
						     .heap = record->heap,
						     .frame_count = 2,
					     }};

		CHECK_INT(item.state, HS_RING_COMMITTED);
		unwound.head.slot = hs_record_cookie_slot(item.cookie);
		unwound.head.generation = hs_record_cookie_generation(item.cookie);
		unwound.head.frames[0] = (struct hs_frame){record->regs.pc, 0};
		unwound.head.frames[1] = (struct hs_frame){0x500, 0};
		take(producer, &unwound);
		ring_release(&ring);
	}
}

static void one_call(bool in_use[BLOCKS])
{
	uint64_t block = random_below(&state, BLOCKS), address = 0x100000 + 64 * block;

	if (!in_use[block] || (misses_frees && random_below(&state, 4) == 0)) {
		record(address, random_below(&state, 1000));
		in_use[block] = true;
	} else if (random_below(&state, 4) == 0) {
		move_block(address, address, random_below(&state, 1000));
	} else {
		release_block(address);
		in_use[block] = false;
		if (random_below(&state, 8) == 0)
			release_block(address); /* of what is not a sample any more */
	}
}

static void settle(void)
{
	read_ring();
	hs_producer_take_freed(producer);
	CHECK(!hs_producer_commit(producer));
}

static void run(uint64_t seed)
{
	bool in_use[BLOCKS] = {false};

	state = seed;
	for (int i = 0; i < CALLS; i++) {
		one_call(in_use);
		if (random_below(&state, 20) == 0)
			read_ring();
		if (random_below(&state, 20) == 0)
			hs_producer_take_freed(producer);
		if (random_below(&state, 20) == 0)
			hs_producer_commit(producer);
	}
	settle();
}

static void free_all(void)
{
	for (unsigned block = 0; block < BLOCKS; block++)
		release_block(0x100000 + 64 * block);
	settle();
	CHECK_INT(hs_producer_in_use_bytes(producer, HS_HEAP_MALLOC), 0);
	CHECK_INT(hs_live_set_used(), 0);
}

static void play_seeds(uint64_t interval, uint64_t first_seed)
{
	for (uint64_t seed = first_seed; seed < first_seed + 50; seed++) {
		history_begin(seed, interval);
		start(interval);
		run(seed);
		history_compare();
		free_all();
		history_compare();
		history_end();
	}
}

static void every_allocation(void)
{
	play_seeds(1, 100);
}

static void sampled(void)
{
	play_seeds(700, 200);
}

/* A new sample at an address shows that the one before it has been freed. */
static void frees_that_are_missed(void)
{
	uint64_t superseded = hs_stats_get(superseded);

	misses_frees = true;
	play_seeds(1, 300);
	play_seeds(700, 400);
	misses_frees = false;
	CHECK(hs_stats_get(superseded) > superseded);
}

/* Repeating a history needs no more memory than playing it once. */
static void memory_returns_to_its_floor(void)
{
	size_t floor_bytes = 0;

	history_begin(500, 1);
	start(1);
	for (int round = 0; round < 100; round++) {
		oracle_begin();
		run(500);
		free_all();
		if (round == 0)
			floor_bytes = hs_arena_used();
		CHECK_INT(hs_arena_used(), floor_bytes);
	}
	history_end();
}

int main(void)
{
	history_set_up();
	RUN(every_allocation);
	RUN(sampled);
	RUN(frees_that_are_missed);
	RUN(memory_returns_to_its_floor);
	CHECK_INT(hs_heap_total(lost_ring) + hs_heap_total(lost_live_set), 0);
	return CHECK_RESULT();
}
