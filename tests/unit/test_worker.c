/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the worker adds to stacks that it does not unwind, or only in part.  Samples without room
 * for their stack still have the caller's frame, whether the worker must look it up or may use what
 * threads walk by.  What a walk has left is unwound.
 */
#include "base/arena.h"
#include "base/libraries.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "sample/known_pcs.h"
#include "sample/recorder.h"
#include "sample_testing.h"
#include "unwind/stop.h"
#include "unwind/unwound.h"
#include "unwind/worker.h"

enum { RING_BYTES = 65536, DEPTH = 16 };

static struct hs_ring ring, queue;
static struct hs_unwinder *unwinder;
static struct hs_worker *worker;

static void make_ring(struct hs_ring *out)
{
	hs_ring_init(out, hs_sys_map(hs_ring_memory_bytes(RING_BYTES), 3), RING_BYTES);
}

static void start(void)
{
	struct hs_mapping_table *table;

	CHECK_INT(hs_arena_init((size_t)64 << 20), 0);
	table = hs_mapping_table_create();
	make_ring(&ring);
	make_ring(&queue);
	unwinder = hs_unwinder_create(table, NULL);
	worker = hs_worker_create(&ring, &queue, unwinder, hs_mapping_table_add_hints(table, ""),
				  DEPTH);
}

/* Records a sample.  Returns the call site that its only frame must have. */
static __attribute__((noinline)) uint64_t put_sample(hs_closes closes)
{
	struct hs_record *record;
	uint64_t open = 0, pc;

	record = hs_ring_reserve(&ring, sizeof *record, HS_RING_KEPT, 1, 0, &open);
	memset(record, 0, sizeof *record);
	record->kind = HS_RECORD_ALLOCATION;
	record->flags = HS_RECORD_STACKLESS | HS_RECORD_STACK_CUT;
	record->closes = closes;
	hs_arch_capture(&record->regs);
	pc = record->regs.pc;
	CHECK(hs_ring_commit(&ring, hs_ring_ticket(open)));
	return pc - 1;
}

/* Has the worker take the sample.  Returns how many stacks it unwound for that: 0 or 1. */
static uint64_t take_sample(hs_closes closes)
{
	uint64_t site = put_sample(closes), before = hs_stats_get(unwound);
	const struct hs_unwound *unwound;
	struct hs_ring_item item;

	CHECK_INT(hs_worker_step(worker), HS_WORKER_DID_ONE);
	hs_ring_read(&queue, &item);
	CHECK_INT(item.state, HS_RING_COMMITTED);
	unwound = item.data;
	CHECK_INT(unwound->frame_count, 2);
	CHECK_INT(unwound->frames[0].address, site);
	CHECK(unwound->frames[0].mapping != HS_MAPPING_NONE);
	CHECK_INT(unwound->frames[1].address, HS_PSEUDO_STACKLESS);
	CHECK_INT(unwound->frames[1].mapping, HS_MAPPING_NONE);
	ring_release(&queue);
	return hs_stats_get(unwound) - before;
}

static void test_frame(void)
{
	hs_closes closes = hs_closes_now();

	start();
	/* If threads do not walk, because there may be hints, all are looked up. */
	CHECK_INT(take_sample(closes), 1);
	CHECK_INT(take_sample(closes), 1);
	hs_recorder.known_pcs = hs_unwinder_known_pcs(unwinder);
	CHECK_INT(take_sample(closes), 0);
	/* A sample from after the close of a library: the pc may be another function's now. */
	hs_close_begins();
	hs_close_ends(true);
	CHECK_INT(take_sample(hs_closes_now()), 1);
	CHECK_INT(take_sample(hs_closes_now()), 0);
	/* And one from before it. */
	CHECK_INT(take_sample(closes), 1);
}

/* Has the worker take a record of walked frames and so many bytes of a stack behind them. */
static const struct hs_unwound *take_walk(uint64_t walked, unsigned flags,
					  const struct hs_regs *regs, uint32_t stack_bytes)
{
	size_t bytes = regs == NULL ? hs_record_walked_bytes(2)
				    : sizeof(struct hs_record) + 2 * sizeof(struct hs_frame) + 16;
	struct hs_record *record;
	struct hs_ring_item item;
	uint64_t open = 0;

	record = hs_ring_reserve(&ring, bytes, HS_RING_KEPT, 1, hs_record_cookie(7, 7), &open);
	memset(record, 0, bytes);
	record->kind = HS_RECORD_ALLOCATION;
	record->flags = (uint16_t)flags;
	record->closes = hs_closes_now();
	record->walked = walked;
	record->stack_bytes = stack_bytes;
	hs_record_frames(record)[0] = (struct hs_frame){4711, 42};
	hs_record_frames(record)[1] = (struct hs_frame){4712, 43};
	if (regs != NULL)
		*(struct hs_regs *)(void *)&hs_record_frames(record)[2] = *regs;
	CHECK(hs_ring_commit(&ring, hs_ring_ticket(open)));
	CHECK_INT(hs_worker_step(worker), HS_WORKER_DID_ONE);
	hs_ring_read(&queue, &item);
	CHECK_INT(item.state, HS_RING_COMMITTED);
	ring_release(&queue);
	return item.data;
}

