/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ever new stacks, with the memory that HEAPSAMPLE_MEMORY=32m leaves for the books: nearly all of
 * it is used before the first sample is lost, and to lose one takes no system call.
 */
#include "base/sys.h"
#include "profile_testing.h"

#define BOOKS_BYTES (24 * MIB)

enum { FRAMES = 20, MANY = 1 << FRAMES, LOST = 20000 };

struct record {
	struct hs_unwound head;
	struct hs_frame frames[FRAMES];
};

static struct hs_producer *producer;
static unsigned system_calls;

static long count_call(long number)
{
	(void)number;
	system_calls++;
	return 0;
}

/*
 * A sample that is allocated and freed.  Its stack is a path in a tree with two branches at each
 * frame, and differs from the one before at the leaf, where most frames are the same, or the root.
 */
static void sample(uint64_t path, bool is_root_first)
{
	union test_record made = allocate(0x100000, 64, 1, 0);
	struct record record = {.head = made.head};

	record.head.frame_count = FRAMES;
	for (unsigned i = 0; i < FRAMES; i++, path >>= 1)
		record.head.frames[is_root_first ? FRAMES - 1 - i : i] =
			(struct hs_frame){((uint64_t)i << 32) + 0x1000 + (path & 1), 0};
	release(0x100000);
	hs_producer_take(producer, &record.head);
	hs_producer_take_freed(producer);
	CHECK(!hs_producer_commit(producer));
}

static void fill(bool is_root_first, unsigned least_percent)
{
	uint64_t before = hs_heap_total(lost_memory), path = 0;

	while (hs_heap_total(lost_memory) == before && path < MANY)
		sample(path++, is_root_first);
	printf("%u rows, %u nodes, %zu of %zu KiB\n",
	       producer->tracker.rows.used, producer->trie.interner.used, hs_arena_used() >> 10,
	       BOOKS_BYTES >> 10);
	CHECK(hs_arena_used() >= BOOKS_BYTES / 100 * least_percent);
	system_calls = 0;
	hs_sys_fault = count_call;
	for (int i = 0; i < LOST; i++)
		sample(path++, is_root_first);
	hs_sys_fault = NULL;
	printf("%llu lost, %u calls\n", (unsigned long long)(hs_heap_total(lost_memory) - before),
	       system_calls);
	CHECK(hs_heap_total(lost_memory) - before > LOST / 2);
	CHECK_INT(system_calls, 0);
	CHECK_INT(hs_producer_reset(producer), 0);
}

static void few_frames_in_common(void)
{
	fill(true, 90);
}

static void most_frames_in_common(void)
{
	fill(false, 90);
}

/* Memory that is kept for a profile: known stacks count all the same. */
static void told_to_be_full(void)
{
	uint64_t before = hs_heap_total(lost_memory);

	sample(1, true);
	hs_producer_set_full(producer, true);
	sample(1, true);
	CHECK_INT(hs_heap_total(lost_memory), before);
	sample(2, true);
	CHECK_INT(hs_heap_total(lost_memory), before + 1);
	hs_producer_set_full(producer, false);
	sample(2, true);
	CHECK_INT(hs_heap_total(lost_memory), before + 1);
	CHECK_INT(hs_producer_reset(producer), 0);
}

int main(void)
{
	CHECK_INT(hs_arena_init(32 * MIB), 0);
	CHECK_INT(live_init(1 << 14, 1 << 10), 0);
	hs_arena_set_budget(BOOKS_BYTES);
	producer = new_producer(NULL, 0);
	RUN(few_frames_in_common);
	RUN(most_frames_in_common);
	RUN(told_to_be_full);
	return CHECK_RESULT();
}
