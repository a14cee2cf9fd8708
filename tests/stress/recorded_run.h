/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records a run of four threads for test_replay.c: allocations with their stacks, frees and failed
 * moves of real blocks, which go through the recorder, the ring, the unwinder and the live set.
 */
#ifndef HS_TESTS_RECORDED_RUN_H
#define HS_TESTS_RECORDED_RUN_H

#include <pthread.h>

#include "../unit/check.h"
#include "../unit/random_numbers.h"
#include "../unit/sample_testing.h"
#include "base/arena.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/heap.h"
#include "sample/live_set.h"
#include "sample/recorder.h"
#include "sample/sampler.h"
#include "sample/thread_state.h"
#include "unwind/unwound.h"
#include "unwind/worker.h"

enum {
	RECORDED_MOST = 8000,
	RECORDED_DEPTH = 16,
	RUN_THREADS = 4,
	RUN_STEPS = 600, /* of each thread */
	RUN_BLOCKS = 100,
	RUN_RING_BYTES = 16 << 20,
	RUN_STACK_BYTES = 4096,
};

/* An event.  frees: the number of the allocation that it frees; 0: it is not a free. */
struct recorded {
	uint64_t frees;
	union {
		struct hs_unwound unwound;
		unsigned char room[sizeof(struct hs_unwound) +
				   (RECORDED_DEPTH + 1) * sizeof(struct hs_frame)];
	};
};

static struct recorded recorded[RECORDED_MOST + 1]; /* by number */
static uint64_t recorded_count;                     /* the highest number */
static struct hs_mapping_table *run_table;
static struct hs_ring run_ring, run_queue;
static void *_Atomic run_blocks[RUN_BLOCKS];

/* Allocates and records, as the interposer.  moved: what realloc() has returned, or NULL. */
static __attribute__((noinline)) void *run_allocate(void *moved, size_t size)
{
	struct hs_regs regs;
	void *block = moved != NULL ? moved : malloc(size);

	hs_arch_capture(&regs);
	CHECK(hs_record_allocation(block, size, &regs));
	return block;
}

static void *run_right(unsigned path, void *moved, size_t size);

/* A different stack for each path: each frame uses a bit, the lowest first, but not the highest. */
static __attribute__((noinline)) void *run_left(unsigned path, void *moved, size_t size)
{
	void *block;

	if (path <= 1)
		block = run_allocate(moved, size);
	else
		block = (path & 1 ? run_left : run_right)(path >> 1, moved, size);
	__asm__ volatile("" : : : "memory"); /* no tail call */
	return block;
}

static __attribute__((noinline)) void *run_right(unsigned path, void *moved, size_t size)
{
	void *block;

	if (path <= 1)
		block = run_allocate(moved, size);
	else
		block = (path & 1 ? run_right : run_left)(path >> 1, moved, size);
	__asm__ volatile("" : : : "memory");
	return block;
}

static inline void run_free(void *block)
{
	hs_record_free(block);
	free(block);
}

/* Moves the block by realloc(); once in four times, as if that had failed. */
static inline void *run_move(uint64_t *random, void *block)
{
	size_t size = random_below(random, 3000) + 1;
	uint32_t token = hs_record_move_begin(block);
	void *moved;

	if (random_below(random, 4) == 0) {
		hs_record_move_end(token, false);
		return block;
	}
	moved = realloc(block, size);
	hs_record_move_end(token, true);
	return run_left((unsigned)random_below(random, 16), moved, size);
}

static inline void *run_thread(void *argument)
{
	uint64_t random = (uint64_t)(uintptr_t)argument;
	pthread_attr_t attributes;
	size_t bytes;
	void *low;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &bytes);
	pthread_attr_destroy(&attributes);
	hs_thread.stack_low = (uintptr_t)low;
	hs_thread.stack_high = (uintptr_t)low + bytes;
	for (int i = 0; i < RUN_STEPS; i++) {
		void *_Atomic *place = &run_blocks[random_below(&random, RUN_BLOCKS)];
		void *block = atomic_exchange(place, NULL);

		if (block != NULL && random_below(&random, 3) != 0) {
			run_free(block);
			continue;
		}
		if (block != NULL)
			block = run_move(&random, block);
		else
			block = run_left((unsigned)random_below(&random, 64), NULL,
					 random_below(&random, 2000));
		block = atomic_exchange(place, block);
		if (block != NULL)
			run_free(block);
	}
	return NULL;
}

