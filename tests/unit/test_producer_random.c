/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The books against a model of their own: long random histories that arrive out of order
 * and with holes.  The model sums per call site when the event happens, in plain numbers.
 */
#include "profile_testing.h"

enum { EVENTS = 10000, SITES = 5, BLOCKS = 64, WINDOW = 40 };

struct live {
	bool used;
	uint64_t size;
	uint64_t site;
};

struct model {
	double objects[SITES], bytes[SITES], inuse_objects[SITES], inuse_bytes[SITES];
	struct live blocks[BLOCKS];
};

static struct hs_producer *producer;
static struct model model;
static union test_record held[WINDOW];
static unsigned held_count;
static uint64_t state;

static uint64_t next_random(uint64_t limit)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % limit;
}

/* 1 / p by floating point, apart from the sampler's own integers. */
static double weight_of(uint64_t size, uint64_t interval)
{
	double missed = 1;

	for (uint64_t i = 0; i < (size > 0 ? size : 1); i++)
		missed *= 1 - 1 / (double)interval;
	return 1 / (1 - missed);
}

static void model_allocate(struct live *block, uint64_t interval)
{
	double weight = weight_of(block->size, interval);

	model.objects[block->site] += weight;
	model.bytes[block->site] += weight * (double)block->size;
	model.inuse_objects[block->site] += weight;
	model.inuse_bytes[block->site] += weight * (double)block->size;
}

static void model_free(struct live *block, uint64_t interval)
{
	double weight = weight_of(block->size, interval);

	model.inuse_objects[block->site] -= weight;
	model.inuse_bytes[block->site] -= weight * (double)block->size;
	block->used = false;
}

/* Hand one of the records held over, or with lossy the producer may give up a gap first. */
static void deliver_one(bool lossy)
{
	unsigned pick = (unsigned)next_random(held_count);

	if (lossy && next_random(4) == 0)
		hs_producer_skip_gap(producer);
	take(producer, &held[pick]);
	held[pick] = held[--held_count];
}

static void step(uint64_t interval, bool lossy)
{
	uint64_t number = next_random(BLOCKS), address = 0x100000 + 32 * number;
	struct live *block = &model.blocks[number];

	if (block->used) {
		release(address);
		model_free(block, interval);
	} else {
		*block = (struct live){true, next_random(3) == 0 ? 0 : next_random(2000),
				       next_random(SITES)};
		held[held_count++] = allocate(address, block->size, interval, block->site);
		model_allocate(block, interval);
	}
	while (held_count > 0 && (held_count == WINDOW || next_random(2) == 0))
		deliver_one(lossy);
	if (next_random(8) == 0)
		hs_producer_take_freed(producer);
	if (next_random(8) == 0)
		hs_producer_commit(producer);
}

static bool is_near(unsigned __int128 weight, double want, double relative)
{
	double got = (double)weight / (double)HS_WEIGHT_ONE, difference = got - want;

	return (difference < 0 ? -difference : difference) <= relative * want + 1e-3;
}

static void compare(double relative)
{
	uint32_t rows = hs_heap_tracker_row_count(&producer->tracker);

	CHECK_INT(rows, SITES);
	for (uint32_t i = 0; i < rows; i++) {
		const struct hs_row *row = hs_heap_tracker_row(&producer->tracker, i);
		uint32_t leaf = hs_callsite_trie_get(&producer->trie, row->key.callsite)->location;
		uint64_t site = hs_location_table_get(&producer->locations, leaf)->address - 0x1000;

		CHECK(is_near(row->totals.allocated.objects, model.objects[site], relative));
		CHECK(is_near(row->totals.allocated.bytes, model.bytes[site], relative));
		CHECK(is_near(row->totals.allocated.objects - row->totals.freed.objects,
			      model.inuse_objects[site], relative));
		CHECK(is_near(row->totals.allocated.bytes - row->totals.freed.bytes,
			      model.inuse_bytes[site], relative));
	}
}

static void settle(void)
{
	while (held_count > 0)
		deliver_one(false);
	hs_producer_take_freed(producer);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(hs_producer_next_number(producer), hs_sequence);
}

static void play(uint64_t seed, uint64_t interval, bool lossy)
{
	double relative = interval == 1 ? 0 : 1e-4;

	state = seed;
	model = (struct model){0};
	producer = new_producer(0);
	for (int i = 0; i < EVENTS; i++)
		step(interval, lossy);
	settle();
	compare(relative);
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (!model.blocks[i].used)
			continue;
		release(0x100000 + 32 * i);
		model_free(&model.blocks[i], interval);
	}
	settle();
	CHECK_INT(hs_live_set_used(), 0);
	for (uint32_t i = 0; i < hs_heap_tracker_row_count(&producer->tracker); i++) {
		const struct hs_row *row = hs_heap_tracker_row(&producer->tracker, i);

		CHECK(row->totals.allocated.objects == row->totals.freed.objects);
		CHECK(row->totals.allocated.bytes == row->totals.freed.bytes);
	}
}

static void every_allocation(void)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		play(seed, 1, false);
	CHECK_INT(hs_stats_get(sequence_gaps), 0);
}

static void weighted(void)
{
	for (uint64_t seed = 5; seed <= 6; seed++)
		play(seed, 512, false);
	CHECK_INT(hs_stats_get(sequence_gaps), 0);
}

static void with_gaps_that_arrive_late(void)
{
	for (uint64_t seed = 7; seed <= 10; seed++)
		play(seed, seed % 2 != 0 ? 1 : 512, true);
	CHECK(hs_stats_get(sequence_gaps) > 0);
}

int main(void)
{
	set_up();
	RUN(every_allocation);
	RUN(weighted);
	RUN(with_gaps_that_arrive_late);
	CHECK_INT(hs_stats_get(lost_memory), 0);
	return CHECK_RESULT();
}
