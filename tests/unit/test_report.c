/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampling of reported heaps, compared with theory, at 5 standard deviations, with fixed seeds:
 * several intervals with one countdown, intervals that change, sampling that stops.  Also what is
 * recorded.
 */
#include "sample/report.h"

#include <math.h>
#include <pthread.h>

#include "base/arena.h"
#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "random_numbers.h"
#include "sample/record.h"
#include "sample/sampler.h"
#include "sample_testing.h"

enum { HEAPS = 3, FIRST = HS_HEAP_FIRST_REPORTED, SPARE = FIRST + HEAPS };

#define INTERVAL ((uint64_t)512 << 10)
#define RING_BYTES 4096u

static struct hs_ring ring;
static struct hs_regs here;

/* What was reported of a heap while it was sampled, and the variances of the estimates. */
static struct truth {
	long double objects, bytes, objects_variance, bytes_variance;
} truth[HEAPS];

static uint64_t next_random(void)
{
	static uint64_t state = 99;

	return random_next(&state);
}

/* A size from 0 to 2^20, each magnitude as likely as any other. */
static uint64_t next_size(void)
{
	uint64_t bits = next_random() % 22;

	return bits == 0 ? 0 : next_random() % ((uint64_t)1 << (bits - 1)) + 1;
}

static void make_ring(bool full)
{
	static void *memory;
	uint64_t open;

	if (memory == NULL)
		memory = hs_sys_map(hs_ring_memory_bytes(RING_BYTES), 3);
	memset(memory, 0, hs_ring_memory_bytes(RING_BYTES));
	hs_ring_init(&ring, memory, RING_BYTES);
	hs_recorder.ring = &ring;
	hs_recorder.process_id = hs_sys_getpid();
	while (full && hs_ring_reserve(&ring, 16, HS_RING_KEPT, 1, 0, &open) != NULL)
		;
}

static void set_level(uint64_t interval)
{
	atomic_store(&hs_sampler_interval, interval);
	hs_heap_follow();
}

static void set_epoch(uint32_t epoch)
{
	atomic_store(&hs_epoch, epoch);
	hs_heap_follow();
}

static void add_heap(uint32_t heap, uint64_t interval)
{
	char name[16];

	snprintf(name, sizeof name, "heap %u", heap);
	CHECK_INT(hs_heap_make(name, interval, false), heap);
	hs_heap_register(heap);
}

static void remove_heap(uint32_t heap)
{
	CHECK(hs_heap_unregister(heap));
	hs_heap_gone(heap);
}

/*
 * Begins with heaps with these intervals.  The ring has no room, so all weights go to the lost
 * totals: these are sums over all samples.
 */
static void begin(const uint64_t intervals[HEAPS])
{
	make_ring(true);
	set_epoch(1);
	set_level(INTERVAL);
	memset(truth, 0, sizeof truth);
	for (uint32_t i = 0; i < HEAPS; i++) {
		add_heap(FIRST + i, intervals[i]);
		hs_heap_forget_lost(FIRST + i);
	}
}

static void end(void)
{
	for (uint32_t i = 0; i < HEAPS; i++)
		remove_heap(FIRST + i);
}

/* As the program's calls do. */
static bool report(uint32_t heap, uint64_t id, uint64_t size)
{
	return !hs_report_passes(heap, size) && hs_report_allocation(heap, id, size, &here);
}

static void report_one(uint64_t id)
{
	uint32_t i = (uint32_t)(next_random() % HEAPS);
	uint64_t size = next_size(), interval = hs_heap_interval(FIRST + i);
	long double missed;

	if (atomic_load(&hs_epoch) == 0 || interval == 0) {
		CHECK(!report(FIRST + i, id, size));
		return;
	}
	report(FIRST + i, id, size);
	missed = interval == 1 ? 0 : expl((size + (size == 0)) * log1pl(-1.0L / interval));
	truth[i].objects++;
	truth[i].bytes += size;
	truth[i].objects_variance += missed / (1 - missed);
	truth[i].bytes_variance += missed / (1 - missed) * size * size;
}

static void check_near(uint32_t heap, const char *what, long double got, long double want,
		       long double variance)
{
	/* Weights are rounded. */
	if (fabsl(got - want) <= 5 * sqrtl(variance) + (variance > 0 ? 1e-6L * want : 0))
		return;
	fprintf(stderr, "heap %u: %s are %Lg, expected %Lg +- %Lg\n", heap, what, got, want,
		sqrtl(variance));
	check_failures++;
}

static void check_unbiased(void)
{
	for (uint32_t i = 0; i < HEAPS; i++) {
		check_near(i, "objects",
			   (long double)hs_heap_lost_weight(FIRST + i) / HS_WEIGHT_ONE,
			   truth[i].objects, truth[i].objects_variance);
		check_near(i, "bytes", hs_heaps[FIRST + i].lost.bytes, truth[i].bytes,
			   truth[i].bytes_variance);
	}
	end();
}

static void check_intervals(uint64_t a, uint64_t b, uint64_t c)
{
	begin((const uint64_t[HEAPS]){a, b, c});
	for (uint64_t id = 0; id < 600000; id++)
		report_one(id);
	check_unbiased();
}

