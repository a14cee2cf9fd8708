/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long the sample path takes: two libraries around the one that is measured,
 *
 *     LD_PRELOAD="capture_front.so libheapsample.so capture_back.so"
 *
 * The program calls the front's malloc or calloc, this the library's, and this the back's.  A
 * call's time is that between front and back, on the way there and on the way back; what the
 * allocator takes is not in it.  The library jumps to the back for what it does not sample,
 * and calls it otherwise: so the back's return address says which it was.  capture_floor.so, which
 * always jumps, says so itself.
 */
#ifndef HS_BENCH_CAPTURE_CLOCK_H
#define HS_BENCH_CAPTURE_CLOCK_H

#include <stdint.h>

#include "next.h"

/* The call under way in the thread, written by the back. */
struct clocked_call {
	const void *caller; /* of the back; NULL: it was not reached */
	uint64_t reached, left;
	int is_sample; /* said by hs_bench_note_sample() */
};

/* In the front. */
extern EXPORT __thread struct clocked_call hs_bench_call;

EXPORT void hs_bench_note_sample(void);

/*
 * All that was begun is over, stores too: a copy whose lines another processor has would be
 * paid for by what comes after it.
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
