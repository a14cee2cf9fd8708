/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The peak, compared with a model that copies all rows at each new highest sum.
 */
#include "profile/peak.h"

#include <stdlib.h>

#include "arena_testing.h"
#include "check.h"
#include "profile/heap_tracker.h"

#define ROWS 700

/* The rows, and a table of them. */
static struct {
	struct hs_interner_part head;
	struct hs_row rows[ROWS];
} part;
static struct hs_row *const now = part.rows;
static struct hs_interner_part *parts[] = {&part.head};
static const struct hs_interner table = {.parts = parts, .item_bytes = sizeof part.rows[0]};
static struct hs_row_totals best[ROWS];
static unsigned __int128 in_use, highest;
static uint64_t clock_ns, highest_ns;
static struct hs_peak peak;
static unsigned copied;

/* Rows of a heap that the next peak has to copy. */
static unsigned changed_rows(uint32_t heap)
{
	unsigned count = 0;

	for (uint32_t at = peak.heaps[heap].changed; at != 0; at = peak.changed[at - 1].next - 1)
		count++;
	return count;
}

static unsigned __int128 live_of(uint32_t row)
{
	return now[row].totals.allocated.bytes - now[row].totals.freed.bytes;
}

static void change(uint32_t row, uint64_t objects, uint64_t bytes, bool is_free)
{
	struct hs_totals *totals = is_free ? &now[row].totals.freed : &now[row].totals.allocated;

	totals->objects += objects;
	totals->bytes += bytes;
	in_use = is_free ? in_use - bytes : in_use + bytes;
	clock_ns++;
	hs_peak_note(&peak, HS_HEAP_MALLOC, row);
	if (in_use > highest)
		copied += changed_rows(HS_HEAP_MALLOC);
	hs_peak_follow(&peak, HS_HEAP_MALLOC, in_use, clock_ns, &table);
	if (in_use > highest) {
		CHECK_INT(changed_rows(HS_HEAP_MALLOC), 0);
		highest = in_use;
		highest_ns = clock_ns;
		for (uint32_t i = 0; i < ROWS; i++)
			best[i] = now[i].totals;
	}
}

static void check_peak(void)
{
	static const struct hs_row_totals none;

	CHECK(peak.heaps[HS_HEAP_MALLOC].bytes == highest);
	CHECK_INT(peak.heaps[HS_HEAP_MALLOC].time_ns, highest_ns);
	for (uint32_t row = 0; row < ROWS; row++) {
		const struct hs_row_totals *kept = row < peak.capacity ? &peak.rows[row] : &none;

		CHECK(memcmp(kept, &best[row], sizeof *kept) == 0);
	}
}

static void begin(void)
{
	memset(now, 0, sizeof part.rows);
	memset(best, 0, sizeof best);
	in_use = highest = 0;
	clock_ns = highest_ns = 0;
	copied = 0;
}

static void test_first(void)
{
	begin();
	check_peak();
	change(5, 1, 100, false);
	check_peak();
	change(5, 1, 100, true);
	change(6, 1, 100, false); /* as high but not higher: the first one stays */
	check_peak();
	CHECK_INT(peak.heaps[HS_HEAP_MALLOC].time_ns, 1);
	change(7, 1, 1, false);
	check_peak();
	CHECK_INT(peak.heaps[HS_HEAP_MALLOC].time_ns, 4);
	hs_peak_fini(&peak);
}

/* The cost of a new peak depends only on what has changed since the last one. */
static void test_cost(void)
{
	begin();
	for (uint32_t row = 0; row < ROWS; row++)
		change(row, 1, 10, false);
	CHECK_INT(copied, ROWS);
	for (int i = 0; i < 1000; i++)
		change(3, 1, 10, false);
	CHECK_INT(copied, ROWS + 1000);
	for (int i = 0; i < 100; i++)
		change(4, 1, 1, true);
	for (int i = 0; i < 100; i++)
		change(4, 1, 1, false);
	CHECK_INT(copied, ROWS + 1000);
	change(4, 1, 1, false);
	CHECK_INT(copied, ROWS + 1001);
	check_peak();
	hs_peak_fini(&peak);
}

