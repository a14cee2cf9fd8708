/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers for tests: a seed, the first state, gives the same run. */
#ifndef HS_TESTS_RANDOM_NUMBERS_H
#define HS_TESTS_RANDOM_NUMBERS_H

#include <stdint.h>

/* 31 bits, of a linear congruential generator.  Source: Knuth, MMIX. */
static inline uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
	return random_next(state) % limit;
}

#endif
