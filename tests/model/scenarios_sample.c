/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The whole sample path: a thread leaves it at any step, by a jump out of a signal handler or by
 * its death.  What it had begun is closed, and blocks nothing.
 */
#include <stdatomic.h>

#include "../unit/sample_testing.h"
#include "base/arena.h"
#include "base/options.h"
#include "profiler_steps.h"
#include "sample/heap.h"
#include "sample/live_index.h"
#include "sample/live_slots.h"
#include "sample/live_table.h"
#include "sample/record.h"
#include "sample/recorder.h"
#include "sample/sampler.h"

#define RING_BYTES 1024u
#define SLOTS 4u
#define NUMBERS_MOST 8u

static _Alignas(64) unsigned char memory[2 * RING_BYTES];
static struct hs_ring ring;
static unsigned delivered[NUMBERS_MOST];
static unsigned cookies; /* records with a cookie that were read, abandoned ones too */
static bool is_b_there, is_b_freed, is_b_read;

#define BLOCK_A ((const void *)4096)
#define BLOCK_B ((const void *)8192)

static void setup(void)
{
	uint64_t table = hs_live_table_make(4);

	hs_live_filter = hs_live_table_filter(table);
	atomic_store(&hs_live_index, table);
	hs_live_slots.slots = hs_arena_reserve(SLOTS * sizeof(struct hs_live_slot));
	hs_live_slots.limit = SLOTS;
	atomic_store(&hs_live_slots.capacity, SLOTS);
	hs_ring_init(&ring, memory, RING_BYTES);
	hs_recorder.ring = &ring;
	hs_recorder.stream = true;
	hs_options.interval_bytes = 1;
	hs_heaps[HS_HEAP_MALLOC].asked_bytes = 1;
	atomic_store(&hs_sampler_interval, 1);
	atomic_store(&hs_sampler_is_ready, true);
	atomic_store(&hs_epoch, 1);
	model_ignore(&hs_stats, sizeof hs_stats);
	model_ignore(hs_heaps, sizeof hs_heaps);
	model_ignore(&ring.used_units_max, sizeof ring.used_units_max);
}

static bool allocate(const void *block, uintptr_t sp)
{
	const struct hs_regs regs = {.sp = sp};

	hs_thread.kind = HS_THREAD_PROGRAM;
	hs_thread.stack_high = UINTPTR_MAX;
	return hs_record_allocation(block, 8, &regs);
}

static void allocate_a(void)
{
	allocate(BLOCK_A, 1);
}

static void allocate_b(void)
{
	is_b_there = allocate(BLOCK_B, UINTPTR_MAX - 1);
	MODEL_CHECK(is_b_there && hs_thread.reservation == 0 && hs_thread.guard_sp == 0);
	hs_record_free(BLOCK_A);
	hs_record_free(BLOCK_B);
	is_b_freed = true;
	hs_ring_wake_reader(&ring); /* as a thread that waits for the reader */
}

/* The thread goes on after its jump, further up its stack. */
static void jump_out(void)
{
	model_take_over(0);
	allocate_b();
}

static void deliver(uint64_t number)
{
	if (number == 0 || number >= hs_sequence.next)
		return;
	MODEL_CHECK(number < NUMBERS_MOST && delivered[number]++ == 0);
}

/* As the producer does with a record that is abandoned. */
static void give_up(uint64_t cookie)
{
	uint32_t slot = hs_record_cookie_slot(cookie);

	if (slot < SLOTS)
		hs_live_set_give_up(slot, hs_record_cookie_generation(cookie));
	hs_live_set_give_back();
}

static enum hs_ring_state read_one(void)
{
	struct hs_ring_item item;

	hs_ring_read(&ring, &item);
	if (item.state == HS_RING_EMPTY || item.state == HS_RING_OPEN)
		return item.state;
	if (item.state == HS_RING_COMMITTED)
		is_b_read |= ((const struct hs_record *)item.data)->address == (uintptr_t)BLOCK_B;
	deliver(item.sequence);
	cookies += item.cookie != 0;
	if (item.state == HS_RING_ABANDONED)
		give_up(item.cookie);
	else
		MODEL_CHECK(item.sequence != 0 && item.cookie != 0);
	ring_release(&ring);
	return HS_RING_COMMITTED;
}

static void read_for_ever(bool closes_dead)
{
	for (;;) {
		enum hs_ring_state state = read_one();

		if (closes_dead && state == HS_RING_OPEN)
			hs_ring_close_dead(&ring);
		rest_at(&ring, state);
	}
}

/* A thread that has jumped is not dead: the reader has nothing to close. */
static void read_only(void)
{
	read_for_ever(false);
}

static void read_and_close_dead(void)
{
	read_for_ever(true);
}

static void take_freed(void)
{
	take_freed_and(deliver);
}

static void finish(void)
{
	unsigned missing = 0;

	MODEL_CHECK(is_b_there && is_b_freed && is_b_read);
	/* Nothing reports a death: what the thread left may stay until the reader is woken next. */
	while (read_one() != HS_RING_EMPTY)
		hs_ring_close_dead(&ring);
	hs_record_free(BLOCK_A); /* if it was recorded only after allocate_b() had freed it */
	take_freed();
	for (uint64_t number = 1; number < hs_sequence.next; number++)
		missing += delivered[number] == 0;
	/* If it stopped between taking a number and noting it, the producer declares a gap. */
	MODEL_CHECK(missing <= 1);
	/* If it stopped between taking a slot and noting it in the ring, that slot is lost. */
	MODEL_CHECK(hs_live_set_used() <= 2 - cookies);
	MODEL_CHECK(live_free(BLOCK_A) == 0);
	MODEL_CHECK(live_free(BLOCK_B) == 0);
}

const struct model_scenario model_sample_scenarios[] = {
	{.name = "abandoned-by-a-jump",
	 .setup = setup,
	 .finish = finish,
	 .threads = {{.run = allocate_a, .flags = MODEL_MAY_DIE},
		     {.run = jump_out},
		     {.run = read_only, .flags = MODEL_DAEMON}},
	 .quick_bound = 1,
	 .full_bound = 2},
	{.name = "abandoned-by-a-death",
	 .setup = setup,
	 .finish = finish,
	 .threads = {{.run = allocate_a, .flags = MODEL_MAY_DIE},
		     {.run = allocate_b},
		     {.run = read_and_close_dead, .flags = MODEL_DAEMON, .early_timeouts = 1}},
	 .quick_bound = 1,
	 .full_bound = 2},
	{.name = NULL},
};