static void test_random(void)
{
	for (unsigned seed = 1; seed <= 10; seed++) {
		unsigned random = seed;

		begin();
		for (int i = 0; i < 3000; i++) {
			uint32_t row = (uint32_t)rand_r(&random) % (seed % 2 ? ROWS : 20);
			uint64_t bytes = (uint64_t)rand_r(&random) % 1000;
			unsigned __int128 live = live_of(row);
			bool is_free = rand_r(&random) % 100 < (i / 500 % 2 ? 60 : 40);

			if (!is_free || live >= bytes)
				change(row, 1, bytes, is_free);
			if (i % 97 == 0)
				check_peak();
		}
		check_peak();
		hs_peak_fini(&peak);
	}
}

/* Rows of several heaps are dropped, and their numbers go to other rows, of any heap. */
enum { HEAPS = 3, FEW_ROWS = 40 };

static uint32_t heap_of[FEW_ROWS];
static unsigned __int128 in_use_of[HEAPS], highest_of[HEAPS];

static void change_of_heap(uint32_t row, uint64_t bytes, bool is_free)
{
	struct hs_totals *totals = is_free ? &now[row].totals.freed : &now[row].totals.allocated;
	uint32_t heap = heap_of[row];

	totals->objects++;
	totals->bytes += bytes;
	in_use_of[heap] = is_free ? in_use_of[heap] - bytes : in_use_of[heap] + bytes;
	hs_peak_note(&peak, heap, row);
	hs_peak_follow(&peak, heap, in_use_of[heap], ++clock_ns, &table);
	if (in_use_of[heap] <= highest_of[heap])
		return;
	highest_of[heap] = in_use_of[heap];
	for (row = 0; row < FEW_ROWS; row++) {
		if (heap_of[row] == heap)
			best[row] = now[row].totals;
	}
}

static void drop_row(uint32_t row, uint32_t next_heap)
{
	hs_peak_forget(&peak, heap_of[row], row);
	now[row].totals = best[row] = (struct hs_row_totals){{0}, {0}};
	heap_of[row] = next_heap;
}

static void test_dropped_rows(void)
{
	unsigned random = 1;

	begin();
	for (int i = 0; i < 100000; i++) {
		uint32_t row = (uint32_t)rand_r(&random) % FEW_ROWS;
		unsigned __int128 live = live_of(row);

		if (live == 0 && rand_r(&random) % 2 == 0)
			drop_row(row, (uint32_t)rand_r(&random) % HEAPS);
		if (live == 0)
			change_of_heap(row, (uint64_t)rand_r(&random) % 1000 + i / 100, false);
		else
			change_of_heap(row, (uint64_t)live, true);
		for (row = 0; i % 50 == 0 && row < FEW_ROWS; row++)
			CHECK(row >= peak.capacity ||
			      memcmp(&peak.rows[row], &best[row], sizeof *best) == 0);
	}
	for (uint32_t heap = 0; heap < HEAPS; heap++)
		CHECK(peak.heaps[heap].bytes == highest_of[heap]);
	hs_peak_fini(&peak);
}

/* Without memory for its rows the peak reports that. */
static void test_no_memory(void)
{
	size_t used;

	begin();
	change(1, 1, 100, false);
	used = hs_arena_used();
	hs_arena_set_budget(hs_arena_used());
	hs_peak_note(&peak, HS_HEAP_MALLOC, 1000000);
	CHECK(peak.is_spoiled);
	/* What it had is given back, and nothing is kept from then on. */
	CHECK(hs_arena_used() < used);
	hs_arena_set_budget((size_t)64 << 20);
	hs_peak_note(&peak, HS_HEAP_MALLOC, 2);
	hs_peak_follow(&peak, HS_HEAP_MALLOC, 500, 9, &table);
	hs_peak_forget(&peak, HS_HEAP_MALLOC, 1);
	CHECK(hs_peak_row(&peak, 1) == NULL);
	CHECK_INT(peak.heaps[HS_HEAP_MALLOC].time_ns, 0);
	hs_peak_fini(&peak);
}

int main(void)
{
	if (hs_arena_init((size_t)64 << 20) < 0)
		return 99;
	RUN(test_first);
	RUN(test_cost);
	RUN(test_random);
	RUN(test_dropped_rows);
	RUN(test_no_memory);
	return CHECK_RESULT();
}
