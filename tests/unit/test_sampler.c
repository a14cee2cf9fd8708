/* SPDX-License-Identifier: BSD-2-Clause */
/* The sampler, compared with theory, at k standard deviations, with fixed seeds. */
#include "sample/heap.h"
#include "sample/sampler.c"

#include <math.h>

#include "base/arena.h"
#include "base/stats.h"
#include "check.h"
#include "sample/recorder.h"
#include "sample_testing.h"

#define DRAWS 400000
#define SIGMAS 4.5L

static const uint64_t intervals[] = {
	1, 2, 3, 16, 64, 65, 512, 4096, 524288, (uint64_t)1 << 38,
};
#define INTERVALS (sizeof intervals / sizeof *intervals)

static void check_near(const char *what, uint64_t interval, long double got, long double want,
		       long double sigma)
{
	if (fabsl(got - want) <= SIGMAS * sigma)
		return;
	fprintf(stderr, "interval %llu: %s is %Lg, expected %Lg +- %Lg\n",
		(unsigned long long)interval, what, got, want, sigma);
	check_failures++;
}

static void check_log2(uint64_t u)
{
	long double want = (64 - log2l(u)) * 4294967296.0L;

	CHECK(fabsl(negative_log2(u) - want) <= 1.01L);
}

static void test_log2(void)
{
	uint64_t random = 1;

	check_log2(1);
	check_log2(UINT64_MAX);
	/* A draw below 0 would be a countdown that does not end. */
	for (uint64_t mantissa = UINT32_MAX; mantissa > UINT32_MAX - 100000u; mantissa--) {
		check_log2(mantissa << 32);
		check_log2(mantissa << 32 | UINT32_MAX);
	}
	for (unsigned part = 0; part < 64; part++) {
		uint64_t edge = (uint64_t)(32 + part % 32) << 58;

		for (unsigned zeros = 0; zeros < 58; zeros += 1 + part % 5) {
			check_log2(edge >> zeros);
			check_log2((edge >> zeros) - 1);
			check_log2((edge >> zeros) + 1);
		}
	}
	for (unsigned i = 0; i < 1000000; i++)
		check_log2(hs_sampler_random(&random) >> i % 64 | 1);
}

static uint64_t undo_xor_shift(uint64_t z, unsigned shift)
{
	uint64_t undone = z;

	for (unsigned known = shift; known < 64; known += shift)
		undone = z ^ undone >> shift;
	return undone;
}

/* The draw that is made of this random number: from the generator's state before it. */
static uint64_t draw_of(uint64_t number, uint64_t interval)
{
	uint64_t state, random;

	/* The inverses of the generator's factors. */
	state = undo_xor_shift(number, 31) * 0x319642b2d24d8ec3u;
	state = undo_xor_shift(state, 27) * 0x96de1b173f119089u;
	state = random = undo_xor_shift(state, 30) - 0x9e3779b97f4a7c15u;
	CHECK(hs_sampler_random(&state) == number);
	return hs_sampler_draw(&random, interval, hs_sampler_scale(interval));
}

/* Finds what is far less than the draws' spread. */
static void test_draws_of_known_numbers(void)
{
	uint64_t random = 1, interval = 2;

	for (; interval <= BYTEWISE_INTERVAL; interval++) {
		CHECK_INT(draw_of(0, interval), 1);
		CHECK_INT(draw_of(UINT64_MAX / interval, interval), 1);
		CHECK(draw_of(UINT64_MAX / interval + 1, interval) > 1);
	}
	for (; interval <= HS_INTERVAL_MAX; interval += interval / 9 + 1) {
		for (unsigned shift = 0; shift < 64; shift++) {
			uint64_t u = hs_sampler_random(&random) >> shift | 1;
			long double want = (logl(u) - 64 * logl(2)) / log1pl(-1.0L / interval) + 1;

			/* A draw is the integer below, of a logarithm in units of 2^-32. */
			CHECK(fabsl(draw_of(u, interval) + 0.5L - want) <=
			      0.5L + 0x1p-31L * interval + 0x1p-22L * want);
		}
	}
}

