/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of the address range map at 10, 1,000 and 100,000 ranges: nanoseconds per call, and the
 * levels of the tree that a look-up visits.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/arena.h"
#include "bench.h"
#include "maps/address_range_map.h"

/* Ranges of four pages with gaps of one page, like mapped libraries. */
#define PAGE UINT64_C(4096)
#define STRIDE (5 * PAGE)
#define FIRST UINT64_C(0x7f0000000000)

#define CALLS 2000000u

static struct hs_address_range_map map;
static volatile uint64_t sink;

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void fill(uint32_t count)
{
	hs_address_range_map_clear(&map);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t start = FIRST + i * STRIDE;
		check(hs_address_range_map_emplace(&map, start, start + 4 * PAGE, i) >= 0,
		      "emplace");
	}
}

static unsigned levels_of(uint64_t address)
{
	unsigned levels = 0;

	for (uint32_t node = map.root; node != 0; levels++)
		node = map.nodes[node].child[address >= map.nodes[node].range.end];
	return levels;
}

static double append_ns(uint32_t count)
{
	uint32_t rounds = CALLS / count;
	double start;

	fill(count);
	start = now_ns();
	for (uint32_t i = 0; i < rounds; i++)
		fill(count);
	return (now_ns() - start) / rounds / count;
}

/* Each address depends on the last answer, so that look-ups do not overlap in the processor. */
static double find_ns(uint32_t count)
{
	uint64_t found = 0;
	double start = now_ns();

	for (uint32_t i = 0; i < CALLS; i++) {
		const struct hs_address_range *range = hs_address_range_map_find(
			&map, FIRST + random_below(count * STRIDE) + (found >> 63));
		found += range != NULL ? range->value : 0;
	}
	sink = found;
	return (now_ns() - start) / CALLS;
}

/* Three pages in a random place: they cut a range on one side, cover a gap, or delete ranges. */
static double trim_ns(uint32_t count)
{
	double start = now_ns();

	for (uint32_t i = 0; i < CALLS; i++) {
		uint64_t at = FIRST + random_below(count * STRIDE / PAGE) * PAGE;
		check(hs_address_range_map_trim_overlaps_and_emplace(&map, at, at + 3 * PAGE, i) >=
			      0,
		      "trim and emplace");
	}
	return (now_ns() - start) / CALLS;
}

static double random_ns(uint32_t count)
{
	uint64_t sum = 0;
	double start = now_ns();

	for (uint32_t i = 0; i < CALLS; i++)
		sum += random_below(count * STRIDE);
	sink = sum;
	return (now_ns() - start) / CALLS;
}

static void measure(uint32_t count)
{
	double append = append_ns(count), find = find_ns(count), noise = random_ns(count), trim;
	uint64_t levels = 0;
	unsigned most = 0;

	for (uint32_t i = 0; i < count; i++) {
		unsigned here = levels_of(FIRST + i * STRIDE);
		levels += here;
		most = here > most ? here : most;
	}
	trim = trim_ns(count);
	printf("%8" PRIu32 " %14.1f %10.1f %14.1f %10.1f %10u %14" PRIu32 "\n", count, append,
	       find - noise, trim - noise, (double)levels / count, most, map.count);
}

int main(void)
{
	check(hs_arena_init((size_t)256 << 20) >= 0, "arena");
	printf("%8s %14s %10s %14s %10s %10s %14s\n", "ranges", "append, ns", "find, ns",
	       "trim+add, ns", "levels", "most", "ranges after");
	measure(10);
	measure(1000);
	measure(100000);
	return 0;
}
