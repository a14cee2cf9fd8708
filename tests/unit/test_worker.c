/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the worker adds to stacks that it does not unwind.  Samples without room for their stack
 * still have the caller's frame, whether the worker must look it up or may use what threads walk
 * by.  Of walks that were cut at a pc that is not known, it finds out about that.
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

/* Has the worker take a walk of two frames.  Returns what became of it. */
static const struct hs_unwound *take_walk(uint64_t last_pc, unsigned flags)
{
	struct hs_record *record;
	struct hs_ring_item item;
	uint64_t open = 0;

	record = hs_ring_reserve(&ring, hs_record_walked_bytes(2), HS_RING_KEPT, 1, 0, &open);
	memset(record, 0, sizeof *record);
	record->kind = HS_RECORD_ALLOCATION;
	record->flags = (uint16_t)(HS_RECORD_WALKED | flags);
	record->closes = hs_closes_now();
	record->stack_bytes = 2 * sizeof(struct hs_frame);
	hs_record_frames(record)[0] = (struct hs_frame){4711, 42};
	hs_record_frames(record)[1] = (struct hs_frame){last_pc - 1, 99};
	CHECK(hs_ring_commit(&ring, hs_ring_ticket(open)));
	CHECK_INT(hs_worker_step(worker), HS_WORKER_DID_ONE);
	hs_ring_read(&queue, &item);
	CHECK_INT(item.state, HS_RING_COMMITTED);
	ring_release(&queue);
	return item.data;
}

static void test_cut_walk(void)
{
	const unsigned cut = HS_RECORD_STACK_CUT, unknown = cut | HS_RECORD_LAST_UNKNOWN;
	uint64_t before = hs_stats_get(stack_truncated);
	const struct hs_unwound *unwound;
	struct hs_regs regs;
	struct hs_pc known;

	start();
	hs_arch_capture(&regs);
	CHECK(!hs_known_pcs_find(hs_unwinder_known_pcs(unwinder), regs.pc, true, &known));
	unwound = take_walk(regs.pc, unknown);
	/* The next walk knows it. */
	CHECK(hs_known_pcs_find(hs_unwinder_known_pcs(unwinder), regs.pc, true, &known));
	CHECK_INT(unwound->frame_count, 3);
	CHECK(unwound->frames[0].address == 4711 && unwound->frames[0].mapping == 42);
	CHECK_INT(unwound->frames[1].address, regs.pc - 1);
	CHECK_INT(unwound->frames[1].mapping, known.mapping);
	CHECK(known.mapping != 99 && known.mapping != HS_MAPPING_NONE);
	CHECK_INT(unwound->frames[2].address, HS_PSEUDO_TRUNCATED);
	/* Where no code is, the stack ends before. */
	unwound = take_walk(4242, unknown);
	CHECK_INT(unwound->frame_count, 2);
	CHECK_INT(unwound->frames[0].address, 4711);
	CHECK_INT(unwound->frames[1].address, HS_PSEUDO_TRUNCATED);
	/* All frames of other walks are known. */
	CHECK_INT(take_walk(4242, cut)->frame_count, 3);
	CHECK_INT(take_walk(4242, 0)->frame_count, 2);
	CHECK_INT(hs_stats_get(stack_truncated) - before, 3);
}

int main(void)
{
	RUN(test_frame);
	RUN(test_cut_walk);
	return CHECK_RESULT();
}
