/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampling interval follows the profiler's memory, the ring and the profiler's processor
 * time: near the budget, when samples find no room in the ring, or above HEAPSAMPLE_MAX_CPU
 * (session/cpu_guard.h), it is doubled, and when there is room again it comes back to what was
 * asked for.  Threads: the producer.
 */
#ifndef HS_SESSION_BUDGET_H
#define HS_SESSION_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_budget_state {
	uint64_t changed_ns; /* monotonic, of the last change of the interval */
	size_t raised_bytes; /* in use at the last raise: further ones need growth since */
	uint32_t slots_most; /* of the live set, used at a time so far */
	uint64_t refusals;   /* at the last look, as cpu_overs and losses */
	uint64_t cpu_overs;
	uint64_t losses;
};

/* What there is now. */
struct hs_budget_view {
	uint64_t now_ns; /* monotonic */
	size_t budget_bytes;
	size_t used_bytes;
	uint32_t slots_used; /* of the live set */
	uint64_t refusals;   /* samples that found no room in the ring for their stack */
	uint64_t cpu_overs;  /* seconds in which sampling took more than HEAPSAMPLE_MAX_CPU */
	bool is_cpu_near;    /* in the last one it took more than half of that */
	uint64_t losses;     /* samples for which the books had no memory */
	uint64_t interval;   /* bytes, not 0 */
	uint64_t asked;      /* interval that was asked for */
	uint64_t most;       /* it goes no higher */
};

/* The interval to go on with.  The caller makes it so. */
uint64_t hs_budget_interval(struct hs_budget_state *state, const struct hs_budget_view *view);

/*
 * Say once, when samples are lost for want of memory, that they are.  is_live_set_short: it
 * could not grow.
 */
void hs_budget_tell_losses(bool is_live_set_short);

/* Look at the arena and the live set, and change the interval by that. */
void hs_budget_follow(void);

#endif