/* P(draw > n), without cancellation. */
static long double survival(uint64_t n, uint64_t interval)
{
	return interval == 1 ? (n == 0) : expl((long double)n * log1pl(-1.0L / interval));
}

/* Checks mean, variance and distribution function: it must be a geometric distribution. */
static void check_draws(uint64_t interval)
{
	static const long double points[] = { 0.01L, 0.1L, 0.5L, 1, 2, 5 };
	enum { POINTS = sizeof points / sizeof *points };
	uint64_t limits[POINTS + 1], random = 42 + interval, scale = hs_sampler_scale(interval);
	unsigned below[POINTS + 1] = { 0 };
	long double p = 1.0L / interval, mean = interval, variance = (1 - p) / (p * p);
	long double sum = 0, squares = 0, kurtosis = 9 + p * p / (1 - p + (p == 1));

	for (unsigned i = 0; i < POINTS; i++)
		limits[i] = (uint64_t)(points[i] * interval);
	limits[POINTS] = 1;
	for (unsigned n = 0; n < DRAWS; n++) {
		uint64_t drawn = hs_sampler_draw(&random, interval, scale);

		CHECK(drawn >= 1);
		sum += drawn;
		squares += (drawn - mean) * (drawn - mean);
		for (unsigned i = 0; i <= POINTS; i++)
			below[i] += drawn <= limits[i];
	}
	check_near("mean", interval, sum / DRAWS, mean, sqrtl(variance / DRAWS));
	check_near("variance", interval, squares / DRAWS, variance,
		   variance * sqrtl((kurtosis - 1) / DRAWS));
	for (unsigned i = 0; i <= POINTS; i++) {
		long double want = 1 - survival(limits[i], interval);

		check_near("P(<= n)", interval, (long double)below[i] / DRAWS, want,
			   sqrtl(want * (1 - want) / DRAWS));
	}
}

static void test_draws(void)
{
	for (unsigned i = 0; i < INTERVALS; i++)
		check_draws(intervals[i]);
}

static void test_weights(void)
{
	static struct hs_weigher weigher;
	long double worst = 0;

	for (unsigned i = 0; i < INTERVALS; i++) {
		uint64_t interval = intervals[i];

		for (uint64_t size = 0; size < (uint64_t)1 << 46; size += size / 7 + 1) {
			long double log_missed =
				(long double)(size + (size == 0)) * log1pl(-1.0L / interval);
			long double want = interval == 1 ? 1 : -1 / expm1l(log_missed);
			long double got =
				(long double)hs_sampler_weight(size, interval) / HS_WEIGHT_ONE;
			long double error = fabsl(got - want) / want;

			worst = error > worst ? error : worst;
			CHECK(error <= 1e-6L);
			CHECK_INT(hs_weigher_weight(&weigher, size, interval),
				  hs_sampler_weight(size, interval));
		}
	}
	printf("largest relative error of a weight: %Lg\n", worst);
	CHECK_INT(hs_sampler_weight(0, 4096), hs_sampler_weight(1, 4096));
	CHECK_INT(hs_sampler_weight(12345, 1), HS_WEIGHT_ONE);
}

static void test_streams_differ_and_repeat(void)
{
	uint64_t first, second;

	hs_sampler_seed(7);
	first = hs_sampler_next_stream();
	second = hs_sampler_next_stream();
	CHECK(first != second);
	hs_sampler_seed(7);
	CHECK(hs_sampler_next_stream() == first);
	CHECK(hs_sampler_next_stream() == second);
	hs_sampler_seed(8);
	CHECK(hs_sampler_next_stream() != first);
}

static void test_the_end_keeps_the_interval(void)
{
	atomic_store(&hs_sampler_interval, 4096);
	CHECK_INT(hs_sampler_last_interval(), 4096);
	atomic_store(&hs_sampler_interval, 8192);
	hs_sampler_end();
	hs_sampler_end();
	CHECK_INT(hs_sampler_interval, 0);
	CHECK_INT(hs_sampler_last_interval(), 8192);
	atomic_store(&hs_sampler_interval, 64);
	CHECK_INT(hs_sampler_last_interval(), 64);
}

#define ALLOCATIONS 2000000

