/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sample view and the sink of the encoder's tests.
 */
#include "sample_view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "output/pprof_encoder.h"

/* First location of each mapping; those of the program and the library have names. */
enum { LIBRARY_LOCATION = 12, JIT_LOCATION = 18 };

size_t sample_stack(const void *context, uint32_t callsite, uint64_t *ids, size_t capacity)
{
	size_t depth = DEPTH - callsite % 3;

	(void)context;
	for (size_t i = 0; i < depth && i < capacity; i++)
		ids[i] = (callsite + i * 7) % LOCATIONS + 1;
	return depth;
}

unsigned sample_pauses;

static void count_pause(void)
{
	sample_pauses++;
}

static void fill_locations(struct sample *sample)
{
	for (unsigned i = 0; i < LOCATIONS; i++) {
		struct hs_view_location *location = &sample->locations[i];

		location->mapping = i < LIBRARY_LOCATION ? 0 : i < JIT_LOCATION ? 1 : 2;
		location->address = sample->mappings[location->mapping].start + 0x100 + i * 16;
		if (i >= JIT_LOCATION)
			continue;
		/* Two call sites in each function. */
		snprintf(sample->names[i], sizeof sample->names[i], "work_%u", i / 2);
		snprintf(sample->system_names[i], sizeof sample->names[i], "_Z6work_%uv", i / 2);
		location->name = sample->names[i];
		location->system_name = i < LIBRARY_LOCATION ? sample->system_names[i] : NULL;
		location->filename = i < LIBRARY_LOCATION ? NULL : "pool.c";
		location->start_line = i < LIBRARY_LOCATION ? 0 : 10 + i / 2;
	}
	sample->locations[0].name = sample->locations[1].name = "malloc";
	sample->locations[0].system_name = sample->locations[1].system_name = NULL;
}

static void fill_rows(struct sample *sample)
{
	for (unsigned i = 0; i < ROWS; i++) {
		struct hs_view_row *row = &sample->rows[i];
		int64_t live = i % 4;

		row->callsite = i;
		row->has_size = i % 5 != 0;
		row->size = i % 7 * 16;
		row->has_tid = i % 2 == 0;
		row->tid = i % 11;
		row->thread = i % 3 == 0 ? NULL : i % 3 == 1 ? "worker" : "caf\xe9";
		row->labels = i % 4 == 0 ? NULL
			      : i % 4 == 3 ? "a\0001\0b\0002\0c\0003\0d\0004\0e\0005\0f\0006\0"
					     "g\0007\0h\0008\0"
					   : "endpoint\0/login\0user\0caf\xc3\xa9\0";
		row->values[0] = live + 1;
		row->values[1] = (live + 1) * ((int64_t)1 << (i % 40));
		row->values[2] = live;
		row->values[3] = live * ((int64_t)1 << (i % 40));
	}
}

void sample_fill(struct sample *sample)
{
	memset(sample, 0, sizeof *sample);
	sample->mappings[0] = (struct hs_view_mapping){
		.start = 0x555500000000, .limit = 0x555500010000, .filename = "/nonexistent/server",
		.build_id = "00112233445566778899aabbccddeeff00112233", .has_functions = true,
	};
	sample->mappings[1] = (struct hs_view_mapping){
		.start = 0x7f0000001000, .limit = 0x7f0000002000, .offset = 0x1000,
		.filename = "/nonexistent/lib/libpool.so.1", .build_id = "", .has_functions = true,
	};
	sample->mappings[2] = (struct hs_view_mapping){
		.start = 0x7f1000000000, .limit = 0x7f1000001000, .filename = "//anon",
	};
	fill_locations(sample);
	fill_rows(sample);
	sample->pauses.pause = count_pause;
	sample->view = (struct hs_view){
		.mappings = sample->mappings, .mapping_count = MAPPINGS,
		.locations = sample->locations, .location_count = LOCATIONS,
		.rows = sample->rows, .row_count = ROWS,
		.get_stack = sample_stack, .deepest_stack = DEPTH,
		.comments = { "libheapsample interval=524288B", NULL, "samples=50 lost=0", NULL },
		.drop_frames = "malloc|calloc",
		.period_bytes = 524288, .time_ns = 1700000000000000001, .duration_ns = 2000000000,
		.pauses = &sample->pauses,
	};
}

static struct memory_sink *sink; /* of the encoding under way */

static int sink_write(const void *bytes, size_t count)
{
	if (++sink->calls == sink->fail_after)
		return -ENOSPC;
	if (hs_arena_used() > sink->arena_peak)
		sink->arena_peak = hs_arena_used();
	if (count > sink->largest)
		sink->largest = count;
	if (sink->length + count > sink->capacity) {
		sink->capacity = (sink->length + count) * 2;
		sink->bytes = realloc(sink->bytes, sink->capacity);
		if (sink->bytes == NULL)
			exit(99);
	}
	memcpy(sink->bytes + sink->length, bytes, count);
	sink->length += count;
	return 0;
}

int sample_encode(const struct hs_view *view, struct memory_sink *memory)
{
	sink = memory;
	return hs_pprof_encode(view, sink_write);
}
