/* SPDX-License-Identifier: BSD-2-Clause */
/* The sampling interval under pressure.  See budget.h. */
#include "session/budget.h"

#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/heap.h"
#include "sample/live_set.h"
#include "sample/recorder.h"
#include "sample/sampler.h"
#include "session/cpu_guard.h"
#include "session/memory_parts.h"
#include "session/unlocked.h"

/* The least time between two changes of the interval: before a raise, before a lowering. */
#define RAISE_NS 10000000u
#define LOWER_NS 1000000000u

/* Another raise for want of memory needs growth by one part in so many of the budget. */
#define GROWTH_SHARE 32

/* It is worth a warning if more than one in so many samples has no stack, of at least so many. */
#define STACKLESS_SHARE 20
#define SAMPLES_TO_JUDGE 500

/* Samples, and those that have no stack for want of room; in a forked child, its parent's. */
static struct unwaited {
	uint64_t samples, missing;
} before_fork;

/*
 * What a slot of the live set takes, with its book and its place in the index.  A free slot is not
 * given back, but counts as room: the next sample can have it.
 */
#define BYTES_PER_SLOT 128u

/* The slots in use, as bytes of the budget, of which all slots would take all. */
static size_t bytes_of_slots(const struct hs_budget_view *view)
{
	return (size_t)((unsigned __int128)view->budget_bytes * view->slots_used /
			view->slots_most);
}

/* Memory and slots: of what is shorter.  Slots may run out first. */
static size_t used_bytes(const struct hs_budget_view *view)
{
	size_t slots_bytes = bytes_of_slots(view);

	return slots_bytes > view->used_bytes ? slots_bytes : view->used_bytes;
}

/*
 * is_lost: samples were lost for want of memory since the last view.  That can come below three
 * quarters of the budget, because what finds a table's items grows by a copy.
 */
static bool is_memory_short(const struct hs_budget_state *state, const struct hs_budget_view *view,
			    bool is_lost)
{
	return (is_lost || used_bytes(view) > view->budget_bytes / 4 * 3) &&
	       used_bytes(view) >= state->raised_bytes + view->budget_bytes / GROWTH_SHARE;
}

static bool is_there_room(const struct hs_budget_state *state, const struct hs_budget_view *view)
{
	size_t room = (size_t)(state->slots_most - view->slots_used) * BYTES_PER_SLOT;

	return view->used_bytes < view->budget_bytes / 2 + room &&
	       bytes_of_slots(view) < view->budget_bytes / 2;
}

uint64_t hs_budget_interval(struct hs_budget_state *state, const struct hs_budget_view *view)
{
	uint64_t since_ns = view->now_ns - state->changed_ns;
	bool is_ring_short = view->refusals != state->refusals;
	bool is_cpu_short = view->cpu_overs != state->cpu_overs;
	/* A raise shows when slots have become free that were taken before: it has a second. */
	bool is_slotless = view->is_live_set_short && view->slotless != state->slotless;
	bool is_short = is_memory_short(state, view, view->losses != state->losses) ||
			(is_slotless && since_ns > LOWER_NS);

	state->refusals = view->refusals;
	state->cpu_overs = view->cpu_overs;
	state->losses = view->losses;
	state->slotless = view->slotless;
	if (view->slots_used > state->slots_most)
		state->slots_most = view->slots_used;
	if (since_ns > RAISE_NS && view->interval < view->most &&
	    (is_ring_short || is_cpu_short || is_short)) {
		if (is_short)
			state->raised_bytes = used_bytes(view);
		state->changed_ns = view->now_ns;
		return view->interval * 2 < view->most ? view->interval * 2 : view->most;
	}
	if (since_ns > LOWER_NS && view->interval > view->asked && !is_ring_short &&
	    !view->is_cpu_near && !is_slotless && is_there_room(state, view)) {
		if (used_bytes(view) < state->raised_bytes)
			state->raised_bytes = used_bytes(view);
		state->changed_ns = view->now_ns;
		return view->interval / 2 > view->asked ? view->interval / 2 : view->asked;
	}
	return view->interval;
}

/* Why the interval rises.  Each cause is logged once. */
enum cause { RING, CPU, MEMORY };

