/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times the sample path with two libraries around the one that is measured:
 *
 *     LD_PRELOAD="capture_front.so libheapsample.so capture_back.so"
 *
 * The program calls the front's malloc or calloc, the front the library's, and the library the
 * back's.  A call's time is that from front to back and from back to front, without the allocator.
 *
 * A library jumps to the back for an allocation that it does not sample, and calls it otherwise;
 * the back's return address shows which.
 */
#ifndef HS_BENCH_CAPTURE_CLOCK_H
#define HS_BENCH_CAPTURE_CLOCK_H

#include <stdint.h>

#include "next.h"

/* The thread's current call, written by the back. */
struct clocked_call {
	const void *caller;     /* of the back; NULL: it was not called */
	uint64_t reached, left; /* when it was called, and when it returned */
};

/* Defined by the front. */
extern EXPORT __thread struct clocked_call hs_bench_call;

/*
 * Reads the time stamp counter when all earlier instructions and stores are done.  Otherwise later
 * code would pay for a copy to cache lines that another processor holds.
 */
static inline uint64_t ticks(void)
{
	uint64_t now;

	__builtin_ia32_mfence();
	__builtin_ia32_lfence();
	now = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
	return now;
}

#endif
