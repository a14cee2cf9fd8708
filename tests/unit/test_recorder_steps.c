/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sample path, interrupted by a handler after many of its instructions.  If that allocates, all
 * counts stay exact; if it jumps out, the next sample is taken as if nothing was left.
 */
#include "check.h"
#include "single_step.h"

#if MAY_STEP

#include "base/arena.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/capture.h"
#include "sample/heap.h"
#include "sample/record.h"
#include "sample/recorder.h"
#include "sample/sampler.h"
#include "sample_testing.h"

#define DATA_BYTES 65536u

/* Far above any countdown. */
#define OWN_BYTES ((size_t)1 << 30)
#define HANDLER_BYTES ((size_t)1 << 40)

static struct hs_ring ring;
static struct hs_regs here; /* a call site in main() */
static unsigned char blocks[3][16];
static bool is_recorded, is_recorded_in_handler;

static void begin(void)
{
	extern void *__libc_stack_end;

	hs_arch_capture(&here);
	hs_capture_init_main(&hs_thread, (uintptr_t)__libc_stack_end);
	CHECK_INT(hs_arena_init((size_t)64 << 20), 0);
	CHECK_INT(live_init(100000, 100), 0);
	hs_ring_init(&ring, hs_sys_map(hs_ring_memory_bytes(DATA_BYTES), 3), DATA_BYTES);
	hs_recorder.process_id = hs_sys_getpid();
	hs_recorder.ring = &ring;
	hs_recorder.stack_limit_bytes = 64;
	atomic_store(&hs_sampler_interval, 4096);
	atomic_store(&hs_sampler_is_ready, true);
}

static void allocate(void)
{
	is_recorded = !hs_sampler_passes(OWN_BYTES) &&
		      hs_record_allocation(blocks[0], OWN_BYTES, &here);
}

/* Inside the slow path it is passed through; else it is a sample. */
static void allocate_in_handler(void)
{
	struct hs_regs regs;

	hs_arch_capture(&regs);
	is_recorded_in_handler = !hs_sampler_passes(HANDLER_BYTES) &&
				 hs_record_allocation(blocks[1], HANDLER_BYTES, &regs);
}

/* Frees all, and reads what has been recorded.  Returns how many samples that is. */
static unsigned drain(void)
{
	struct hs_freed_slots freed;
	struct hs_ring_item item;
	unsigned samples = 0;
	uint32_t slot;

	for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
		hs_record_free(blocks[i]);
	for (hs_ring_read(&ring, &item); item.state == HS_RING_COMMITTED ||
					 item.state == HS_RING_ABANDONED;
	     hs_ring_read(&ring, &item)) {
		samples += item.state == HS_RING_COMMITTED;
		if (item.state == HS_RING_ABANDONED && item.cookie != 0)
			hs_live_set_give_up(hs_record_cookie_slot(item.cookie),
					    hs_record_cookie_generation(item.cookie));
		ring_release(&ring);
	}
	CHECK_INT(item.state, HS_RING_EMPTY);
	hs_live_set_take_freed(&freed);
	while ((slot = hs_live_set_next_freed(&freed)) != HS_SLOT_NONE)
		hs_live_set_recycle(slot, hs_live_set_generation(slot));
	hs_live_set_give_back();
	return samples;
}

/* The bytes that have been counted since it was asked last. */
static uint64_t counted_bytes(void)
{
	static uint64_t before;
	uint64_t total, counted;

	hs_record_settle();
	total = hs_stats_get(allocated_bytes);
	counted = total - before;
	before = total;
	return counted;
}

static void check_at_rest(void)
{
	CHECK_INT(hs_thread.guard_sp, 0);
	CHECK_INT(hs_thread.reservation, 0);
	CHECK(hs_thread.bytes_until_sample > 0);
}

/* Runs one() for every stride-th step of an allocation, until it returns that there is none. */
static void at_steps(long stride, bool (*one)(long step))
{
	long step = 1;

	while (step < 20000 && one(step))
		step += stride;
	CHECK(step > 100 && step < 20000);
}

static bool interrupt(long step)
{
	bool is_running = call_interrupted(allocate, step, allocate_in_handler);

	CHECK(is_recorded);
	is_recorded_in_handler &= is_running;
	check_at_rest();
	CHECK_INT(counted_bytes(), OWN_BYTES + (is_recorded_in_handler ? HANDLER_BYTES : 0));
	CHECK_INT(drain(), 1 + is_recorded_in_handler);
	CHECK_INT(hs_live_set_used(), 0);
	return is_running;
}

static void test_handler_allocates(void)
{
	at_steps(2, interrupt);
}

static unsigned inexact;

/* The next allocation finds what was left. */
static bool jump_out(long step)
{
	bool is_running = call_interrupted(allocate, step, leave);
	uint64_t bytes;
	unsigned samples;

	CHECK(hs_record_allocation(blocks[2], OWN_BYTES, &here));
	check_at_rest();
	bytes = counted_bytes();
	inexact += bytes != OWN_BYTES && bytes != 2 * OWN_BYTES;
	samples = drain();
	CHECK(samples == 1 || samples == 2);
	return is_running;
}

static void test_handler_jumps_out(void)
{
	at_steps(10, jump_out);
	/* Where it has been counted and its thread has not noted that yet. */
	CHECK(inexact <= 2);
}

int main(void)
{
	begin();
	allocate();
	CHECK_INT(drain(), 1);
	CHECK_INT(counted_bytes(), OWN_BYTES);
	RUN(test_handler_allocates);
	RUN(test_handler_jumps_out);
	return CHECK_RESULT();
}

#else

int main(void)
{
	SKIP("no single steps here");
	return CHECK_RESULT();
}

#endif
