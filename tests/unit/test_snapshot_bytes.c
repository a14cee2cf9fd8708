/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile takes no more memory than is kept for it, whatever the books consist of. */
#include "profile/snapshot.h"

#include "output/gzip_writer.h"
#include "output/pprof_encoder.h"
#include "profile_testing.h"

/* Most tables have just grown after as many, or are about to. */
static const uint32_t counts[] = {1, 1000, 4096, 4097, 16384, 16385, 30000};

static struct hs_mapping_table *table;
static struct hs_producer *producer;
static uint64_t code; /* an address in this program */

/* Each row has a stack of its own, of two locations; leaves: so many different ones. */
static void fill(uint32_t rows, uint32_t leaves)
{
	uint32_t mapping = hs_mapping_table_find(table, code);

	for (uint32_t i = 0; i < rows; i++) {
		union test_record record = allocate(0x100000 + 16 * (uint64_t)i, 8, 1, 0);

		record.head.frames[0] = (struct hs_frame){code + i % leaves, mapping};
		record.head.frames[1] = (struct hs_frame){code + (1 << 24) + i / leaves, mapping};
		take(producer, &record);
		CHECK(!hs_producer_commit(producer));
	}
	CHECK_INT(producer->tracker.rows.used, rows);
}

/* Two names for each location, unlike all others. */
static void name_all(void)
{
	struct hs_location_table *locations = &producer->locations;

	for (uint32_t i = 0; i < locations->interner.count; i++) {
		struct hs_location *location = hs_location_table_get(locations, i);
		char name[32], system_name[32];
		struct hs_shared_name *shared;

		snprintf(name, sizeof name, "function%u()", i);
		snprintf(system_name, sizeof system_name, "_Z8function%u", i);
		shared = hs_shared_name_create(name, system_name);
		hs_location_set_name(location, shared);
		hs_shared_name_release(shared);
	}
}

static void clear(uint32_t rows)
{
	for (uint32_t i = 0; i < rows; i++)
		release(0x100000 + 16 * (uint64_t)i);
	hs_producer_take_freed(producer);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(hs_producer_reset(producer), 0);
}

static int write_nowhere(const void *bytes, size_t count)
{
	(void)bytes;
	(void)count;
	return 0;
}

/* Writes a profile with no more than what is kept for one. */
static void write_profile(const char *books)
{
	const struct hs_options options = {.symbolize = HS_SYMBOLIZE_NAMES};
	struct hs_view view = {.drop_frames = ""};
	size_t used = hs_arena_used(), kept = hs_snapshot_bytes(producer);
	struct hs_gzip_writer *writer = NULL;
	struct hs_snapshot *snapshot;

	printf("%s, %u rows, %u locations: %zu bytes\n", books, producer->tracker.rows.used,
	       producer->locations.interner.used, kept);
	hs_arena_set_budget(used + kept);
	snapshot = hs_snapshot_create(producer, &options, HS_HEAP_NONE, NULL, &view);
	CHECK(snapshot != NULL);
	if (snapshot != NULL) {
		CHECK_INT(hs_gzip_writer_open(NULL, &writer), 0);
		CHECK_INT(hs_pprof_encode(&view, write_nowhere), 0);
		hs_gzip_writer_close(writer);
		hs_snapshot_written(snapshot);
		hs_snapshot_destroy(snapshot);
	}
	hs_arena_set_budget(256 * MIB);
}

static void write_all(const char *books)
{
	for (size_t i = 0; i < COUNT(counts); i++) {
		/* Many locations for the rows, and few. */
		fill(counts[i], counts[i]);
		name_all();
		write_profile(books);
		clear(counts[i]);
		fill(counts[i], 100);
		write_profile(books);
		clear(counts[i]);
	}
}

static void books_of_all_kinds_fit(void)
{
	producer = new_producer(table, 0);
	write_all("whole");
}

static void differences_fit(void)
{
	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = table,
		.delta = HS_DELTA_ALL,
	});
	write_all("differences");
}

static void filtered_rows_fit(void)
{
	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = table,
		.hidden = "late_",
	});
	for (size_t i = 0; i < COUNT(counts); i++) {
		fill(counts[i], counts[i]);
		/* As if something had been hidden late: all rows are looked through. */
		producer->filter.late = 1;
		write_profile("filtered");
		clear(counts[i]);
	}
}

/* Books that are full take nothing new, and go on with what they have. */
static void full_books_take_nothing_new(void)
{
	uint64_t lost = hs_heap_total(lost_memory);
	union test_record record;

	producer = new_producer(table, 0);
	fill(10, 10);
	hs_producer_set_full(producer, true);
	record = allocate(0x200000, 8, 1, 0);
	take(producer, &record);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(hs_heap_total(lost_memory) - lost, 1);
	CHECK_INT(producer->tracker.rows.used, 10);
	record = allocate(0x200020, 8, 1, 0);
	record.head.frames[0] = (struct hs_frame){code, hs_mapping_table_find(table, code)};
	record.head.frames[1] = (struct hs_frame){code + (1 << 24), record.head.frames[0].mapping};
	take(producer, &record);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(hs_heap_total(lost_memory) - lost, 1);
	hs_producer_set_full(producer, false);
	record = allocate(0x200010, 8, 1, 0);
	take(producer, &record);
	CHECK(!hs_producer_commit(producer));
	CHECK_INT(producer->tracker.rows.used, 11);
}

int main(void)
{
	set_up();
	code = (uint64_t)(uintptr_t)fill;
	table = hs_mapping_table_create();
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	RUN(books_of_all_kinds_fit);
	RUN(differences_fit);
	RUN(filtered_rows_fit);
	RUN(full_books_take_nothing_new);
	return CHECK_RESULT();
}
