/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes who called the allocator, and when.  See capture_clock.h. */
#include "capture_clock.h"

EXPORT void *malloc(size_t size)
{
	uint64_t reached = ticks();
	void *block = next.malloc(size);

	hs_bench_call.caller = __builtin_return_address(0);
	hs_bench_call.reached = reached;
	hs_bench_call.left = ticks();
	return block;
}

EXPORT void *calloc(size_t count, size_t size)
{
	uint64_t reached = ticks();
	void *block = next.calloc(count, size);

	hs_bench_call.caller = __builtin_return_address(0);
	hs_bench_call.reached = reached;
	hs_bench_call.left = ticks();
	return block;
}
