/* SPDX-License-Identifier: BSD-2-Clause */
/* Which samples the books take: epochs, heaps that have ended; and new books. */
#include <errno.h>
#include <sys/prctl.h>

#include "base/sys.h"
#include "profile/snapshot.h"
#include "profile_testing.h"

#define A 0x10000
#define B 0x20000
#define C 0x30000

static struct hs_producer *producer;
static struct hs_mapping_table *table; /* empty */

static void begin_with(struct hs_producer_setup setup)
{
	setup.mappings = table;
	producer = new_producer_with(&setup);
	hs_producer_set_epoch(producer, 1);
}

static void begin(unsigned labels)
{
	begin_with((struct hs_producer_setup){.labels = labels});
}

static void commit(void)
{
	hs_producer_take_freed(producer);
	CHECK(!hs_producer_commit(producer));
}

/* Checks the totals of the books, and that nothing else is held. */
static void check_books(uint64_t objects, uint64_t bytes, uint64_t inuse_objects,
			uint64_t inuse_bytes)
{
	check_sums(producer, objects, bytes, inuse_objects, inuse_bytes);
	check_holders(producer);
}

static union test_record allocate_at(uint32_t epoch, uint64_t address, uint64_t size)
{
	union test_record record = allocate(address, size, 1, address);

	record.head.epoch = epoch;
	return record;
}

static void samples_of_another_epoch_are_dropped(void)
{
	uint64_t stale = hs_heap_total(stale), heap_stale = hs_heap_get(HS_HEAP_MALLOC, stale);
	union test_record old, mine;

	begin(HS_LABEL_SIZE);
	old = allocate_at(1, A, 100);
	mine = allocate_at(2, B, 20);
	hs_producer_set_epoch(producer, 2);
	take(producer, &old);
	take(producer, &mine);
	commit();
	check_books(1, 20, 1, 20);
	CHECK_INT(hs_heap_total(stale) - stale, 1);
	CHECK_INT(hs_heap_get(HS_HEAP_MALLOC, stale) - heap_stale, 1);
	/* The slot stays in use until the free, which does not count. */
	CHECK_INT(hs_live_set_used(), 2);
	release(A);
	commit();
	CHECK_INT(hs_live_set_used(), 1);
	check_books(1, 20, 1, 20);
	/* When stopped the books take nothing but frees of samples that are in them. */
	hs_producer_set_epoch(producer, 0);
	mine = allocate_at(2, A, 1);
	take(producer, &mine);
	release(B);
	commit();
	check_books(1, 20, 0, 0);
	release(A);
	commit();
	CHECK_INT(hs_live_set_used(), 0);
	CHECK_INT(hs_heap_total(stale) - stale, 2);
}

static void samples_of_a_heap_that_is_gone_are_dropped(void)
{
	uint32_t pool = (uint32_t)hs_heap_make("pool", 1, false);
	uint64_t stale = hs_heap_get(pool, stale);
	union test_record closing, late;

	begin(0);
	CHECK_INT(pool, HS_HEAP_FIRST_REPORTED);
	hs_heap_register(pool);
	closing = allocate_in(pool, A, 10, 1, 0);
	late = allocate_in(pool, B, 20, 1, 0);
	hs_heap_unregister(pool);
	take(producer, &closing);
	commit();
	check_books(1, 10, 1, 10);
	CHECK_INT(hs_live_set_free_id(pool, A), 1);
	hs_heap_gone(pool);
	take(producer, &late);
	commit();
	check_books(1, 10, 0, 0);
	CHECK_INT(hs_heap_get(pool, stale) - stale, 1);
	/* No free can come any more. */
	CHECK_INT(hs_live_set_used(), 0);
}

/* The program frees what a reset has freed in the live set. */
static void release_forgotten(uint64_t address)
{
	CHECK(!live_free((void *)(uintptr_t)address));
}

/* Allocations and frees in the window belong to the old books. */
static void events_that_wait_are_dropped_by_a_reset(void)
{
	union test_record first, second, third, next;

	begin(HS_LABEL_SIZE);
	first = allocate_at(1, A, 100);
	second = allocate_at(1, B, 20);
	release(B);
	third = allocate_at(1, C, 3);
	take(producer, &second);
	take(producer, &third);
	CHECK_INT(hs_producer_take_freed(producer), 1);
	CHECK(hs_producer_commit(producer));
	CHECK_INT(hs_producer_reset(producer), 0);
	hs_producer_set_epoch(producer, 2);
	take(producer, &first);
	commit();
	CHECK_INT(hs_live_set_used(), 2);
	check_books(0, 0, 0, 0);
	next = allocate_at(2, B, 7);
	take(producer, &next);
	release(A);
	release(C);
	commit();
	check_books(1, 7, 1, 7);
	release(B);
	commit();
	check_books(1, 7, 0, 0);
	CHECK_INT(hs_live_set_used(), 0);
	CHECK_INT(hs_producer_next_number(producer), hs_sequence.next);
}

