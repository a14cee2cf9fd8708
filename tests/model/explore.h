/* SPDX-License-Identifier: BSD-2-Clause */
/* The search through the orders of a scenario's steps.  See model.h. */
#ifndef HS_TESTS_MODEL_EXPLORE_H
#define HS_TESTS_MODEL_EXPLORE_H

#include "model.h"

struct exploration {
	uint64_t runs;    /* complete ones, no two with the same order of conflicting accesses */
	uint64_t cut;     /* runs given up because they would have repeated one */
	uint64_t steps;   /* of all runs */
	unsigned longest; /* most steps of a run */
};

/*
 * Runs all orders (MODEL_COMPLETE), or those with at most bound preemptions.  Returns whether there
 * was no violation; if there was, prints its schedule.
 */
bool explore(const struct model_scenario *scenario, int bound, struct exploration *done);

/*
 * Runs a schedule that explore() has printed, and prints its steps.  Returns whether there was no
 * violation.
 */
bool explore_replay(const struct model_scenario *scenario, const char *schedule);

#endif
