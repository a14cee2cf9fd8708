/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The encoder's bounds: the same bytes each time, failures at every point, memory.
 */
#include "output/pprof_encoder.h"

#include <errno.h>

#include "base/arena.h"
#include "check.h"
#include "sample_view.h"

#define BUDGET ((size_t)64 << 20)

static void equal_views_give_equal_bytes(void)
{
	struct sample *first = malloc(sizeof *first);
	struct sample *second = malloc(sizeof *second);
	struct memory_sink a = {0};
	struct memory_sink b = {0};

	sample_fill(first);
	sample_fill(second);
	CHECK_INT(sample_encode(&first->view, &a), 0);
	CHECK_INT(sample_encode(&second->view, &b), 0);
	CHECK_INT(a.length, b.length);
	CHECK(memcmp(a.bytes, b.bytes, a.length) == 0);
	second->rows[7].values[3]++;
	b.length = 0;
	CHECK_INT(sample_encode(&second->view, &b), 0);
	CHECK(a.length != b.length || memcmp(a.bytes, b.bytes, a.length) != 0);
	free(a.bytes);
	free(b.bytes);
	free(first);
	free(second);
}

/*
 * With any budget the result is -ENOMEM, or success and the whole profile, and nothing stays in the
 * arena.  Returns how many budgets were not enough.
 */
static int encode_with_any_budget(const struct hs_view *view, size_t step)
{
	size_t before = hs_arena_used();
	struct memory_sink whole = {0};
	int failures = 0, error = -ENOMEM;

	CHECK_INT(sample_encode(view, &whole), 0);
	for (size_t budget = 0; budget < 4 << 20 && error != 0; budget += step) {
		struct memory_sink memory = {0};

		hs_arena_set_budget(before + budget);
		error = sample_encode(view, &memory);
		CHECK(error == -ENOMEM || (error == 0 && memory.length == whole.length));
		CHECK_INT(hs_arena_used(), before);
		failures += error != 0;
		free(memory.bytes);
	}
	hs_arena_set_budget(BUDGET);
	CHECK_INT(error, 0);
	free(whole.bytes);
	return failures;
}

static void used_up_memory_is_reported(void)
{
	static char names[LOCATIONS][4000];
	struct sample sample;

	sample_fill(&sample);
	for (size_t i = 0; i < LOCATIONS; i++) {
		/* Not UTF-8, so that they are copied. */
		memset(names[i], 'a' + (int)i, sizeof names[i] - 1);
		names[i][0] = '\xff';
		sample.locations[i].name = names[i];
	}
	CHECK(encode_with_any_budget(&sample.view, 64) > 500);
}

/* Whichever text there is no memory for, though there is for all that come later. */
static void no_text_is_left_out(void)
{
	static char text[4000]; /* not UTF-8, so it is copied; as labels, one key */
	struct sample sample;
	const char **const places[] = {
		&sample.rows[ROWS - 1].thread, &sample.rows[ROWS - 1].labels,
		&sample.mappings[MAPPINGS - 1].filename, &sample.locations[2].name,
		&sample.locations[2].filename,
	};

	memset(text, '\xff', sizeof text - 3);
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		sample_fill(&sample);
		*places[i] = text;
		CHECK(encode_with_any_budget(&sample.view, 512) > 10);
	}
}

enum { MANY_ROWS = 200000, MANY_LOCATIONS = 4000, MANY_DEPTH = 40 };

static size_t many_stack(const void *context, uint32_t callsite, uint64_t *ids, size_t capacity)
{
	uint32_t state = callsite;

	(void)context;
	for (size_t i = 0; i < capacity; i++) {
		ids[i] = state % MANY_LOCATIONS + 1;
		state = state * 1664525 + 1013904223 + (uint32_t)i;
	}
	return capacity;
}

