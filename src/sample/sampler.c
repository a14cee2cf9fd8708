/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mathematics of sampling, in integers.  See sampler.h.
 */
#include "sample/sampler.h"

#include "base/hot.h"
#include "base/likely.h"
#include "base/stats.h"

__thread struct hs_thread_state hs_thread;

HS_SAMPLE_DATA _Atomic uint64_t hs_sampler_interval;
HS_SAMPLE_DATA _Atomic uint32_t hs_sampler_generation;

static _Atomic uint64_t ended_with; /* the interval; set before that is 0 */

static uint64_t seed_base;
static _Atomic uint64_t streams;

/* Below this interval a countdown is drawn byte by byte: exact, and short. */
#define BYTEWISE_INTERVAL 64

/* ln 2 in units of 2^-64. */
#define LN2_Q64 0xb17217f7d1cf79acu

/* splitmix64.  Source: Steele, Lea, Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014. */
uint64_t hs_sampler_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void hs_sampler_end(void)
{
	uint64_t interval = atomic_load_explicit(&hs_sampler_interval, memory_order_relaxed);

	do {
		if (interval == 0)
			return;
		atomic_store_explicit(&ended_with, interval, memory_order_relaxed);
		/* Release: pairs with the acquire in hs_sampler_last_interval(). */
	} while (!atomic_compare_exchange_weak_explicit(
		&hs_sampler_interval, &interval, 0, memory_order_release, memory_order_relaxed));
}

uint64_t hs_sampler_last_interval(void)
{
	uint64_t interval = atomic_load_explicit(&hs_sampler_interval, memory_order_acquire);

	return interval != 0 ? interval : atomic_load_explicit(&ended_with, memory_order_relaxed);
}

void hs_sampler_seed(uint64_t seed)
{
	seed_base = seed;
	atomic_store_explicit(&streams, 0, memory_order_relaxed);
}

uint64_t hs_sampler_next_stream(void)
{
	/* Relaxed: only the number has to be one's own. */
	uint64_t state = seed_base +
			 0xd1342543de82ef95u *
				 (atomic_fetch_add_explicit(&streams, 1, memory_order_relaxed) + 1);

	return hs_sampler_random(&state);
}

/*
 * For the mantissas from 1 + k/32 on, about their middle c = 1 + (2k + 1)/64: 1/c and log2(c), in
 * units of 2^-32.  Never written: not const, to be in the page of HS_SAMPLE_DATA.
 */
static HS_SAMPLE_DATA struct {
	uint32_t reciprocal, logarithm;
} parts[32] = {
	{0xfc0fc0fc, 0x05b9e5a1}, {0xf4898d60, 0x10eb389f},
	{0xed7303b6, 0x1bc84240}, {0xe6c2b448, 0x2655d3c4},
	{0xe070381c, 0x309857a0}, {0xda740da7, 0x3a93dc98},
	{0xd4c77b03, 0x444c1f6b}, {0xcf6474a9, 0x4dc4933a},
	{0xca4587e7, 0x570068e7}, {0xc565c87b, 0x6002958c},
	{0xc0c0c0c1, 0x68cdd829}, {0xbc52640c, 0x7164beb4},
	{0xb81702e0, 0x79c9aa87}, {0xb40b40b4, 0x81fed45c},
	{0xb02c0b03, 0x8a064fd5}, {0xac769184, 0x91e20ea1},
	{0xa8e83f57, 0x9993e355}, {0xa57eb503, 0xa11d83f4},
	{0xa237c32b, 0xa8808c38}, {0x9f1165e7, 0xafbe7fa0},
	{0x9c09c09c, 0xb6d8cb53}, {0x991f1a51, 0xbdd0c7c9},
	{0x964fda6c, 0xc4a7ba58}, {0x939a85c4, 0xcb5ed695},
	{0x90fdbc09, 0xd1f73f9c}, {0x8e78356d, 0xd8720935},
	{0x8c08c08c, 0xded038e6}, {0x89ae408a, 0xe512c6e5},
	{0x8767ab5f, 0xeb3a9f01}, {0x85340853, 0xf148a170},
	{0x83126e98, 0xf73da38d}, {0x81020408, 0xfd1a708b},
};

/* log2(e), and parts of it, in units of 2^-30. */
#define LOG2E_Q30 0x5c551d95l
#define LOG2E_HALF_Q30 0x2e2a8ecal
#define LOG2E_THIRD_Q30 0x1ec709dcl
#define LOG2E_QUARTER_Q30 0x17154765l

static int64_t multiply_q32(int64_t a, int64_t b)
{
	return a * b >> 32;
}

/*
 * -log2(u / 2^64) in units of 2^-32, for u > 0: at most one too small or 7 too large, and never
 * negative (looked at for all mantissas of 32 bits).
 */