static void tell_raise(enum cause cause, uint64_t now)
{
	static const struct {
		enum hs_log_level level;
		const char *text;
	} causes[] = {
		[RING] = {HS_LOG_INFO, "the profiler cannot follow the program"},
		[CPU] = {HS_LOG_INFO, "the profiler takes more than HEAPSAMPLE_MAX_CPU"},
		[MEMORY] = {HS_LOG_WARN, "the profiler's memory is near "},
	};
	static bool told[sizeof causes / sizeof causes[0]];

	hs_stats_add(interval_raises, 1);
	if (told[cause])
		return;
	told[cause] = true;
	hs_unlocked_log(causes[cause].level,
			"%s%s: it samples less, beginning with every %llu bytes",
			causes[cause].text, cause == MEMORY ? hs_memory_bound() : "",
			(unsigned long long)hs_heap_period(HS_HEAP_MALLOC, now));
}

void hs_budget_tell_losses(bool is_live_set_short)
{
	static bool told;
	uint64_t lost = hs_heap_total(lost_memory);

	if (is_live_set_short)
		lost += hs_heap_total(lost_live_set);
	if (told || lost == 0)
		return;
	told = true;
	hs_unlocked_log(HS_LOG_WARN,
			"%s is used up: from now on samples may be lost; the profile says how many",
			hs_memory_bound());
}

/* Of the heaps whose samples do not wait for room. */
static struct unwaited count_unwaited(void)
{
	struct unwaited sum = {0};

	for (uint32_t heap = HS_HEAP_MALLOC; heap < HS_HEAP_LIMIT && hs_heaps[heap].name[0] != '\0';
	     heap++) {
		if (hs_heaps[heap].waits)
			continue;
		sum.samples += hs_heap_get(heap, samples);
		sum.missing += hs_heap_get(heap, stackless) + hs_heap_get(heap, lost_ring);
	}
	return sum;
}

void hs_budget_after_fork(void)
{
	before_fork = count_unwaited();
}

void hs_budget_tell_stackless(void)
{
	struct unwaited now = count_unwaited();
	uint64_t samples = now.samples - before_fork.samples;
	uint64_t missing = now.missing - before_fork.missing;

	if (samples >= SAMPLES_TO_JUDGE && missing > samples / STACKLESS_SHARE &&
	    !hs_options_streams(&hs_options))
		hs_unlocked_log(HS_LOG_WARN,
				"%llu of %llu samples have no stack, because the buffer was full: "
				"see HEAPSAMPLE_RING", (unsigned long long)missing,
				(unsigned long long)samples);
}

/*
 * Samples that found no room.  If all that may wait for it have found some, one that may not, as in
 * a signal handler, is no reason to sample less: the others would not be exact any more.
 */
static uint64_t count_refusals(void)
{
	bool waits = hs_recorder.block_ns != 0 && hs_stats_get(block_expired) == 0;
	uint64_t refusals = hs_heap_total(lost_ring);

	for (uint32_t heap = HS_HEAP_MALLOC; heap < HS_HEAP_LIMIT && hs_heaps[heap].name[0] != '\0';
	     heap++) {
		if (!waits || !hs_heaps[heap].waits)
			refusals += hs_heap_get(heap, stackless);
	}
	return refusals;
}

void hs_budget_follow(bool is_live_set_short)
{
	static struct hs_budget_state state;
	struct hs_budget_state next = state;
	uint64_t interval = atomic_load_explicit(&hs_sampler_interval, memory_order_relaxed);
	struct hs_budget_view view = {
		.now_ns = hs_sys_monotonic_ns(),
		.budget_bytes = hs_memory_of_books(),
		.used_bytes = hs_memory_used_by_books(),
		.slots_used = hs_live_set_used(),
		.slots_most = hs_live_set_limit(),
		.refusals = count_refusals(),
		.cpu_overs = hs_cpu_pressure.overs,
		.is_cpu_near = hs_cpu_pressure.is_near,
		.losses = hs_heap_total(lost_memory),
		.slotless = hs_heap_total(lost_live_set),
		.is_live_set_short = is_live_set_short,
		.interval = interval,
		.asked = hs_options.interval_bytes,
		.most = hs_options.max_interval_bytes != 0 ? hs_options.max_interval_bytes
							   : HS_INTERVAL_MAX,
	};
	enum cause cause = view.refusals != state.refusals     ? RING
			   : view.cpu_overs != state.cpu_overs ? CPU
							       : MEMORY;
	uint64_t wanted;

	hs_memory_follow();
	if (interval == 0)
		return;
	wanted = hs_budget_interval(&next, &view);
	/* Fails if sampling has just been ended. */
	if (wanted != interval &&
	    !atomic_compare_exchange_strong_explicit(&hs_sampler_interval, &interval, wanted,
						     memory_order_relaxed, memory_order_relaxed))
		return;
	state = next;
	if (wanted != interval)
		hs_heap_follow();
	if (wanted < interval)
		hs_stats_add(interval_lowers, 1);
	if (wanted > interval)
		tell_raise(cause, wanted);
}
