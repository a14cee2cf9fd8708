/* SPDX-License-Identifier: BSD-2-Clause */
/* What memory the books may take while profiles are written, and after. */
#include "held_session.h"

#include "base/arena.h"
#include "sample/labels.h"

/* More than there are pieces of work between two pauses. */
#define ROWS 600

/* Makes books of so many rows, and has them written. */
static void write_rows(void)
{
	char value[16];

	for (int i = 0; i < ROWS; i++) {
		snprintf(value, sizeof value, "%d", i);
		CHECK_INT(hs_labels_set(&hs_thread.labels, "row", value), 0);
		sample(1, true);
	}
	CHECK_INT(hs_session_dump(NULL, 0), 0);
}

/* What is kept for writing is not for the books, whose rows are looked through after a profile. */
static void budget_after_differences(void)
{
	start("HEAPSAMPLE_DELTA=1");
	write_rows();
	CHECK_INT(hs_stats_get(dumps), 1);
	CHECK_INT(hs_arena_budget(), hs_session_memory_bytes() / 4 * 3);
}

static const struct held_case cases[] = {
	{"budget_after_differences", budget_after_differences},
};

int main(int argc, char **argv)
{
	return run_cases(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : NULL);
}
