/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The least that any preloaded sampling heap profiler does: a countdown and a table, see
 * countdown.h.  No random numbers, no stacks, no profile.
 */
#include <stdint.h>

#define INTERVAL_BYTES (512 << 10)

static inline int64_t take_sample(int64_t left)
{
	(void)left;
	return INTERVAL_BYTES;
}

#include "countdown.h"
