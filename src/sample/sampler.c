/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mathematics of sampling, in integers.  See sampler.h.
 */
#include "sample/sampler.h"

#include "base/hot.h"
#include "base/likely.h"
#include "base/stats.h"

__thread struct hs_thread_state hs_thread;

HS_SAMPLE_WORDS _Atomic uint64_t hs_sampler_interval;
HS_SAMPLE_WORDS _Atomic bool hs_sampler_is_ready;

static _Atomic uint64_t ended_with; /* the last interval; set before hs_sampler_interval is 0 */

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
	/* Relaxed: each thread only has to get a number of its own. */
	uint64_t state = seed_base +
			 0xd1342543de82ef95u *
				 (atomic_fetch_add_explicit(&streams, 1, memory_order_relaxed) + 1);

	return hs_sampler_random(&state);
}

void hs_sampler_fork_begins(struct hs_thread_state *thread)
{
	hs_sampler_begin_thread(thread);
	(void)hs_sampler_random(&thread->random);
}

void hs_sampler_after_fork(struct hs_thread_state *thread)
{
	hs_sampler_seed(hs_sampler_random(&thread->random));
	thread->random = hs_sampler_next_stream();
	thread->reported_interval = 0; /* its countdown is drawn anew */
}

/*
 * For mantissas from 1 + k/32 to 1 + (k + 1)/32, whose middle is c = 1 + (2k + 1)/64: 1/c in units
 * of 2^-63, and log2(c) in units of 2^-38.  Never written; not const, so that it is in the page of
 * HS_SAMPLE_DATA.
 */
static HS_SAMPLE_DATA struct {
	uint64_t reciprocal, logarithm;
} parts[32] = {
	{0x7e07e07e07e07e07, 0x016e79685c},
	{0x7a44c6afc2dd9ca8, 0x043ace27e9},
	{0x76b981dae6076b98, 0x06f210902b},
	{0x73615a240e6c2b44, 0x099574f13c},
	{0x70381c0e070381c0, 0x0c2615e818},
	{0x6d3a06d3a06d3a06, 0x0ea4f72619},
	{0x6a63bd81a98ef606, 0x111307dad3},
	{0x67b23a5440cf6474, 0x137124cea5},
	{0x6522c3f35ba78194, 0x15c01a39fc},
	{0x62b2e43dafcea68d, 0x1800a56316},
	{0x6060606060606060, 0x1a33760a7f},
	{0x5e293205e293205e, 0x1c592fad29},
	{0x5c0b81702e05c0b8, 0x1e726aa1e7},
	{0x5a05a05a05a05a05, 0x207fb5172f},
	{0x5816058160581605, 0x228193f544},
	{0x563b48c20563b48c, 0x247883a84e},
	{0x54741fab8be05474, 0x2664f8d569},
	{0x52bf5a814afd6a05, 0x284760fd31},
	{0x511be1958b67ebb9, 0x2a20230e11},
	{0x4f88b2f392a409f1, 0x2bef9fe83c},
	{0x4e04e04e04e04e04, 0x2db632d4ec},
	{0x4c8f8d28ac42fd9b, 0x2f7431f26a},
	{0x4b27ed3604b27ed3, 0x3129ee960e},
	{0x49cd42e2049cd42e, 0x32d7b5a559},
	{0x487ede0487ede048, 0x347dcfe71c},
	{0x473c1ab68a0473c1, 0x361c824d7a},
	{0x4604604604604604, 0x37b40e398d},
	{0x44d72044d72044d7, 0x3944b1b952},
	{0x43b3d5af9a723f78, 0x3acea7c066},
	{0x429a0429a0429a04, 0x3c52285c1c},
	{0x4189374bc6a7ef9d, 0x3dcf68e367},
	{0x4081020408102040, 0x3f469c22f0},
};

/* log2(e) / n for n from 1 to 5, in units of 2^-30. */
#define LOG2E_Q30 0x5c551d95l
#define LOG2E_HALF_Q30 0x2e2a8ecal
#define LOG2E_THIRD_Q30 0x1ec709dcl
#define LOG2E_QUARTER_Q30 0x17154765l
#define LOG2E_FIFTH_Q30 0x12776c51l

static int64_t multiply_q38(int64_t a, int64_t b)
{
	return a * b >> 38;
}

/*
 * log2(1 + e) in units of 2^-38, e too, for |e| <= 1/64: e times the first five terms of its
 * series; the next is below 2^-37.  Each product fits 63 bits.  In pairs, by powers of e squared,
 * which do not wait for each other (Estrin's scheme).
 */
static int64_t log2_of_1_plus(int64_t e)
{
	/* Without its last bits: e squared would not fit. */
	int64_t squared = (e >> 2) * (e >> 2) >> 34;
	int64_t high = multiply_q38(squared, LOG2E_FIFTH_Q30);
	int64_t middle = LOG2E_THIRD_Q30 - multiply_q38(e, LOG2E_QUARTER_Q30) + high;
	int64_t low = LOG2E_Q30 - multiply_q38(e, LOG2E_HALF_Q30);

	return e * (low + multiply_q38(squared, middle)) >> 30;
}

/* -log2(u / 2^64) in units of 2^-32, rounded, for u > 0. */
static uint64_t negative_log2(uint64_t u)
{
	unsigned zeros = (unsigned)__builtin_clzll(u);
	uint64_t mantissa = u << zeros; /* in [1, 2), units of 2^-63 */
	unsigned part = mantissa >> 58 & 31;
	/* The mantissa divided by c: near 1. */
	uint64_t near = (uint64_t)((unsigned __int128)mantissa * parts[part].reciprocal >> 63);
	int64_t logarithm = log2_of_1_plus((int64_t)(near - ((uint64_t)1 << 63)) >> 25) +
			    (int64_t)parts[part].logarithm;

	return ((uint64_t)(zeros + 1) << 32) - (uint64_t)((logarithm + 32) >> 6);
}

static HS_RARE uint64_t draw_bytewise(uint64_t *random, uint64_t interval)
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

/*
 * Inversion: a countdown is floor(-ln u * s) + 1, with s = -1 / ln(1 - 1/n)
 * = n - 1/2 - 1/(12 n) - ..., in units of 2^-20; the terms left out are below 2^-22 of it.  The
 * scale is s ln 2.
 */
uint64_t hs_sampler_scale(uint64_t interval)
{
	uint64_t scale = (interval << 20) - (1u << 19) - twelfth(interval);

	return (uint64_t)((unsigned __int128)scale * LN2_Q64 >> 64);
}

uint64_t hs_sampler_draw(uint64_t *random, uint64_t interval, uint64_t scale)
{
	uint64_t u;

	if (hs_unlikely(interval <= BYTEWISE_INTERVAL))
		return interval <= 1 ? 1 : draw_bytewise(random, interval);
	u = hs_sampler_random(random) | 1;
	return (uint64_t)((unsigned __int128)negative_log2(u) * scale >> 52) + 1;
}

/* Probabilities are in units of 2^-64, rounded down. */
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
