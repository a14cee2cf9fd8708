/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each allocation and each free reads, apart from its thread's countdown and one byte of the
 * live set's filter: side by side in one cache line, in a section of their own.  A program that
 * fills the caches with its own data waits for each line of ours anew, every time.
 *
 * The next allocator's four functions come first (preload/next_alloc.c), and align the section to
 * a line; the rest follows in the order in which it is linked.  No more than 64 bytes in all.
 */
#ifndef HS_BASE_HOT_H
#define HS_BASE_HOT_H

#define HS_CACHE_LINE_BYTES 64

#define HS_HOT __attribute__((section("hs_hot")))

/*
 * What each sample writes, whichever thread takes it, in one cache line too: a processor then gets
 * one line from the one that has taken the sample before, and not one for each of these.  The live
 * set's free list is linked first, and aligns the section.  No more than 64 bytes in all.
 */
#define HS_EACH_SAMPLE __attribute__((section("hs_each_sample")))

/*
 * Words that samples read, and that seldom change: in two cache lines, for each is waited for
 * where samples are rare.
 */
#define HS_SAMPLE_WORDS __attribute__((section("hs_sample_words")))

/*
 * What samples use besides, and the code that they run.  Where samples are rare the program has
 * used the caches for itself since the last one, those of translations too, and a page that is met
 * anew is waited for longer than a line (ARCHITECTURE, Stacks).  So data is in the page of what is
 * above, the heaps last, of which the first two are in that page (preload/layout.S).  The
 * code is where linkers gather what is hot, with malloc and free: three pages.
 */
#define HS_SAMPLE_DATA __attribute__((section("hs_sample_data")))
#define HS_SAMPLE_HEAPS __attribute__((section("hs_sample_heaps")))
#define HS_SAMPLE_CODE __attribute__((hot))

#endif
