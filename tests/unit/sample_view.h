/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For the tests of the encoder: a view of 3 mappings, 20 locations and 50 rows, and a
 * sink into memory.
 */
#ifndef HS_TESTS_SAMPLE_VIEW_H
#define HS_TESTS_SAMPLE_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "output/profile_view.h"

enum { MAPPINGS = 3, LOCATIONS = 20, ROWS = 50, DEPTH = 5 };

struct sample {
	struct hs_view view; /* points into the others */
	struct hs_view_mapping mappings[MAPPINGS];
	struct hs_view_location locations[LOCATIONS];
	struct hs_view_row rows[ROWS];
	struct hs_pauses pauses;
	char names[LOCATIONS][24];
	char system_names[LOCATIONS][24];
};

/* Of all encodings. */
extern unsigned sample_pauses;

/* Always fills in the same view. */
void sample_fill(struct sample *sample);

/* The view's stack function: the stack of call site i has DEPTH - i % 3 frames. */
size_t sample_stack(const void *context, uint32_t callsite, uint64_t *ids, size_t capacity);

/* A sink into malloc'ed memory, which may fail, and notes the most that the arena had in use. */
struct memory_sink {
	uint8_t *bytes;
	size_t length;
	size_t capacity;
	size_t fail_after; /* the number of the call, from 1, that fails with -ENOSPC; 0: none */
	size_t calls;
	size_t largest; /* bytes of a call */
	size_t arena_peak;
};

/* hs_pprof_encode() into memory. */
int sample_encode(const struct hs_view *view, struct memory_sink *memory);

#endif
