/* SPDX-License-Identifier: BSD-2-Clause */
/* The sample path.  See recorder.h. */
#include "sample/recorder.h"

#include <time.h>

#include "base/alone.h"
#include "base/hot.h"
#include "base/libraries.h"
#include "base/likely.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/capture.h"
#include "sample/heap.h"
#include "sample/live_index.h"
#include "sample/live_set.h"
#include "sample/record.h"
#include "sample/reentry.h"
#include "sample/sampler.h"
#include "sample/thread_state.h"
#include "sample/walk.h"

HS_SAMPLE_DATA _Alignas(HS_CACHE_LINE_BYTES) struct hs_recorder hs_recorder;

/* A countdown that never ends: sampling is off. */
#define NEVER ((uint64_t)1 << 62)

/* A thread adds to the total, whose cache line all threads share, in pieces of at least this. */
#define SETTLED_BYTES 65536

static HS_RARE void find_scale(struct hs_thread_state *thread, uint64_t interval)
{
	/* 0 meanwhile: a handler that jumps out must not leave a scale of another interval. */
	thread->scaled_interval = 0;
	atomic_signal_fence(memory_order_seq_cst);
	thread->scale = hs_sampler_scale(interval);
	atomic_signal_fence(memory_order_seq_cst);
	thread->scaled_interval = interval;
}

/* Draws the next countdown with the interval of now. */
static HS_SAMPLE_CODE uint64_t draw(struct hs_thread_state *thread)
{
	uint64_t interval = hs_heap_interval(HS_HEAP_MALLOC);
	uint64_t unsettled = thread->drawn - thread->guarded_countdown;
	uint64_t drawn = NEVER;

	if (hs_likely(interval != 0)) {
		if (hs_unlikely(thread->scaled_interval != interval))
			find_scale(thread, interval);
		drawn = hs_sampler_draw(&thread->random, interval, thread->scale);
	} else {
		/* No later sample will do it. */
		hs_stats_add(allocated_bytes, unsettled);
		unsettled = 0;
	}
	thread->interval_bytes = interval;
	/* Consistent, should a handler jump out before the end. */
	thread->drawn = drawn + unsettled;
	thread->guarded_countdown = drawn;
	return drawn;
}

static uint64_t current_countdown(struct hs_thread_state *thread)
{
	hs_sampler_begin_thread(thread);
	if (hs_likely(thread->has_drawn))
		return thread->guarded_countdown;
	thread->has_drawn = true;
	return draw(thread);
}

/* Reserves room with the stack, else, if that is allowed, without it.  Inlined to save a frame. */
static inline __attribute__((always_inline)) struct hs_record *
reserve(struct hs_thread_state *thread, uint32_t *stack_bytes, uint64_t cookie, bool stackless)
{
	uint32_t tid = hs_reentry_tid(thread);
	struct hs_record *record =
		hs_ring_reserve(hs_recorder.ring, sizeof *record + *stack_bytes,
				HS_RING_ORDINARY, tid, cookie, &thread->reservation);

	if (hs_likely(record != NULL) && hs_unlikely(thread->sample.is_dense))
		hs_ring_fetch(hs_recorder.ring, sizeof *record + *stack_bytes);
	if (hs_likely(record != NULL) || !stackless)
		return record;
	*stack_bytes = 0;
	record = hs_ring_reserve(hs_recorder.ring, sizeof *record, HS_RING_KEPT, tid, cookie,
				 &thread->reservation);
	if (record != NULL && !hs_recorder.stream)
		hs_heap_add(thread->sample.heap, stackless, 1);
	return record;
}

/* Fills in all but the stack. */
static void fill_record(struct hs_record *record, struct hs_thread_state *thread,
			const struct hs_regs *regs, bool is_walked)
{
	const struct hs_sample *sample = &thread->sample;
	unsigned flags = sample->is_weighed ? HS_RECORD_WEIGHED : 0;

	record->address = sample->id;
	record->size = sample->size;
	record->weight = sample->weight;
	record->epoch = sample->epoch;
	record->labels = atomic_load_explicit(&thread->labels, memory_order_relaxed);
	record->tid = hs_reentry_tid(thread);
	record->kind = HS_RECORD_ALLOCATION;
	record->heap = sample->heap;
	record->flags = (uint16_t)(is_walked ? flags | record->flags : flags);
	record->closes_unwaited = hs_closes_unwaited();
	if (hs_likely(!is_walked)) {
		record->walked = 0;
		record->stack_bytes = 0;
		record->regs = *regs;
	}
	record->closes = hs_closes_now();
}

enum outcome { RECORDED, NO_SLOT, NO_ROOM };

/* After a sample that found no slot, so many are not walked: the next ones may find none either. */
#define PAUSE_WITHOUT_SLOT 64

/* For a stack that is not recorded, or that there was no room for. */
static void fill_stackless(struct hs_record *record)
{
	if (hs_recorder.stream)
		record->time_ns = hs_sys_clock_ns(CLOCK_MONOTONIC_COARSE);
	else
		record->flags |= HS_RECORD_STACKLESS | HS_RECORD_STACK_CUT;
}

