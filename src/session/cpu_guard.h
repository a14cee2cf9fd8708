/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_MAX_CPU: the processor time that the two profiler threads may use, as a share of
 * one processor or in all.
 *
 * The share is looked at when the producer has worked and a second has gone by since the last
 * look, so nothing wakes for it.  While sampling takes more than the share the interval rises
 * (session/budget.h).  That does not make writing a profile any cheaper, so writing does not
 * raise it, but it counts for the end: when HS_CPU_LOOKS looks in succession have found more
 * than the share used, whatever for, sampling ends.  No look is made while a profile is
 * written, so one profile is in one look however long it takes.
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

/* What the interval has to follow.  The producer. */
struct hs_cpu_pressure {
	uint64_t overs; /* looks that found sampling over the share so far */
	bool is_near;   /* at the last look: not to be lowered */
};
extern HS_HIDDEN struct hs_cpu_pressure hs_cpu_pressure;

/*
 * Each thread, of itself and under its batch lock: count the processor time since the last
 * call (worker_cpu_ns, producer_cpu_ns).  The producer: from now on it is for writing, or not.
 */
void hs_cpu_note_worker(void);
void hs_cpu_note_producer(bool writes);

/* Look, and end sampling if that is due.  The producer, producer_batch held. */
void hs_cpu_guard_follow(void);

/* In a forked child, whose threads are new. */
void hs_cpu_guard_after_fork(void);

/* The threads have ended; others will begin with clocks of their own. */
void hs_cpu_guard_after_stop(void);

#endif