static void several_intervals(void)
{
	check_intervals(512, 4096, 524288);
	check_intervals(65536, 65537, 131072);
	check_intervals(16, 48, 100);
	check_intervals(2, 3, 5);
	check_intervals(4096, 4096, 4096);
}

/* Where everything is sampled the variance is 0. */
static void everything_next_to_samples(void)
{
	check_intervals(1, 65536, 1024);
	CHECK(truth[0].objects_variance == 0 && truth[0].objects > 100000);
	check_intervals(1, 1, 1);
}

static void an_excluded_heap_takes_nothing(void)
{
	check_intervals(0, 1024, 65536);
	CHECK(truth[0].objects == 0);
	CHECK_INT(hs_heap_lost_weight(FIRST), 0);
	CHECK_INT(hs_heaps[FIRST].lost.bytes, 0);
}

/* Each change comes after a few allocations, so that what is left of countdowns matters. */
static void intervals_that_change(void)
{
	bool has_spare = false;

	begin((const uint64_t[HEAPS]){1024, 8192, 65536});
	for (uint64_t id = 0; id < 600000; id++) {
		report_one(id);
		if (id % 5 == 0)
			set_level(INTERVAL << next_random() % 4);
		if (id % 7 != 0)
			continue;
		/* One that makes the common countdown short. */
		has_spare = !has_spare;
		if (has_spare)
			add_heap(SPARE, 16);
		else
			remove_heap(SPARE);
	}
	if (has_spare)
		remove_heap(SPARE);
	check_unbiased();
	set_level(INTERVAL);
}

static void sampling_that_stops(void)
{
	uint64_t samples = 0, before;

	begin((const uint64_t[HEAPS]){512, 4096, 16384});
	for (uint64_t id = 0; id < 1000000; id++) {
		before = hs_heap_total(samples);
		report_one(id);
		if (atomic_load(&hs_epoch) == 0)
			samples += hs_heap_total(samples) - before;
		if (id % 3 == 0)
			set_epoch(next_random() % 2);
	}
	CHECK_INT(samples, 0);
	check_unbiased();
	set_epoch(1);
}

static void check_sample(uint64_t size, uint64_t stands_for, uint64_t objects_weight,
			 uint64_t bytes)
{
	uint64_t samples = hs_heap_total(samples), of_heap = hs_heap_get(FIRST, samples);

	hs_heap_forget_lost(FIRST);
	/* There is no room for it. */
	CHECK(hs_report_sample(FIRST, 1, size, stands_for, &here));
	CHECK_INT(hs_heap_lost_weight(FIRST), objects_weight);
	CHECK_INT(hs_heaps[FIRST].lost.bytes, bytes);
	CHECK_INT(hs_heap_total(samples) - samples, 1);
	CHECK_INT(hs_heap_get(FIRST, samples) - of_heap, 1);
}

static void weights_of_the_program(void)
{
	begin((const uint64_t[HEAPS]){65536, 0, 1});
	check_sample(50, 5000, 100 * HS_WEIGHT_ONE, 5000);
	check_sample(50, 75, HS_WEIGHT_ONE + HS_WEIGHT_ONE / 2, 75);
	check_sample(50, 50, HS_WEIGHT_ONE, 50);
	check_sample(50, 7, HS_WEIGHT_ONE, 50);
	check_sample(0, 0, HS_WEIGHT_ONE, 0);
	check_sample(0, 1000, HS_WEIGHT_ONE, 0);
	check_sample(3, 1000, (1000 * HS_WEIGHT_ONE) / 3, 1000);
	check_sample(1, UINT64_MAX, (uint64_t)1 << 62, (uint64_t)1 << (62 - HS_WEIGHT_SHIFT));
	CHECK(!hs_report_sample(FIRST + 1, 1, 50, 5000, &here));
	set_epoch(0);
	CHECK(!hs_report_sample(FIRST, 1, 50, 5000, &here));
	set_epoch(1);
	set_level(0);
	CHECK(!hs_report_sample(FIRST, 1, 50, 5000, &here));
	set_level(INTERVAL);
	end();
	CHECK(!hs_report_sample(FIRST, 1, 50, 5000, &here));
	CHECK(!hs_report_sample(HS_HEAP_NONE, 1, 50, 5000, &here));
	CHECK(!hs_report_sample(HS_HEAP_MALLOC, 1, 50, 5000, &here));
	CHECK(!hs_report_sample(HS_HEAP_LIMIT, 1, 50, 5000, &here));
	CHECK(!hs_report_sample(UINT32_MAX, 1, 50, 5000, &here));
}

/* Takes the next record out of the ring. */
static struct hs_record next_record(void)
{
	struct hs_record record = {.size = 0};
	struct hs_ring_item item;

	hs_ring_read(&ring, &item);
	CHECK_INT(item.state, HS_RING_COMMITTED);
	if (item.state != HS_RING_COMMITTED)
		return record;
	memcpy(&record, item.data, sizeof record);
	ring_release(&ring);
	return record;
}

