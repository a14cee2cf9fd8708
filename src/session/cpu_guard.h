/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_MAX_CPU: the processor time that the two profiler threads may use, as a share of
 * one processor or in all.
 *
 * The share is checked when the producer has worked and the last check was a second ago: nothing
 * wakes up for it.  While sampling takes more than the share the interval is raised
 * (session/budget.h).  Writing profiles does not raise it, because that would make it no cheaper,
 * but it does count for the end: when HS_CPU_LOOKS checks in a row have found more than the share
 * used, for whatever, sampling ends.  There is no check while a profile is written, so a profile
 * falls into one check however long it takes.
 */
#ifndef HS_SESSION_CPU_GUARD_H
#define HS_SESSION_CPU_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/visibility.h"

#define HS_CPU_LOOK_NS 1000000000u
#define HS_CPU_LOOKS 30u

struct hs_cpu_limits {
	uint32_t percent;  /* of one processor; 0: any */
	uint64_t total_ns; /* 0: any */
};

/* What was used so far; monotonic time. */
struct hs_cpu_view {
	uint64_t now_ns;
	uint64_t used_ns;    /* by both threads */
	uint64_t writing_ns; /* thereof for writing profiles */
};

struct hs_cpu_state {
	struct hs_cpu_view last; /* at the last look */
	uint32_t over;           /* looks in succession that found more than the share used */
};

enum hs_cpu_verdict {
	HS_CPU_NO_LOOK,
	HS_CPU_LOW,  /* sampling took half of the share at most */
	HS_CPU_NEAR, /* more, */
	HS_CPU_OVER, /* and more than all of it */
	HS_CPU_STOP_SHARE,
	HS_CPU_STOP_TOTAL,
};

enum hs_cpu_verdict hs_cpu_look(struct hs_cpu_state *state, const struct hs_cpu_limits *limits,
				const struct hs_cpu_view *view);

/* What budget.h adapts the interval by.  The producer. */
struct hs_cpu_pressure {
	uint64_t overs; /* looks that found sampling over the share so far */
	bool is_near;   /* at the last look: not to be lowered */
};
extern HS_HIDDEN struct hs_cpu_pressure hs_cpu_pressure;

/*
 * Called by each thread under its batch lock: counts its processor time since the last call
 * (worker_cpu_ns, producer_cpu_ns).  For the producer also whether what follows is writing.
 */
void hs_cpu_note_worker(void);
void hs_cpu_note_producer(bool writes);

/* Checks, if that is due, and perhaps ends sampling.  The producer, producer_batch held. */
void hs_cpu_guard_follow(void);

/* In a forked child, whose threads are new. */
void hs_cpu_guard_after_fork(void);

/* The threads have ended; new ones will have clocks of their own. */
void hs_cpu_guard_after_stop(void);

#endif