static void frees_after_a_reset_have_no_effect(void)
{
	union test_record record;

	begin(HS_LABEL_SIZE);
	for (uint64_t i = 0; i < 100; i++) {
		record = allocate_at(1, A + 16 * i, 10);
		take(producer, &record);
	}
	commit();
	check_sums(producer, 100, 1000, 100, 1000);
	CHECK_INT(hs_producer_in_use_bytes(producer, HS_HEAP_MALLOC), 1000);
	CHECK_INT(hs_producer_reset(producer), 0);
	hs_producer_set_epoch(producer, 2);
	check_books(0, 0, 0, 0);
	CHECK_INT(hs_producer_in_use_bytes(producer, HS_HEAP_MALLOC), 0);
	commit();
	CHECK_INT(hs_live_set_used(), 0);
	/* Meanwhile their slots are used again. */
	for (uint64_t i = 0; i < 100; i++) {
		release_forgotten(A + 16 * i);
		record = allocate_at(2, B + 16 * i, 1);
		take(producer, &record);
		commit();
	}
	check_books(100, 100, 100, 100);
	for (uint64_t i = 0; i < 100; i++)
		release(B + 16 * i);
	commit();
	check_books(100, 100, 0, 0);
	CHECK_INT(hs_producer_in_use_bytes(producer, HS_HEAP_MALLOC), 0);
	CHECK_INT(hs_live_set_used(), 0);
}

enum { STACKS = 5000 };

/* Many stacks, with some blocks left in use. */
static void fill_books(uint32_t epoch)
{
	static uint64_t round;
	uint64_t base = ++round * 16 * STACKS;

	for (uint64_t i = 0; i < STACKS; i++) {
		union test_record record = allocate_at(epoch, A + base + 16 * i, 10 + i);

		record.head.tid = (uint32_t)hs_sys_gettid();
		take(producer, &record);
		if (i % 10 != 0)
			release(A + base + 16 * i);
		commit();
	}
}

static void sample_of_a_thread_that_is_gone(uint32_t epoch)
{
	union test_record record = allocate_at(epoch, A, 1);

	record.head.tid = ((uint32_t)1 << 30) + epoch;
	take(producer, &record);
	release(A);
	commit();
}

static void memory_comes_back(void)
{
	uint64_t stale = hs_heap_total(stale);
	size_t fresh, full, after;
	char name[16];

	begin_with((struct hs_producer_setup){
		.labels = HS_LABEL_SIZE | HS_LABEL_THREAD | HS_LABEL_TID,
		.keeps_peak = true,
		.delta = HS_DELTA_ALL,
	});
	fresh = hs_arena_used();
	for (uint32_t epoch = 1; epoch <= 100; epoch++) {
		snprintf(name, sizeof name, "round %u", epoch);
		prctl(PR_SET_NAME, name);
		hs_producer_set_epoch(producer, epoch);
		fill_books(epoch);
		sample_of_a_thread_that_is_gone(epoch);
		full = hs_arena_used();
		CHECK(hs_heap_tracker_row_count(&producer->tracker) == STACKS + 1);
		CHECK_INT(hs_producer_reset(producer), 0);
		after = hs_arena_used();
		CHECK(full > fresh + 64 * STACKS);
		/* The last name of this thread. */
		CHECK(after >= fresh && after <= fresh + 64);
		CHECK_INT(producer->threads.names.used, 2);
		/* Threads of the last round are kept, for samples that may be on their way. */
		CHECK(producer->threads.tids.used <= 2);
		CHECK_INT(hs_live_set_used(), STACKS / 10);
		check_holders(producer);
	}
	CHECK_INT(hs_heap_total(stale), stale);
	commit();
	CHECK_INT(hs_live_set_used(), 0);
}

static void without_memory_the_books_stay(void)
{
	union test_record record;

	begin(HS_LABEL_SIZE);
	record = allocate_at(1, A, 100);
	take(producer, &record);
	commit();
	hs_arena_set_budget(hs_arena_used());
	CHECK_INT(hs_producer_reset(producer), -ENOMEM);
	hs_arena_set_budget(256 * MIB);
	check_books(1, 100, 1, 100);
	release(A);
	commit();
	check_books(1, 100, 0, 0);
}

