/* SPDX-License-Identifier: BSD-2-Clause */
/* The search through a scenario's orders.  See model.h. */
#ifndef HS_TESTS_MODEL_EXPLORE_H
#define HS_TESTS_MODEL_EXPLORE_H

#include "model.h"

struct exploration {
	uint64_t runs;    /* to their end, no two with the same order of accesses that conflict */
	uint64_t cut;     /* given up on the way: such a one was there before */
	uint64_t steps;   /* in all */
	unsigned longest; /* steps of a run */
};

/*
 * All orders, or those with at most bound preemptions.  Returns whether there was no
 * violation; else the schedule of it is printed.
 */
bool explore(const struct model_scenario *scenario, int bound, struct exploration *done);

/* One schedule, as explore() prints it; each step is printed.  Returns whether all was well. */
bool explore_replay(const struct model_scenario *scenario, int bound, const char *schedule);

#endif