static inline void run_ring_init(struct hs_ring *ring)
{
	hs_ring_init(ring, hs_sys_map(hs_ring_memory_bytes(RUN_RING_BYTES), 3), RUN_RING_BYTES);
}

static inline void run_threads(void)
{
	pthread_t threads[RUN_THREADS];

	for (uintptr_t i = 0; i < RUN_THREADS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, run_thread, (void *)(i + 1)), 0);
	for (int i = 0; i < RUN_THREADS; i++)
		CHECK_INT(pthread_join(threads[i], NULL), 0);
}

static inline struct recorded *run_event(uint64_t number)
{
	if (number == 0 || number > RECORDED_MOST)
		exit(99);
	if (number > recorded_count)
		recorded_count = number;
	return &recorded[number];
}

static inline void run_read_queue(void)
{
	struct hs_ring_item item;

	for (;;) {
		const struct hs_unwound *unwound;

		hs_ring_read(&run_queue, &item);
		if (item.state != HS_RING_COMMITTED)
			return;
		unwound = item.data;
		CHECK(unwound->kind != HS_RECORD_ALLOCATION || unwound->frame_count >= 4);
		memcpy(run_event(unwound->sequence)->room, unwound, item.bytes);
		ring_release(&run_queue);
	}
}

static inline void run_unwind(void)
{
	struct hs_map_hints *hints = hs_mapping_table_add_hints(run_table, "");
	struct hs_unwinder *unwinder = hs_unwinder_create(run_table, NULL);
	struct hs_worker *worker =
		hs_worker_create(&run_ring, &run_queue, unwinder, hints, RECORDED_DEPTH);

	CHECK(worker != NULL && hints != NULL && hs_unwinder_load_engine(unwinder) == 0);
	while (hs_worker_step(worker) == HS_WORKER_DID_ONE)
		run_read_queue();
	hs_unwinder_destroy(unwinder);
}

/* The allocation that a slot stood for. */
static inline uint64_t run_allocation_of(uint32_t slot)
{
	for (uint64_t n = 1; n <= recorded_count; n++) {
		const struct hs_unwound *unwound = &recorded[n].unwound;

		if (unwound->sequence == n && unwound->kind == HS_RECORD_ALLOCATION &&
		    unwound->slot == slot)
			return n;
	}
	CHECK(!"a free without its allocation");
	return 0;
}

/* Notes the frees.  So far no slot has been given back, so each stands for one allocation. */
static inline void run_read_frees(void)
{
	struct hs_freed_slots freed;
	uint32_t slot;

	hs_live_set_take_freed(&freed);
	while ((slot = hs_live_set_next_freed(&freed)) != HS_SLOT_NONE) {
		run_event(hs_live_set_free_sequence(slot))->frees = run_allocation_of(slot);
		CHECK(hs_live_set_recycle(slot, hs_live_set_generation(slot)));
	}
	hs_live_set_give_back();
}

/* Gives back the slots of blocks that are in use at the end; their samples stay in use. */
static inline void run_forget_slots(void)
{
	for (uint64_t n = 1; n <= recorded_count; n++) {
		const struct hs_unwound *unwound = &recorded[n].unwound;

		if (recorded[n].frees == 0 && unwound->kind == HS_RECORD_ALLOCATION)
			hs_live_set_recycle(unwound->slot, unwound->generation);
	}
	hs_live_set_give_back();
	CHECK_INT(hs_live_set_used(), 0);
}

/* Fills recorded[] with an event for every number from 1 on. */
static inline void record_run(void)
{
	CHECK_INT(hs_arena_init((size_t)256 << 20), 0);
	CHECK_INT(live_init(1 << 17, 1 << 14), 0);
	run_table = hs_mapping_table_create();
	CHECK_INT(hs_mapping_table_refresh(run_table), 0);
	run_ring_init(&run_ring);
	run_ring_init(&run_queue);
	hs_recorder.process_id = hs_sys_getpid();
	hs_recorder.ring = &run_ring;
	hs_recorder.stack_limit_bytes = RUN_STACK_BYTES;
	atomic_store(&hs_sampler_interval, 1);
	atomic_store(&hs_sampler_is_ready, true);
	run_threads();
	run_unwind();
	run_read_frees();
	run_forget_slots();
	CHECK_INT(recorded_count, hs_sequence.next - 1);
	CHECK_INT(hs_heap_total(stackless) + hs_heap_total(lost_ring), 0);
}

#endif