/*
 * End to end, as the interposer calls it.  The ring has no room, so all weights go to the lost
 * totals: these are sums over all samples.  Sizes are from a fixed sequence.
 * levels: after each few allocations the interval is one of so many, each twice the one before.
 * per_thread: after so many allocations they are another thread's.
 */
static void check_unbiased(uint64_t interval, unsigned levels, unsigned per_thread)
{
	const struct hs_regs regs = {.sp = (uintptr_t)__builtin_frame_address(0)};
	long double bytes = 0, variance_objects = 0, variance_bytes = 0;
	uint64_t size_random = 99;
	uint64_t exact = hs_stats_get(allocated_bytes);

	hs_heap_forget_lost(HS_HEAP_MALLOC);
	atomic_store(&hs_sampler_interval, interval);
	atomic_store(&hs_sampler_is_ready, true);
	hs_thread.has_drawn = false;
	for (unsigned i = 0; i < ALLOCATIONS; i++) {
		/* From 1 to 100000, each magnitude as likely as any other. */
		uint64_t z = (size_random = size_random * 6364136223846793005u + 1) >> 33;
		size_t size = (z % 100000 >> z / 100000 % 17) + 1;
		long double missed;

		if (i % 5 == 0)
			atomic_store(&hs_sampler_interval, interval << z / 1700000 % levels);
		if (i % per_thread == 0) {
			hs_record_settle();
			hs_thread = (struct hs_thread_state){ 0 };
		}
		/* A countdown goes on with the interval that it was drawn with. */
		missed = survival(size, i % per_thread == 0 ? hs_sampler_interval
							    : hs_thread.interval_bytes);
		if (!hs_sampler_passes(size))
			hs_record_allocation(&size_random, size, &regs);
		bytes += size;
		variance_objects += missed / (1 - missed);
		variance_bytes += missed / (1 - missed) * size * size;
	}
	check_near("objects", interval,
		   (long double)hs_heap_lost_weight(HS_HEAP_MALLOC) / HS_WEIGHT_ONE, ALLOCATIONS,
		   sqrtl(variance_objects) * 4 / SIGMAS + 1e-6L * ALLOCATIONS);
	check_near("bytes", interval, hs_heaps[HS_HEAP_MALLOC].lost.bytes, bytes,
		   sqrtl(variance_bytes) * 4 / SIGMAS + 1e-6L * bytes);
	hs_record_settle();
	CHECK_INT(hs_stats_get(allocated_bytes) - exact, (uint64_t)bytes);
}

static void make_full_ring(void)
{
	static _Alignas(4096) unsigned char memory[3 * 4096];
	static struct hs_ring ring;
	uint64_t open;

	CHECK_INT(hs_arena_init((size_t)64 << 20), 0);
	CHECK_INT(live_init(1000, 100), 0);
	hs_ring_init(&ring, memory, 4096);
	hs_recorder.ring = &ring;
	while (hs_ring_reserve(&ring, 16, HS_RING_KEPT, 1, 0, &open) != NULL)
		;
	hs_sampler_seed(1);
}

static void test_totals_are_unbiased(void)
{
	static const uint64_t of_totals[] = { 1, 16, 512, 4096, 65536, 524288 };

	make_full_ring();
	for (unsigned i = 0; i < sizeof of_totals / sizeof *of_totals; i++)
		check_unbiased(of_totals[i], 1, ALLOCATIONS);
	CHECK_INT(hs_live_set_used(), 0);
}

static void test_intervals_that_change(void)
{
	check_unbiased(1, 4, ALLOCATIONS);
	check_unbiased(16, 4, ALLOCATIONS);
	check_unbiased(4096, 5, ALLOCATIONS);
}

static void test_short_threads(void)
{
	check_unbiased(64, 1, 1);
	check_unbiased(4096, 1, 3);
	check_unbiased(262144, 3, 7);
}

int main(void)
{
	RUN(test_log2);
	RUN(test_draws_of_known_numbers);
	RUN(test_draws);
	RUN(test_weights);
	RUN(test_streams_differ_and_repeat);
	RUN(test_the_end_keeps_the_interval);
	RUN(test_totals_are_unbiased);
	RUN(test_intervals_that_change);
	RUN(test_short_threads);
	return CHECK_RESULT();
}
