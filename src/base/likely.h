/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which way a condition goes as a rule.  For the sample path, which is to be laid out in one line:
 * samples are rare, the processor has forgotten the branches of the one before, and goes straight
 * on.  Each that is taken costs it some 20 cycles then, and there were sixty.
 */
#ifndef HS_BASE_LIKELY_H
#define HS_BASE_LIKELY_H

#define hs_likely(condition) __builtin_expect(!!(condition), 1)
#define hs_unlikely(condition) __builtin_expect(!!(condition), 0)

/* A function that is called where the path is left for good: both lie elsewhere. */
#define HS_RARE __attribute__((cold, noinline))

#endif
