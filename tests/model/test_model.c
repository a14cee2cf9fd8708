/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the scenarios of the model checker.
 *
 * usage: test_model [full | quick] [SCENARIO...]
 *        test_model replay SCENARIO SCHEDULE
 *        test_model list
 *
 * quick: with small bounds, for `make check`; the default.  full: with full_bound.  Without a
 * SCENARIO: all.  MODEL_DEPTH=N in the environment adds N to each bound.  The exit status is 0 if
 * there was no violation, 1 if there was one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "explore.h"

static const struct model_scenario *const tables[] = {
	model_ring_scenarios,   model_live_scenarios, model_wait_scenarios,
	model_sample_scenarios, model_pcs_scenarios,  model_session_scenarios,
};

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int bound_of(const struct model_scenario *scenario, bool is_full)
{
	const char *more = getenv("MODEL_DEPTH");
	int bound = is_full ? scenario->full_bound : scenario->quick_bound;

	return bound == MODEL_COMPLETE || more == NULL ? bound : bound + atoi(more);
}

static bool run(const struct model_scenario *scenario, bool is_full)
{
	int last = bound_of(scenario, is_full), bound = last == MODEL_COMPLETE ? last : 0;
	double start = now_seconds();
	struct exploration done;
	char how[32];

	/* The bound is raised step by step, so that the schedule found first is a simple one. */
	for (; bound <= last; bound++) {
		if (!explore(scenario, bound, &done))
			return false;
	}
	if (last == MODEL_COMPLETE)
		snprintf(how, sizeof how, "complete");
	else
		snprintf(how, sizeof how, "%d preemptions", last);
	printf("%-28s %-14s %9llu runs %9llu cut %12llu steps, longest %4u %7.2f s\n",
	       scenario->name, how, (unsigned long long)done.runs, (unsigned long long)done.cut,
	       (unsigned long long)done.steps, done.longest, now_seconds() - start);
	fflush(stdout);
	return true;
}

static const struct model_scenario *find(const char *name)
{
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
		for (const struct model_scenario *one = tables[i]; one->name != NULL; one++) {
			if (strcmp(one->name, name) == 0)
				return one;
		}
	}
	fprintf(stderr, "no such scenario: %s\n", name);
	exit(2);
}

static int run_all(bool is_full)
{
	int status = 0;

	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
		for (const struct model_scenario *one = tables[i]; one->name != NULL; one++) {
			if (!run(one, is_full))
				status = 1;
		}
	}
	return status;
}

static int list(void)
{
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
		for (const struct model_scenario *one = tables[i]; one->name != NULL; one++)
			printf("%s\n", one->name);
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool is_full = argc > 1 && strcmp(argv[1], "full") == 0;
	int first = is_full || (argc > 1 && strcmp(argv[1], "quick") == 0) ? 2 : 1;
	int status = 0;

	if (argc > 1 && strcmp(argv[1], "list") == 0)
		return list();
	if (argc == 4 && strcmp(argv[1], "replay") == 0)
		return explore_replay(find(argv[2]), argv[3]) ? 0 : 1;
	if (argc == first)
		return run_all(is_full);
	for (int i = first; i < argc; i++)
		status |= !run(find(argv[i]), is_full);
	return status;
}
