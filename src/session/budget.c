/* SPDX-License-Identifier: BSD-2-Clause */
/* The sampling interval and the memory budget.  See budget.h.  Runs on the producer. */
#include "session/budget.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "sample/live_set.h"
#include "sample/sampler.h"

/* Time between two changes of the interval. */
#define RAISE_NS 10000000u
#define LOWER_NS 1000000000u

/* One more raise for each such part of the budget that fills up. */
#define GROWTH_SHARE 32

/*
 * What a slot of the live set takes with its book and its place in the index.  It is not
 * given back, but the next sample can have it.
 */
#define BYTES_PER_SLOT 96u

uint64_t hs_budget_interval(struct hs_budget_state *state, const struct hs_budget_view *view)
{
	uint64_t since_ns = view->now_ns - state->changed_ns;
	size_t used = view->used_bytes, room;

	if (view->slots_used > state->slots_most)
		state->slots_most = view->slots_used;
	if (used > view->budget_bytes / 4 * 3 && since_ns > RAISE_NS &&
	    view->interval < HS_INTERVAL_MAX &&
	    used >= state->raised_bytes + view->budget_bytes / GROWTH_SHARE) {
		state->changed_ns = view->now_ns;
		state->raised_bytes = used;
		return view->interval * 2;
	}
	room = (size_t)(state->slots_most - view->slots_used) * BYTES_PER_SLOT;
	if (used < view->budget_bytes / 2 + room && since_ns > LOWER_NS &&
	    view->interval > view->asked) {
		state->changed_ns = view->now_ns;
		if (used < state->raised_bytes)
			state->raised_bytes = used;
		return view->interval / 2;
	}
	return view->interval;
}

void hs_budget_follow(void)
{
	static struct hs_budget_state state;
	struct hs_budget_state next = state;
	uint64_t interval = atomic_load_explicit(&hs_sampler_interval, memory_order_relaxed);
	struct hs_budget_view view = {
		.now_ns = hs_sys_monotonic_ns(),
		.budget_bytes = hs_arena_budget(),
		.used_bytes = hs_arena_used(),
		.slots_used = hs_live_set_used(),
		.interval = interval,
		.asked = hs_options.interval_bytes,
	};
	uint64_t wanted;

	if (interval == 0)
		return;
	wanted = hs_budget_interval(&next, &view);
	/* Not over a switch-off of this moment. */
	if (wanted != interval &&
	    !atomic_compare_exchange_strong_explicit(&hs_sampler_interval, &interval, wanted,
						     memory_order_relaxed, memory_order_relaxed))
		return;
	state = next;
	if (wanted > interval && hs_stats_add(interval_raises, 1) == 0)
		hs_log(HS_LOG_WARN,
		       "the profiler's memory is near HEAPSAMPLE_MEMORY: it samples less, "
		       "beginning with every %llu bytes",
		       (unsigned long long)wanted);
}
