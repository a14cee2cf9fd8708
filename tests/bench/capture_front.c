/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times the calls of malloc and calloc.  See capture_clock.h.
 *
 * At exit it writes two histograms to $BENCH_CLOCK: of calls that the library passed on with a
 * jump, and of the others, which are samples (and the first call of each thread).  Calls before
 * this library's constructor, which runs after those of the other libraries, are not counted.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "capture_clock.h"

/* Each power of two has 32 buckets, so values are exact to 3 %. */
enum { STEP_BITS = 5, STEPS = 1 << STEP_BITS, BUCKETS = (64 - STEP_BITS + 1) * STEPS };

__thread struct clocked_call hs_bench_call;

/* The bounds of this library's code, set by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/*
 * Up to COPIES threads have histograms of their own.  If they shared them they would take the cache
 * lines from each other at each call, which would delay the samples.
 */
enum { COPIES = 16 };
enum kind { PASSED_ON, SAMPLES, KINDS };
struct histograms {
	_Alignas(64) _Atomic uint64_t calls[KINDS][BUCKETS];
};
static struct histograms copies[COPIES];
static _Atomic unsigned threads;
static __thread struct histograms *own; /* NULL: the thread has not counted yet */
static uint64_t start_ticks, start_ns;

static unsigned bucket_of(uint64_t time)
{
	unsigned shift;

	if (time < STEPS)
		return (unsigned)time;
	shift = 63 - (unsigned)__builtin_clzll(time) - STEP_BITS;
	return shift * STEPS + (unsigned)(time >> shift);
}

static uint64_t middle_of(unsigned bucket)
{
	unsigned shift = bucket < 2 * STEPS ? 0 : bucket / STEPS - 1;

	return ((uint64_t)(bucket - shift * STEPS) << shift) + ((uint64_t)1 << shift) / 2;
}

static struct histograms *own_histograms(void)
{
	if (own == NULL)
		own = &copies[atomic_fetch_add(&threads, 1) % COPIES];
	return own;
}

/* Counts the current call.  outer: the state of the call around it, to restore. */
static void count(uint64_t start, uint64_t end, const struct clocked_call *outer)
{
	const struct clocked_call *call = &hs_bench_call;
	const char *caller = call->caller;

	if (caller != NULL && start_ticks != 0) {
		unsigned bucket = bucket_of(call->reached - start + end - call->left);
		int is_passed = caller >= __ehdr_start && caller < etext;
		enum kind kind = is_passed ? PASSED_ON : SAMPLES;

		atomic_fetch_add_explicit(&own_histograms()->calls[kind][bucket], 1,
					  memory_order_relaxed);
	}
	hs_bench_call = *outer;
}

EXPORT void *malloc(size_t size)
{
	struct clocked_call outer = hs_bench_call;
	uint64_t start;
	void *block;

	hs_bench_call = (struct clocked_call){0};
	start = ticks();
	block = next.malloc(size);
	count(start, ticks(), &outer);
	return block;
}

EXPORT void *calloc(size_t members, size_t size)
{
	struct clocked_call outer = hs_bench_call;
	uint64_t start;
	void *block;

	hs_bench_call = (struct clocked_call){0};
	start = ticks();
	block = next.calloc(members, size);
	count(start, ticks(), &outer);
	return block;
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static __attribute__((constructor)) void begin(void)
{
	start_ns = now_ns();
	start_ticks = ticks();
}

static void write_histogram(int file, const char *name, enum kind kind)
{
	const char *comma = "";

	dprintf(file, ", \"%s\": [", name);
	for (unsigned i = 0; i < BUCKETS; i++) {
		unsigned long long calls = 0;

		for (unsigned copy = 0; copy < COPIES; copy++)
			calls += copies[copy].calls[kind][i];
		if (calls == 0)
			continue;
		dprintf(file, "%s[%llu, %llu]", comma, (unsigned long long)middle_of(i), calls);
		comma = ", ";
	}
	dprintf(file, "]");
}

/* A histogram is an array of pairs [ticks, calls]. */
static __attribute__((destructor)) void write_clock(void)
{
	double ns_per_tick = (double)(now_ns() - start_ns) / (double)(ticks() - start_ticks);
	const char *path = getenv("BENCH_CLOCK");
	int file = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;

	if (file < 0)
		return;
	dprintf(file, "{\"ns_per_tick\": %.9f", ns_per_tick);
	write_histogram(file, "passed_on", PASSED_ON);
	write_histogram(file, "samples", SAMPLES);
	dprintf(file, "}\n");
	close(file);
}
