/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the benches of single modules: reproducible random numbers, and checks. */
#ifndef HS_TESTS_BENCH_H
#define HS_TESTS_BENCH_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t random_state = 88172645463325252u;

/* xorshift64.  Source: Marsaglia, "Xorshift RNGs", 2003. */
static inline uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % limit;
}

static inline void check(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	exit(1);
}

#endif