static void test_walked(void)
{
	const struct hs_unwound *unwound;

	start();
	unwound = take_walk(2, HS_RECORD_WALKED, NULL, 0);
	CHECK_INT(unwound->frame_count, 2);
	CHECK(unwound->frames[0].address == 4711 && unwound->frames[0].mapping == 42);
	CHECK(unwound->frames[1].address == 4712 && unwound->frames[1].mapping == 43);
	/* Of this library's frames only. */
	unwound = take_walk(0, HS_RECORD_WALKED, NULL, 0);
	CHECK_INT(unwound->frame_count, 1);
	CHECK_INT(unwound->frames[0].address, HS_PSEUDO_UNKNOWN);
	unwound = take_walk(1, HS_RECORD_WALKED | HS_RECORD_DEPTH_CUT, NULL, 0);
	CHECK_INT(unwound->frame_count, 2);
	CHECK(unwound->frames[0].address == 4711);
	CHECK_INT(unwound->frames[1].address, HS_PSEUDO_TRUNCATED);
}

static void test_walked_in_part(void)
{
	uint64_t before = hs_stats_get(stack_truncated);
	const struct hs_unwound *unwound;
	struct hs_regs regs;
	struct hs_pc known;

	start();
	hs_arch_capture(&regs);
	unwound = take_walk(2, HS_RECORD_STACK_CUT, &regs, 16);
	/* The next walk knows it. */
	CHECK(hs_known_pcs_find(hs_unwinder_known_pcs(unwinder), regs.pc, true, &known));
	CHECK_INT(unwound->frame_count, 4);
	CHECK(unwound->frames[0].address == 4711 && unwound->frames[1].mapping == 43);
	CHECK_INT(unwound->frames[2].address, regs.pc - 1);
	CHECK_INT(unwound->frames[2].mapping, known.mapping);
	CHECK_INT(unwound->frames[3].address, HS_PSEUDO_TRUNCATED);
	CHECK_INT(hs_stats_get(stack_truncated) - before, 1);

	regs.pc = 4243;
	unwound = take_walk(2, 0, &regs, 16);
	CHECK_INT(unwound->frame_count, 4);
	CHECK(unwound->frames[1].address == 4712 && unwound->frames[2].address == 4242);
	CHECK_INT(unwound->frames[2].mapping, HS_MAPPING_UNKNOWN);
	CHECK_INT(unwound->frames[3].address, HS_PSEUDO_UNWIND_ERROR);
}

/* Frames that cannot be there. */
static void test_damaged(void)
{
	static const struct hs_regs regs;
	size_t least = sizeof(struct hs_record) - offsetof(struct hs_record, regs);
	uint64_t before = hs_stats_get(records_damaged);

	start();
	(void)take_walk(least / sizeof(struct hs_frame), HS_RECORD_WALKED, NULL, 0);
	CHECK_INT(hs_stats_get(records_damaged), before);
	(void)take_walk(least / sizeof(struct hs_frame) + 1, HS_RECORD_WALKED, NULL, 0);
	(void)take_walk(DEPTH + 1, HS_RECORD_WALKED, NULL, 0);
	(void)take_walk(UINT64_MAX, HS_RECORD_WALKED, NULL, 0);
	(void)take_walk((uint64_t)1 << 60, HS_RECORD_WALKED, NULL, 0);
	(void)take_walk(2, HS_RECORD_WALKED, NULL, 4096);
	(void)take_walk(4, 0, &regs, 0);
	(void)take_walk(2, 0, &regs, 17);
	CHECK_INT(hs_stats_get(records_damaged) - before, 7);
}

int main(void)
{
	RUN(test_frame);
	RUN(test_walked);
	RUN(test_walked_in_part);
	RUN(test_damaged);
	return CHECK_RESULT();
}
