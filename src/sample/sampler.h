/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which allocations are sampled.
 *
 * Each byte allocated is chosen with probability 1 / interval, independently; an
 * allocation is sampled if one of its bytes is.  So the number of bytes up to and
 * including the next chosen one has a geometric distribution: it is drawn once per
 * sample and counted down by the size of each allocation.  malloc(0) counts as one
 * byte.  An allocation of n bytes is sampled with probability
 *
 *     p(n) = 1 - (1 - 1/interval)^max(n, 1)
 *
 * and its weight 1 / p(n) makes sums over samples unbiased estimates of sums over
 * allocations: objects += weight, bytes += weight * n.  With interval 1 all of it is
 * exact.  After a sample the countdown is drawn anew; what other bytes of the sampled
 * allocation were chosen does not matter, since the distribution has no memory.
 *
 * The draw and the weight use integer arithmetic only: a program may have changed
 * the floating-point environment, or unmasked its exceptions.
 *
 * The countdowns also give the exact number of bytes allocated: settling adds what a thread has
 * counted down since it last settled to hs_stats.allocated_bytes.  A thread settles when it ends,
 * and at a sample if enough has come together.  Missing is what live threads have allocated since,
 * and what destructors allocate after the end of a thread has been seen; failed calls that passed
 * the fast path are counted too.
 */
#ifndef HS_SAMPLE_SAMPLER_H
#define HS_SAMPLE_SAMPLER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/fast_path.h"
#include "base/hot.h"
#include "base/likely.h"
#include "base/visibility.h"
#include "sample/thread_state.h"

/* Weights are fixed-point numbers with this many fractional bits. */
#define HS_WEIGHT_SHIFT 24
#define HS_WEIGHT_ONE ((uint64_t)1 << HS_WEIGHT_SHIFT)

/*
 * A sum of weights as an integer, for a profile.  bias: added before the fraction is cut off, less
 * than HS_WEIGHT_ONE; half of that rounds to the nearest.
 */
static inline int64_t hs_weight_cut(unsigned __int128 sum, uint64_t bias)
{
	unsigned __int128 cut = (sum + bias) >> HS_WEIGHT_SHIFT;

	return cut > INT64_MAX ? INT64_MAX : (int64_t)cut;
}

/* To the nearest integer. */
static inline int64_t hs_weight_round(unsigned __int128 sum)
{
	return hs_weight_cut(sum, HS_WEIGHT_ONE / 2);
}

/*
 * Up to this interval samples are dense: they follow each other so closely that what they use is
 * still in the processor's caches, and prefetching for the next one makes sense.
 */
#define HS_DENSE_INTERVAL ((uint64_t)16 << 10)

/* The largest interval: the weight of one byte still fits 64 bits. */
#define HS_INTERVAL_MAX ((uint64_t)1 << 38)

/*
 * The interval for countdowns drawn from now on; 0 = sampling is off.
 * Written by: session (start, stop) and producer (memory budget); a thread that still sees the
 * old value draws one more countdown with it, and its weight follows that countdown.
 * Ordering: release at the start, acquire in hs_heap_interval(): whoever finds sampling on also
 * finds what was set before.  Later changes publish nothing.
 */
extern HS_HIDDEN _Atomic uint64_t hs_sampler_interval;

/* Ends sampling for good: the interval is 0 from now on.  Any thread. */
void hs_sampler_end(void);

static inline bool hs_sampler_has_ended(void)
{
	return atomic_load_explicit(&hs_sampler_interval, memory_order_relaxed) == 0;
}

/* The interval; once sampling has ended, the last one. */
uint64_t hs_sampler_last_interval(void);

/*
 * Whether start-up is over, and threads may draw countdowns.  Set once.
 * Ordering: release in session.c, acquire in hs_record_allocation(): who finds it set finds all
 * that start-up has set.
 */
extern HS_HIDDEN _Atomic bool hs_sampler_is_ready;

/*
 * Seeds the threads' random generators: the n-th thread to allocate gets the n-th stream.
 * Start-up.
 */
void hs_sampler_seed(uint64_t seed);

/* A thread's generator state, for its first draw.  Any thread. */
uint64_t hs_sampler_next_stream(void);

/* The next 64 random bits.  random: generator state, advanced. */
uint64_t hs_sampler_random(uint64_t *random);

/* To be called before a thread of the program draws: prepares one that has never done so. */
static inline void hs_sampler_begin_thread(struct hs_thread_state *thread)
{
	if (thread->kind != HS_THREAD_NEW)
		return;
	thread->kind = HS_THREAD_PROGRAM;
	thread->random = hs_sampler_next_stream();
}

/*
 * Before each fork, in the thread that forks: its children's numbers are to differ from each
 * other's.
 */
void hs_sampler_fork_begins(struct hs_thread_state *thread);

/* In the child: what its threads draw from now on are not its parent's numbers. */
void hs_sampler_after_fork(struct hs_thread_state *thread);

/*
 * The fast path: counts an allocation down.  True: not sampled, done.  False: the
 * slow path decides; the countdown is untouched.
 * Called on: the program's threads, before the allocation.  Never blocks.
 */
static inline bool hs_sampler_passes(size_t size)
{
	uint64_t left = hs_thread.bytes_until_sample;

	if (hs_unlikely(hs_arch_count_down(&left, size)))
		return false;
	hs_thread.bytes_until_sample = left;
	return true;
}

/* The factor by which countdowns of an interval are drawn; callers keep it with the interval. */
uint64_t hs_sampler_scale(uint64_t interval_bytes);

/*
 * Draws a countdown: the number of bytes up to and including the next sampled one, at least 1.
 * random: generator state, advanced.  scale: hs_sampler_scale() of the interval.
 */
HS_SAMPLE_CODE uint64_t hs_sampler_draw(uint64_t *random, uint64_t interval_bytes, uint64_t scale);

/* 1 / p(size) in units of 1 / HS_WEIGHT_ONE. */
uint64_t hs_sampler_weight(uint64_t size, uint64_t interval_bytes);

#define HS_WEIGHER_POWERS 64

/* Computes many weights, and keeps what depends on the interval alone.  Begins as all 0. */
struct hs_weigher {
	uint64_t interval;
	uint64_t missed[HS_WEIGHER_POWERS]; /* probability that none of 2^i bytes is chosen, Q64 */
};

/* The same as hs_sampler_weight(). */
uint64_t hs_weigher_weight(struct hs_weigher *weigher, uint64_t size, uint64_t interval_bytes);

/* Adds what the thread has counted down since it last settled to the exact total. */
HS_SAMPLE_CODE void hs_sampler_settle(struct hs_thread_state *thread, uint64_t countdown);

#endif