static void what_is_recorded(void)
{
	struct hs_record record;
	uint64_t malloc_countdown;

	begin((const uint64_t[HEAPS]){1, 1, 64});
	make_ring(false);
	hs_thread.bytes_until_sample = malloc_countdown = 123456;
	set_epoch(7);
	CHECK(report(FIRST + 1, 0xabcdef, 100));
	CHECK_INT(hs_thread.bytes_until_sample, malloc_countdown);
	record = next_record();
	CHECK_INT(record.kind, HS_RECORD_ALLOCATION);
	CHECK_INT(record.heap, FIRST + 1);
	CHECK_INT(record.epoch, 7);
	CHECK_INT(record.address, 0xabcdef);
	CHECK_INT(record.size, 100);
	CHECK_INT(record.interval_bytes, 1);
	CHECK_INT(record.flags & HS_RECORD_WEIGHED, 0);
	/* The same id in another heap is another block; this one has not been freed. */
	CHECK(report(FIRST, 0xabcdef, 1));
	CHECK_INT(hs_heap_get(FIRST + 1, frees), 0);
	CHECK(report(FIRST + 1, 0xabcdef, 1));
	CHECK_INT(hs_heap_get(FIRST + 1, frees), 1);
	CHECK_INT(hs_stats_get(superseded), 1);
	next_record();
	next_record();
	CHECK(hs_report_sample(FIRST, 2, 10, 25, &here));
	record = next_record();
	CHECK(record.flags & HS_RECORD_WEIGHED);
	CHECK_INT(record.weight, HS_WEIGHT_ONE * 5 / 2);
	hs_report_free(FIRST, 2);
	hs_report_free(FIRST, 2);
	CHECK_INT(hs_heap_get(FIRST, frees), 1);
	/* malloc's blocks are not a heap's. */
	CHECK(hs_record_allocation(&record, (size_t)1 << 40, &here));
	hs_report_free(HS_HEAP_MALLOC, (uintptr_t)&record);
	CHECK_INT(hs_heap_get(HS_HEAP_MALLOC, frees), 0);
	hs_record_free(&record);
	CHECK_INT(hs_heap_get(HS_HEAP_MALLOC, frees), 1);
	/* When a heap is off, frees in it are followed until something else is allocated in it. */
	set_epoch(0);
	hs_report_free(FIRST, 0xabcdef);
	CHECK_INT(hs_heap_get(FIRST, frees), 2);
	set_epoch(1);
	end();
	CHECK(!report(FIRST, 3, (uint64_t)1 << 40));
}

/* Sizes far above any countdown, which must not wrap. */
static void large_sizes(void)
{
	begin((const uint64_t[HEAPS]){65536, 131072, 0});
	for (int i = 0; i < 100; i++) {
		CHECK(report(FIRST, 1, UINT64_MAX));
		CHECK(report(FIRST + 1, 1, UINT64_MAX));
		CHECK(hs_thread.reported_countdown < (uint64_t)1 << 32);
		report(FIRST + 2, 1, UINT64_MAX);
	}
	end();
}

/* A countdown of its own: one that was drawn like another thread's ends where that does. */
static void *report_first(void *countdown)
{
	CHECK(!report(FIRST, 1, 1));
	*(uint64_t *)countdown = hs_thread.reported_countdown;
	return NULL;
}

static void threads_differ(void)
{
	uint64_t countdowns[2];
	pthread_t thread;

	begin((const uint64_t[HEAPS]){(uint64_t)1 << 30, 0, 0});
	for (int i = 0; i < 2; i++) {
		CHECK_INT(pthread_create(&thread, NULL, report_first, &countdowns[i]), 0);
		pthread_join(thread, NULL);
	}
	CHECK(countdowns[0] != countdowns[1]);
	end();
}

static void forked_children_differ(void)
{
	uint64_t of_parent;

	begin((const uint64_t[HEAPS]){(uint64_t)1 << 30, 0, 0});
	report(FIRST, 1, 1);
	of_parent = hs_thread.reported_countdown;
	hs_sampler_fork_begins(&hs_thread);
	hs_sampler_after_fork(&hs_thread);
	report(FIRST, 1, 1);
	CHECK(hs_thread.reported_countdown != of_parent - 1);
	end();
}

int main(void)
{
	here = (struct hs_regs){.sp = (uintptr_t)__builtin_frame_address(0)};
	CHECK_INT(hs_arena_init((size_t)64 << 20), 0);
	CHECK_INT(live_init(1000, 100), 0);
	hs_options.interval_bytes = INTERVAL;
	atomic_store(&hs_sampler_is_ready, true);
	hs_sampler_seed(1);
	RUN(several_intervals);
	RUN(everything_next_to_samples);
	RUN(an_excluded_heap_takes_nothing);
	RUN(intervals_that_change);
	RUN(sampling_that_stops);
	RUN(weights_of_the_program);
	RUN(large_sizes);
	RUN(threads_differ);
	RUN(forked_children_differ);
	RUN(what_is_recorded);
	return CHECK_RESULT();
}