static uint64_t negative_log2(uint64_t u)
{
	unsigned zeros = (unsigned)__builtin_clzll(u);
	uint64_t mantissa = u << zeros >> 32; /* in [1, 2), units of 2^-31 */
	unsigned part = mantissa >> 26 & 31;
	/* The mantissa divided by c is 1 + near, |near| <= 1/64: units of 2^-32. */
	int64_t near = (int64_t)(mantissa * parts[part].reciprocal - ((uint64_t)1 << 63)) >> 31;
	/* log2(1 + near) is near times this: four terms of its series. */
	int64_t slope = LOG2E_THIRD_Q30 - multiply_q32(near, LOG2E_QUARTER_Q30);

	slope = LOG2E_HALF_Q30 - multiply_q32(near, slope);
	slope = LOG2E_Q30 - multiply_q32(near, slope);
	return ((uint64_t)(zeros + 1) << 32) - parts[part].logarithm -
	       (uint64_t)(near * slope >> 30);
}

static uint64_t draw_bytewise(uint64_t *random, uint64_t interval)
{
	uint64_t chance = UINT64_MAX / interval;
	uint64_t bytes = 1;

	/* The bound is never met in practice: (1 - 1/64)^65536 is below 2^-1400. */
	while (bytes < 65536 && hs_sampler_random(random) > chance)
		bytes++;
	return bytes;
}

/* 1 / (12 n) in units of 2^-20. */
static uint32_t twelfth(uint64_t interval)
{
	return interval < (1u << 20) / 12 ? (1u << 20) / 12 / (uint32_t)interval : 0;
}

uint64_t hs_sampler_draw(uint64_t *random, uint64_t interval)
{
	if (hs_unlikely(interval <= 1))
		return 1;
	if (hs_unlikely(interval <= BYTEWISE_INTERVAL))
		return draw_bytewise(random, interval);

	/*
	 * Inversion: floor(-ln u * s) + 1, with s = -1 / ln(1 - 1/n)
	 * = n - 1/2 - 1/(12 n) - ..., in units of 2^-20; the terms left out are below
	 * 2^-24 of it.
	 */
	uint64_t scale = (interval << 20) - (1u << 19) - twelfth(interval);
	uint64_t log2_scale = (uint64_t)((unsigned __int128)scale * LN2_Q64 >> 64);
	uint64_t u = hs_sampler_random(random) | 1;

	return (uint64_t)((unsigned __int128)negative_log2(u) * log2_scale >> 52) + 1;
}

/* Probabilities are in units of 2^-64, a little less than they are. */
static uint64_t missed_by_one(uint64_t interval)
{
	return UINT64_MAX - UINT64_MAX / interval;
}

static uint64_t squared(uint64_t probability)
{
	return (uint64_t)((unsigned __int128)probability * probability >> 64);
}

static uint64_t missed_too(uint64_t missed, uint64_t probability)
{
	return (uint64_t)(((unsigned __int128)missed * probability + missed) >> 64);
}

static uint64_t weight_if_missed(uint64_t missed)
{
	return (uint64_t)(((unsigned __int128)1 << (64 + HS_WEIGHT_SHIFT)) /
			  (((unsigned __int128)1 << 64) - missed));
}

uint64_t hs_sampler_weight(uint64_t size, uint64_t interval)
{
	uint64_t power, missed = UINT64_MAX; /* (1 - 1/n)^k */

	if (interval <= 1)
		return HS_WEIGHT_ONE;
	power = missed_by_one(interval);
	for (uint64_t k = size + (size == 0); k > 0; k >>= 1) {
		if (k & 1)
			missed = missed_too(missed, power);
		power = squared(power);
	}
	return weight_if_missed(missed);
}

static void set_interval(struct hs_weigher *weigher, uint64_t interval)
{
	weigher->interval = interval;
	weigher->missed[0] = missed_by_one(interval);
	for (int i = 1; i < HS_WEIGHER_POWERS; i++)
		weigher->missed[i] = squared(weigher->missed[i - 1]);
}

uint64_t hs_weigher_weight(struct hs_weigher *weigher, uint64_t size, uint64_t interval)
{
	uint64_t missed = UINT64_MAX;

	if (interval <= 1)
		return HS_WEIGHT_ONE;
	if (weigher->interval != interval)
		set_interval(weigher, interval);
	for (uint64_t k = size + (size == 0); k > 0; k &= k - 1)
		missed = missed_too(missed, weigher->missed[__builtin_ctzll(k)]);
	return weight_if_missed(missed);
}

void hs_sampler_settle(struct hs_thread_state *thread, uint64_t countdown)
{
	hs_stats_add(allocated_bytes, thread->drawn - countdown);
	thread->drawn = countdown;
}
