/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which way a condition usually goes, for the code of a sample: its usual way shall take no jump.
 * Samples are so rare that the processor has forgotten its branches and predicts them not taken;
 * each jump then costs some 20 cycles, and there were sixty.
 */
#ifndef HS_BASE_LIKELY_H
#define HS_BASE_LIKELY_H

#define hs_likely(condition) __builtin_expect(!!(condition), 1)
#define hs_unlikely(condition) __builtin_expect(!!(condition), 0)

/* A function of the unusual way.  It, and the code that calls it, are kept away from the usual. */
#define HS_RARE __attribute__((cold, noinline))

#endif