static void fill_many(struct sample *sample, struct hs_view_row *rows,
		      struct hs_view_location *locations, char (*names)[40])
{
	sample_fill(sample);
	for (uint32_t i = 0; i < MANY_LOCATIONS; i++) {
		snprintf(names[i], sizeof names[i], "some::name::space::function_%u", i);
		locations[i] = (struct hs_view_location){.name = names[i]};
		locations[i].address = sample->mappings[0].start + i;
	}
	for (uint32_t i = 0; i < MANY_ROWS; i++)
		rows[i] = (struct hs_view_row){.callsite = i, .values = {1, i, 1, i}};
	sample->view.rows = rows;
	sample->view.row_count = MANY_ROWS;
	sample->view.locations = locations;
	sample->view.location_count = MANY_LOCATIONS;
	sample->view.get_stack = many_stack;
	sample->view.deepest_stack = MANY_DEPTH;
}

static struct sample many;

static void fill_static(uint32_t row_count)
{
	static struct hs_view_row rows[MANY_ROWS];
	static struct hs_view_location locations[MANY_LOCATIONS];
	static char names[MANY_LOCATIONS][40];

	fill_many(&many, rows, locations, names);
	many.view.row_count = row_count;
}

/* While rows, locations, functions or texts are written. */
static void failure_of_the_sink_ends_it(void)
{
	size_t before = hs_arena_used();
	struct memory_sink whole = {0};

	fill_static(1000);
	CHECK_INT(sample_encode(&many.view, &whole), 0);
	CHECK(whole.calls > 20);
	free(whole.bytes);
	for (size_t after = 1; after <= whole.calls; after++) {
		struct memory_sink memory = {.fail_after = after};

		CHECK_INT(sample_encode(&many.view, &memory), -ENOSPC);
		CHECK_INT(memory.calls, after);
		CHECK_INT(hs_arena_used(), before);
		free(memory.bytes);
	}
}

/* When a table of texts or functions cannot grow, whichever comes first. */
static void used_up_memory_leaves_nothing_out(void)
{
	fill_static(10);
	CHECK(encode_with_any_budget(&many.view, 4096) > 20);
}

/* Wherever a message or a text comes that does not fit. */
static void pieces_do_not_exceed_the_buffer(void)
{
	char padding[32];

	for (size_t i = 0; i < sizeof padding; i++) {
		struct memory_sink memory = {0};

		memset(padding, 'x', sizeof padding);
		padding[i] = '\0';
		fill_static(1000);
		many.view.drop_frames = padding;
		CHECK_INT(sample_encode(&many.view, &memory), 0);
		CHECK(memory.largest > 16300 && memory.largest <= 16384);
		free(memory.bytes);
	}
}

static void large_view_has_no_second_copy(void)
{
	size_t before = hs_arena_used();
	struct memory_sink memory = {0};
	unsigned items = MANY_ROWS + MAPPINGS + 2 * MANY_LOCATIONS + MANY_LOCATIONS;

	fill_static(MANY_ROWS);
	sample_pauses = 0;
	CHECK_INT(sample_encode(&many.view, &memory), 0);
	CHECK(memory.length > (size_t)10 << 20);
	CHECK(memory.arena_peak - before < (size_t)4 << 20);
	CHECK_INT(hs_arena_used(), before);
	/* In pieces, each nearly full. */
	CHECK(memory.calls < memory.length / (15 << 10));
	/* There is a pause every 256 items; besides the names there are some twenty texts. */
	CHECK(sample_pauses >= items / 256 && sample_pauses <= (items + 32) / 256);
	printf("   %d rows, %zu bytes, %zu bytes of arena\n", MANY_ROWS, memory.length,
	       memory.arena_peak - before);
	free(memory.bytes);
}

int main(void)
{
	CHECK_INT(hs_arena_init(BUDGET), 0);
	RUN(equal_views_give_equal_bytes);
	RUN(failure_of_the_sink_ends_it);
	RUN(used_up_memory_is_reported);
	RUN(no_text_is_left_out);
	RUN(used_up_memory_leaves_nothing_out);
	RUN(pieces_do_not_exceed_the_buffer);
	RUN(large_view_has_no_second_copy);
	return CHECK_RESULT();
}
