/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long random histories, out of order, while memory is short now and then.  What is not in the
 * rows must be in the lost totals, to the byte, and nothing be in use after all is freed.
 */
#include "profile/snapshot.h"
#include "profile_testing.h"
#include "random_numbers.h"

enum { EVENTS = 6000, HELD = 600, SITES = 3000, SEEDS = 40 };

struct event {
	union test_record record;
	uint32_t slot; /* of a free that is not listed yet; else HS_SLOT_NONE */
};

static struct hs_producer *producer;
static struct hs_mapping_table *table;
static struct event held[HELD + 1];
static unsigned held_count;
static uint64_t live[EVENTS]; /* addresses */
static unsigned live_count;
static uint64_t state, objects, bytes;

static void squeeze(void)
{
	if (random_below(&state, 50) != 0)
		return;
	if (random_below(&state, 2) == 0)
		hs_arena_set_budget(hs_arena_used() + random_below(&state, 32) * 1024);
	else
		hs_arena_set_budget(256 * MIB);
}

static void deliver_one(void)
{
	unsigned pick = (unsigned)random_below(&state, held_count);

	squeeze();
	if (held[pick].slot == HS_SLOT_NONE) {
		take(producer, &held[pick].record);
	} else {
		hs_live_set_end_move(held[pick].slot);
		hs_producer_take_freed(producer);
	}
	hs_producer_commit(producer);
	held[pick] = held[--held_count];
	CHECK(hs_producer_in_use_bytes(producer, HS_HEAP_MALLOC) <= bytes);
}

static void send(const struct event *event)
{
	held[held_count++] = *event;
	while (held_count > HELD)
		deliver_one();
}

static void allocate_one(uint64_t address)
{
	uint64_t size = random_below(&state, 1000);
	struct event event = {
		.record = allocate(address, size, 1, random_below(&state, SITES)),
		.slot = HS_SLOT_NONE,
	};

	event.record.head.frames[1].address = 0x100000 + random_below(&state, SITES);
	event.record.head.tid = (uint32_t)random_below(&state, 3) + 1;
	live[live_count++] = address;
	objects++;
	bytes += size;
	send(&event);
}

static void free_one(void)
{
	unsigned pick = (unsigned)random_below(&state, live_count);
	struct event event = {
		.slot = hs_live_set_begin_move((void *)(uintptr_t)live[pick]),
	};

	CHECK(event.slot != HS_SLOT_NONE);
	live[pick] = live[--live_count];
	send(&event);
}

/* Makes a profile, which may fail if memory is short. */
static void make_profile(uint32_t peak_heap)
{
	static const struct hs_options options = {.symbolize = HS_SYMBOLIZE_NONE};
	struct hs_view view = {0};

	hs_snapshot_destroy(
		hs_snapshot_create(producer, &options, peak_heap, NULL, &view));
}

static void check_all_accounted_for(void)
{
	struct sums sums = sum_rows(producer);

	CHECK_INT((sums.objects + hs_heap_lost_weight(HS_HEAP_MALLOC)) >> HS_WEIGHT_SHIFT, objects);
	CHECK_INT((sums.bytes >> HS_WEIGHT_SHIFT) + hs_heaps[HS_HEAP_MALLOC].lost.bytes, bytes);
	CHECK(sums.inuse_objects >> HS_WEIGHT_SHIFT <= live_count);
	check_holders(producer);
}

static void settle(void)
{
	while (held_count > 0)
		deliver_one();
	hs_arena_set_budget(256 * MIB);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(hs_producer_next_number(producer), hs_sequence.next);
	check_all_accounted_for();
}

static void play(uint64_t seed)
{
	state = seed;
	objects = bytes = 0;
	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = table,
		.labels = HS_LABEL_SIZE | HS_LABEL_TID,
		.keeps_peak = true,
	});
	for (uint64_t i = 0; i < EVENTS; i++) {
		if (live_count == 0 || random_below(&state, 5) < 3)
			allocate_one(0x100000 + 16 * i);
		else
			free_one();
		if (random_below(&state, 500) == 0)
			make_profile(random_below(&state, 2) == 0 ? HS_HEAP_NONE : HS_HEAP_MALLOC);
	}
	settle();
	while (live_count > 0)
		free_one();
	settle();
	CHECK_INT(hs_producer_in_use_bytes(producer, HS_HEAP_MALLOC), 0);
	CHECK(sum_rows(producer).inuse_objects == 0 && sum_rows(producer).inuse_bytes == 0);
	CHECK_INT(hs_live_set_used(), 0);
}

static void what_finds_no_memory_is_counted(void)
{
	uint64_t lost = hs_heap_total(lost_memory), all = 0;

	for (uint64_t seed = 1; seed <= SEEDS && check_failures == 0; seed++) {
		play(seed);
		all += objects;
		if (check_failures != 0)
			fprintf(stderr, "with seed %llu\n", (unsigned long long)seed);
	}
	lost = hs_heap_total(lost_memory) - lost;
	printf("%llu of %llu samples lost\n", (unsigned long long)lost, (unsigned long long)all);
	CHECK(lost > 0 && lost < all);
}

/* Memory runs out in each part in turn. */
static void a_producer_that_finds_no_memory_leaves_none(void)
{
	const struct hs_producer_setup setup = {
		.mappings = table,
		.keeps_peak = true,
		.hidden = "nothing",
		.jit_sources = HS_JIT_SOURCE_PERF_MAP | HS_JIT_SOURCE_GDB,
		.jit_bytes = MIB,
		.hints = "@/nowhere",
	};
	size_t before = hs_arena_used(), tries = 0;

	do {
		CHECK_INT(hs_arena_used(), before);
		hs_arena_set_budget(before + ++tries * 1024);
		producer = hs_producer_create(&setup);
	} while (producer == NULL);
	CHECK(tries > 3);
	CHECK(producer->jit_frames != NULL && producer->hint_names != NULL);
	CHECK(hs_frame_filter_is_on(&producer->filter));
	hs_arena_set_budget(256 * MIB);
}

int main(void)
{
	set_up();
	table = hs_mapping_table_create();
	RUN(a_producer_that_finds_no_memory_leaves_none);
	RUN(what_finds_no_memory_is_counted);
	return CHECK_RESULT();
}
