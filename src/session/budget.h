/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adapts the sampling interval: doubles it when the memory budget is nearly used up, when samples
 * find no room in the ring, or when the profiler uses more than HEAPSAMPLE_MAX_CPU
 * (session/cpu_guard.h); lowers it towards the asked interval when there is room again.
 * Threads: the producer.
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
	uint64_t refusals;   /* at the last look, as those that follow */
	uint64_t cpu_overs;
	uint64_t losses;
	uint64_t slotless;
};

/* What there is now. */
struct hs_budget_view {
	uint64_t now_ns; /* monotonic */
	size_t budget_bytes;
	size_t used_bytes;
	uint32_t slots_used; /* of the live set */
	uint32_t slots_most; /* that it can have */
	uint64_t refusals;   /* samples that found no room in the ring for their stack */
	uint64_t cpu_overs;  /* seconds in which sampling took more than HEAPSAMPLE_MAX_CPU */
	bool is_cpu_near;    /* in the last one it took more than half of that */
	uint64_t losses;     /* samples for which the books had no memory */
	uint64_t slotless;   /* samples for which the live set had no slot */
	bool is_live_set_short; /* it cannot grow; else it has grown by now */
	uint64_t interval;   /* bytes, not 0 */
	uint64_t asked;      /* interval that was asked for */
	uint64_t most;       /* it goes no higher */
};

/* The interval that should be used from now on. */
uint64_t hs_budget_interval(struct hs_budget_state *state, const struct hs_budget_view *view);

/*
 * Logs, once, that samples are lost because memory is short.  is_live_set_short, here and below:
 * the live set could not grow.
 */
void hs_budget_tell_losses(bool is_live_set_short);

/* Warns if many samples have no stack for want of room in the ring, and did not wait for it. */
void hs_budget_tell_stackless(void);

/* In a forked child, which warns of its own samples. */
void hs_budget_after_fork(void);

/* Looks at arena, live set and processor time, and changes the interval if needed. */
void hs_budget_follow(bool is_live_set_short);

#endif