/* Checks a profile, of now or of a heap's peak: it has one row with these values, or no row. */
static void check_profile(uint32_t peak_heap, int64_t objects, int64_t bytes,
			  int64_t inuse_objects, int64_t inuse_bytes)
{
	const int64_t want[HS_VIEW_VALUES] = {objects, bytes, inuse_objects, inuse_bytes};
	const struct hs_options options = {.symbolize = HS_SYMBOLIZE_NONE};
	struct hs_view view = {0};
	struct hs_snapshot *snapshot =
		hs_snapshot_create(producer, &options, peak_heap, NULL, &view);

	CHECK_INT(view.row_count, objects != 0);
	if (view.row_count == 1)
		CHECK(memcmp(view.rows[0].values, want, sizeof want) == 0);
	CHECK_INT(view.heaps[HS_HEAP_MALLOC].row_count, view.row_count);
	CHECK(memcmp(view.heaps[HS_HEAP_MALLOC].sums, want, sizeof want) == 0);
	hs_snapshot_written(snapshot);
	hs_snapshot_destroy(snapshot);
}

static void the_peak_begins_anew(void)
{
	union test_record record;

	begin_with((struct hs_producer_setup){.keeps_peak = true});
	record = allocate_at(1, A, 1000);
	take(producer, &record);
	commit();
	CHECK(hs_producer_peak_ns(producer, HS_HEAP_MALLOC) != 0);
	check_profile(HS_HEAP_MALLOC, 1, 1000, 1, 1000);
	CHECK_INT(hs_producer_reset(producer), 0);
	CHECK_INT(hs_producer_peak_ns(producer, HS_HEAP_MALLOC), 0);
	check_profile(HS_HEAP_MALLOC, 0, 0, 0, 0);
	/* What was in use before does not belong to it. */
	hs_producer_set_epoch(producer, 2);
	record = allocate_at(2, B, 10);
	take(producer, &record);
	release(B);
	commit();
	CHECK(hs_producer_peak_ns(producer, HS_HEAP_MALLOC) != 0);
	release_forgotten(A);
	commit();
	check_profile(HS_HEAP_MALLOC, 1, 10, 1, 10);
	check_profile(HS_HEAP_NONE, 1, 10, 0, 0);
	check_books(1, 10, 0, 0);
}

/* Profiles of differences: what was shown, dropped or lost before the reset is not in the next. */
static void differences_begin_anew(void)
{
	union test_record record;

	begin_with((struct hs_producer_setup){.delta = HS_DELTA_ALL});
	record = allocate_at(1, A, 1000);
	take(producer, &record);
	release(A);
	commit();
	check_profile(HS_HEAP_NONE, 1, 1000, 0, 0);
	hs_producer_drop_spent(producer, NULL);
	CHECK_INT(producer->tracker.rows.used, 0);
	hs_heap_lose(HS_HEAP_MALLOC, 5, HS_WEIGHT_ONE);
	CHECK_INT(hs_producer_reset(producer), 0);
	hs_producer_set_epoch(producer, 2);
	check_profile(HS_HEAP_NONE, 0, 0, 0, 0);
	record = allocate_at(2, A, 30);
	take(producer, &record);
	commit();
	check_profile(HS_HEAP_NONE, 1, 30, 1, 30);
	CHECK_INT(hs_producer_reset(producer), 0);
	hs_producer_set_epoch(producer, 3);
	/* The row has the number of one that was shown, and almost its values. */
	record = allocate_at(3, B, 30);
	take(producer, &record);
	commit();
	check_profile(HS_HEAP_NONE, 1, 30, 1, 30);
	release_forgotten(A);
	release(B);
	commit();
	CHECK_INT(hs_live_set_used(), 0);
}

int main(void)
{
	set_up();
	table = hs_mapping_table_create();
	RUN(samples_of_another_epoch_are_dropped);
	RUN(samples_of_a_heap_that_is_gone_are_dropped);
	RUN(events_that_wait_are_dropped_by_a_reset);
	RUN(frees_after_a_reset_have_no_effect);
	RUN(memory_comes_back);
	RUN(without_memory_the_books_stay);
	RUN(the_peak_begins_anew);
	RUN(differences_begin_anew);
	return CHECK_RESULT();
}