/* record: from hs_walk_record(); if it is NULL, one is reserved here. */
static HS_SAMPLE_CODE __attribute__((noinline)) enum outcome
try_record(struct hs_thread_state *thread, const struct hs_regs *regs, struct hs_record *record,
	   bool stackless)
{
	const struct hs_sample *sample = &thread->sample;
	bool is_walked = record != NULL;
	struct hs_taken_slot taken;
	uint32_t stack_bytes = sample->stack.bytes, ticket;
	uint64_t number, cookie;

	if (hs_unlikely(!hs_live_set_take(&taken))) {
		if (is_walked) {
			hs_reentry_abandon(thread);
			thread->walk_rest = PAUSE_WITHOUT_SLOT;
		}
		return NO_SLOT;
	}
	if (hs_unlikely(sample->is_dense))
		hs_live_set_fetch_next();
	cookie = hs_record_cookie(taken.slot, taken.generation);
	if (hs_unlikely(is_walked))
		hs_ring_note_cookie(hs_recorder.ring, hs_ring_ticket(thread->reservation), cookie);
	else
		record = reserve(thread, &stack_bytes, cookie, stackless);
	if (hs_unlikely(record == NULL)) {
		hs_live_set_cancel(taken);
		return NO_ROOM;
	}
	ticket = hs_ring_ticket(thread->reservation);
	fill_record(record, thread, regs, is_walked);
	if (hs_likely(!is_walked && stack_bytes > 0))
		hs_capture_copy(thread, regs->sp, stack_bytes, record);
	else if (!is_walked)
		fill_stackless(record);

	if (hs_unlikely(!hs_live_set_insert_id(&taken, sample->heap, sample->id))) {
		hs_reentry_abandon(thread);
		return NO_SLOT;
	}
	number = hs_sequence_take();
	hs_ring_note_sequence(hs_recorder.ring, ticket, number);
	hs_ring_commit(hs_recorder.ring, ticket);
	atomic_signal_fence(memory_order_seq_cst);
	thread->reservation = 0;
	hs_ring_tell_reader(hs_recorder.ring);
	return RECORDED;
}

/* Records the free of a heap's id.  Returns how many samples that ends. */
static uint32_t record_free(uint32_t heap, uint64_t id)
{
	uint32_t count = hs_live_set_free_id(heap, id);

	if (hs_likely(count > 0))
		hs_heap_count_frees(heap, count);
	return count;
}

/* The filter does not deny that the heap has a sample under this one's id. */
static HS_RARE void supersede_any(const struct hs_sample *sample)
{
	uint32_t count = record_free(sample->heap, sample->id);

	if (count > 0)
		hs_stats_add(superseded, count);
}

/* An id that is allocated again is free, even if nobody has said so. */
static inline __attribute__((always_inline)) void supersede(const struct hs_sample *sample)
{
	if (hs_unlikely(hs_live_set_may_hold_key(hs_live_key(sample->heap, sample->id))))
		supersede_any(sample);
}

/*
 * Walks in place, if that is planned and slots are not exhausted: without a slot the room that the
 * walk has reserved in the ring is given up again, which keeps the reader from making slots free.
 */
static inline __attribute__((always_inline)) struct hs_record *
walk(struct hs_thread_state *thread, const struct hs_regs *regs, enum outcome last)
{
	if (hs_likely(!thread->sample.stack.walks) || hs_unlikely(last == NO_SLOT) ||
	    hs_unlikely(hs_live_set_is_exhausted()))
		return NULL;
	return hs_walk_record(thread, regs);
}

/*
 * A sample will be taken: plans its stack, and prefetches all that will be written, so that the
 * cache misses overlap.  Where to write is known: hs_record_fetch() came before.
 */
static HS_SAMPLE_CODE void prepare_sample(struct hs_thread_state *thread, uintptr_t sp)
{
	const struct hs_sample *sample = &thread->sample;
	size_t bytes = 0;

	if (hs_unlikely(thread->met_full_ring) && hs_record_refuse(thread))
		return;
	if (hs_unlikely(thread->caller_sp != 0))
		hs_capture_find_end(thread);
	hs_capture_plan(thread, sp, hs_recorder.stack_limit_bytes);
	hs_live_set_fetch(hs_live_key(sample->heap, sample->id));
	if (hs_likely(!sample->stack.walks))
		bytes = sizeof(struct hs_record) + sample->stack.bytes;
	else if (!sample->is_dense) /* else fetched with the record before */
		bytes = hs_record_walked_bytes(thread->walk_room);
	hs_ring_fetch(hs_recorder.ring, bytes);
}

/*
 * See hs_record_sample().  Inlined, and what it calls is called one after the other: nested deeper
 * it would take too much of a small stack.
 */
