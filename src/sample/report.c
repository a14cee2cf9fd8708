/* SPDX-License-Identifier: BSD-2-Clause */
/* The sample path of reported heaps.  See report.h. */
#include "sample/report.h"

#include "sample/reentry.h"
#include "sample/sampler.h"

/* The largest weight: sums of it do not overflow. */
#define WEIGHT_MAX ((unsigned __int128)1 << 62)

static uint64_t draw_anew(struct hs_thread_state *thread, uint64_t interval)
{
	return hs_sampler_draw(&thread->random, interval, hs_sampler_scale(interval));
}

/*
 * The byte at which the countdown ended is in the allocation, `rest` bytes from its end: is
 * the allocation chosen for this interval too?  One of its bytes has to be.
 */
static bool is_chosen(struct hs_thread_state *thread, uint64_t interval, uint64_t rest)
{
	uint64_t drawn_with = thread->reported_interval, random;

	if (interval <= drawn_with)
		return true;
	random = hs_sampler_random(&thread->random);
	if ((uint64_t)((unsigned __int128)random * interval >> 64) < drawn_with)
		return true;
	return draw_anew(thread, interval) <= rest;
}

/* The allocation is counted down; if the countdown ends, it may be a sample. */
static bool count_down(struct hs_thread_state *thread, uint32_t heap, uint64_t id, uint64_t size,
		       const struct hs_regs *regs)
{
	uint64_t interval = hs_heap_interval(heap), bytes = size + (size == 0);
	uint64_t countdown = thread->reported_countdown;

	if (bytes < countdown) {
		thread->reported_countdown = countdown - bytes;
		return false;
	}
	thread->reported_countdown = draw_anew(thread, thread->reported_interval);
	if (interval == 0 || !is_chosen(thread, interval, bytes - countdown))
		return false;
	thread->sample = (struct hs_sample){
		.id = id,
		.size = size,
		/* Not less than what the countdown was drawn with: see is_chosen(). */
		.interval_bytes = interval > thread->reported_interval ? interval
								       : thread->reported_interval,
		.heap = (uint8_t)heap,
	};
	return hs_record_sample(thread, regs) != HS_RECORDED_NOTHING;
}

bool hs_report_allocation(uint32_t heap, uint64_t id, uint64_t size, const struct hs_regs *regs)
{
	struct hs_thread_state *thread = &hs_thread;
	uint64_t least = atomic_load_explicit(&hs_heap_least_interval, memory_order_relaxed);
	struct hs_guard guard;
	bool chosen;

	__asm__("" : "+r"(thread)); /* as in hs_record_allocation() */
	if (least == 0 || !hs_reentry_enter(thread, regs->sp, &guard))
		return false;
	hs_sampler_begin_thread(thread);
	if (thread->reported_interval != least) {
		thread->reported_interval = least;
		thread->reported_countdown = draw_anew(thread, least);
	}
	chosen = count_down(thread, heap, id, size, regs);
	hs_reentry_leave(thread, thread->guarded_countdown);
	return chosen;
}

bool hs_report_sample(uint32_t heap, uint64_t id, uint64_t size, uint64_t stands_for,
		      const struct hs_regs *regs)
{
	struct hs_thread_state *thread = &hs_thread;
	unsigned __int128 weight = HS_WEIGHT_ONE;
	struct hs_guard guard;
	bool recorded;

	__asm__("" : "+r"(thread));
	if (!hs_report_is_heap(heap) || hs_heap_interval(heap) == 0 ||
	    !hs_reentry_enter(thread, regs->sp, &guard))
		return false;
	if (stands_for > size && size > 0)
		weight = ((unsigned __int128)stands_for << HS_WEIGHT_SHIFT) / size;
	thread->sample = (struct hs_sample){
		.id = id,
		.size = size,
		.weight = (uint64_t)(weight < WEIGHT_MAX ? weight : WEIGHT_MAX),
		.heap = (uint8_t)heap,
		.is_weighed = true,
	};
	recorded = hs_record_sample(thread, regs) != HS_RECORDED_NOTHING;
	hs_reentry_leave(thread, thread->guarded_countdown);
	return recorded;
}
