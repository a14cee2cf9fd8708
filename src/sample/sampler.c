/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mathematics of sampling, in integers.  See sampler.h.
 */
#include "sample/sampler.h"

#include "base/stats.h"

__thread struct hs_thread_state hs_thread;

_Atomic uint64_t hs_sampler_interval;
_Atomic uint32_t hs_sampler_generation;

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
 * -log2(u / 2^64) in units of 2^-32, for u > 0.  The fractional bits of the logarithm
 * come one by one from squaring the mantissa.
 */
static uint64_t negative_log2(uint64_t u)
{
	unsigned zeros = (unsigned)__builtin_clzll(u);
	uint64_t mantissa = u << zeros; /* in [1, 2), units of 2^-63 */
	uint64_t fraction = 0;

	for (int bit = 0; bit < 32; bit++) {
		unsigned __int128 square = (unsigned __int128)mantissa * mantissa >> 63;
		bool carry = (uint64_t)(square >> 64) != 0;

		fraction = fraction << 1 | carry;
		mantissa = (uint64_t)(carry ? square >> 1 : square);
	}
	return ((uint64_t)(zeros + 1) << 32) - fraction;
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

uint64_t hs_sampler_draw(uint64_t *random, uint64_t interval)
{
	if (interval <= 1)
		return 1;
	if (interval <= BYTEWISE_INTERVAL)
		return draw_bytewise(random, interval);

	/*
	 * Inversion: floor(-ln u * s) + 1, with s = -1 / ln(1 - 1/n)
	 * = n - 1/2 - 1/(12 n) - ..., in units of 2^-20; the terms left out are below
	 * 2^-24 of it.
	 */
	uint64_t scale = (interval << 20) - (1u << 19) - (1u << 20) / (12 * interval);
	uint64_t log2_scale = (uint64_t)((unsigned __int128)scale * LN2_Q64 >> 64);
	uint64_t u = hs_sampler_random(random) | 1;

	return (uint64_t)((unsigned __int128)negative_log2(u) * log2_scale >> 52) + 1;
}

uint64_t hs_sampler_weight(uint64_t size, uint64_t interval)
{
	uint64_t base, missed = UINT64_MAX; /* (1 - 1/n)^k, units of 2^-64 */

	if (interval <= 1)
		return HS_WEIGHT_ONE;
	base = UINT64_MAX - UINT64_MAX / interval;
	for (uint64_t k = size + (size == 0); k > 0; k >>= 1) {
		if (k & 1)
			missed = (uint64_t)(((unsigned __int128)missed * base + missed) >> 64);
		base = (uint64_t)((unsigned __int128)base * base >> 64);
	}
	return (uint64_t)(((unsigned __int128)1 << (64 + HS_WEIGHT_SHIFT)) /
			  (((unsigned __int128)1 << 64) - missed));
}

void hs_sampler_settle(struct hs_thread_state *thread, uint64_t countdown)
{
	hs_stats_add(allocated_bytes, thread->drawn - countdown);
	thread->drawn = countdown;
}