static inline __attribute__((always_inline)) enum hs_recorded
record_sample(struct hs_thread_state *thread, const struct hs_regs *regs)
{
	/* If so, waits rather than record it without the stack. */
	bool whole = hs_recorder.block_ns != 0 && hs_heaps[thread->sample.heap].waits;
	enum outcome outcome = RECORDED;

	thread->sample.epoch = atomic_load_explicit(&hs_epoch, memory_order_relaxed);
	if (hs_unlikely(thread->sample.epoch == 0))
		return HS_RECORDED_NOTHING;
	supersede(&thread->sample);
	hs_alone_fetch_add(&hs_heaps[thread->sample.heap].samples, 1);
	if (hs_unlikely(thread->sample.is_refused)) {
		hs_record_lose(thread, true);
		return HS_RECORDED_LOSS;
	}
	thread->block_end_ns = 0;
	for (;;) {
		uint32_t space = hs_ring_space_counter(hs_recorder.ring);

		outcome = try_record(thread, regs, walk(thread, regs, outcome), !whole);
		/* Waiting makes no sense where the wait itself keeps room from coming. */
		if (hs_likely(outcome == RECORDED) || !whole ||
		    (outcome == NO_SLOT && hs_live_set_is_exhausted()))
			break;
		whole = hs_record_wait_for_room(thread, regs->sp, space);
	}
	if (hs_unlikely(outcome != RECORDED))
		hs_record_lose(thread, outcome == NO_ROOM);
	return outcome == RECORDED ? HS_RECORDED_SAMPLE : HS_RECORDED_LOSS;
}

enum hs_recorded hs_record_sample(struct hs_thread_state *thread, const struct hs_regs *regs)
{
	prepare_sample(thread, regs->sp);
	return record_sample(thread, regs);
}

/* The countdown has ended within this allocation: draws the next one, and takes a sample. */
static bool record_chosen(struct hs_thread_state *thread, const void *address, size_t size,
			  const struct hs_regs *regs)
{
	/* Sampling may have been switched off since the countdown was drawn. */
	bool is_sampling = hs_heap_interval(HS_HEAP_MALLOC) != 0;

	thread->sample = (struct hs_sample){
		.id = (uintptr_t)address,
		.size = size,
		.interval_bytes = thread->interval_bytes,
		.heap = HS_HEAP_MALLOC,
	};
	if (hs_likely(is_sampling))
		prepare_sample(thread, regs->sp);
	/* While the prefetches are under way. */
	draw(thread);
	return is_sampling && record_sample(thread, regs) == HS_RECORDED_SAMPLE;
}

/*
 * A failed allocation counts down too, as one that passes the fast path has: a countdown that goes
 * on only where it does not pass is a short one.  Nothing was allocated.  Returns what is left.
 */
static HS_RARE uint64_t pass_failure(struct hs_thread_state *thread, uint64_t bytes,
				     uint64_t countdown)
{
	if (bytes >= countdown)
		return draw(thread);
	thread->drawn -= bytes;
	return countdown - bytes;
}

bool hs_record_allocation(const void *address, size_t size, const struct hs_regs *regs)
{
	struct hs_thread_state *thread = &hs_thread;
	uint64_t bytes = size + (size == 0), countdown;
	struct hs_guard guard;
	bool recorded;

	/* With -fsanitize=null gcc 12 folds the address of a TLS variable to NULL. */
	__asm__("" : "+r"(thread));
	if (hs_unlikely(!hs_reentry_enter(thread, regs->sp, &guard)))
		return false;
	/* Acquire: pairs with the release in start_sampling(). */
	if (hs_unlikely(!atomic_load_explicit(&hs_sampler_is_ready, memory_order_acquire))) {
		hs_reentry_leave(thread, 0); /* not started yet: look again each time */
		return false;
	}
	countdown = current_countdown(thread);
	if (hs_unlikely(address == NULL)) {
		hs_reentry_leave(thread, pass_failure(thread, bytes, countdown));
		return false;
	}
	if (hs_unlikely(bytes < countdown)) {
		hs_reentry_leave(thread, countdown - bytes);
		return false;
	}
	thread->drawn += bytes;
	if (thread->drawn - countdown >= SETTLED_BYTES)
		hs_sampler_settle(thread, countdown);
	recorded = record_chosen(thread, address, size, regs);
	hs_reentry_leave(thread, thread->guarded_countdown);
	return recorded;
}

void hs_record_free_id(uint32_t heap, uint64_t id)
{
	(void)record_free(heap, id);
}

void hs_record_free(const void *address)
{
	if (hs_live_index_may_hold(hs_live_key(HS_HEAP_MALLOC, (uintptr_t)address)))
		hs_record_free_id(HS_HEAP_MALLOC, (uintptr_t)address);
}

void hs_record_settle(void)
{
	struct hs_thread_state *thread = &hs_thread;

	if (thread->guard_sp == 0)
		hs_sampler_settle(thread, thread->bytes_until_sample);
}

void hs_record_stop_thread(void)
{
	hs_reentry_close_abandoned(&hs_thread);
	hs_record_settle();
}

bool hs_record_after_fork(void)
{
	hs_capture_after_fork();
	hs_thread.tid = 0;
	if (hs_thread.guard_sp != 0)
		return false;
	hs_sampler_after_fork(&hs_thread);
	if (hs_thread.has_drawn) {
		hs_thread.guarded_countdown = hs_thread.bytes_until_sample;
		hs_thread.bytes_until_sample = draw(&hs_thread);
	}
	return true;
}
