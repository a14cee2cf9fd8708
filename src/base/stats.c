/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of what happened.  See stats.h. */
#include "base/stats.h"

#include "base/hot.h"

HS_SAMPLE_DATA struct hs_stats hs_stats;
_Atomic uint64_t hs_unwinding_times[HS_TIME_BUCKETS];

void hs_stats_add_unwinding(uint64_t ns)
{
	uint64_t us = ns / 1000;
	unsigned bucket = us == 0 ? 0 : 64 - (unsigned)__builtin_clzll(us);

	if (bucket >= HS_TIME_BUCKETS)
		bucket = HS_TIME_BUCKETS - 1;
	hs_count_unshared(&hs_unwinding_times[bucket], 1);
	hs_stats_add_unshared(unwinding_ns, ns);
}
