/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sections that keep together what is used together.  The program fills the caches with its own
 * data, so each cache line and each page of ours that a path touches may be a miss, every time.
 *
 * HS_HOT: what every malloc() and free() reads, besides the thread's countdown and a byte of the
 * live set's filter.  One cache line: at most 64 bytes in all.  The pointers to the next allocator
 * (preload/next.c) come first and align it; the rest follows in link order.
 */
#ifndef HS_BASE_HOT_H
#define HS_BASE_HOT_H

#define HS_CACHE_LINE_BYTES 64u

#define HS_HOT __attribute__((section("hs_hot")))

/*
 * What every sample writes, on whichever thread.  One cache line, at most 64 bytes, so that only
 * one has to come from the processor that took the sample before.  The live set's free list is
 * linked first and aligns it.
 */
#define HS_EACH_SAMPLE __attribute__((section("hs_each_sample")))

/* Words that samples read and that seldom change.  Two cache lines. */
#define HS_SAMPLE_WORDS __attribute__((section("hs_sample_words")))

/*
 * Other data of samples, and the code that they run.  A page missing in the TLB costs more than a
 * line missing in the cache (tests/bench/FINDINGS).  So the data is in one page with the sections
 * above; the heaps come last, and the first two of them are in it too (preload/layout.S).  The code
 * of a sample of malloc or calloc whose stack is copied is in two pages, the first of all, with
 * malloc and free: where linkers gather hot functions.  There is no room in them for any other.
 */
#define HS_SAMPLE_DATA __attribute__((section("hs_sample_data")))
#define HS_SAMPLE_HEAPS __attribute__((section("hs_sample_heaps")))
#define HS_SAMPLE_CODE __attribute__((hot))

#endif
