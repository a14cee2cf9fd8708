/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile as the encoder sees it: a snapshot of the books, laid out by profile/snapshot.h.  All
 * pointers belong to the snapshot, and are valid until the encoding has ended.
 */
#ifndef HS_OUTPUT_PROFILE_VIEW_H
#define HS_OUTPUT_PROFILE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/options.h"
#include "base/pauses.h"

/* Written in the order of the view, with ids 1..n; the main binary is the first. */
struct hs_view_mapping {
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
	const char *filename;
	const char *build_id;
	bool has_functions;
};

/* Written in the order of the view, with ids 1..n. */
struct hs_view_location {
	uint32_t mapping;        /* index into mappings */
	uint64_t address;        /* call site */
	const char *name;        /* of the function; NULL: none is written */
	const char *system_name; /* linkage name; NULL: the same as name */
	const char *filename;    /* of the function's source; NULL or "": not known */
	uint32_t start_line;     /* of the function; 0: not known */
};

enum { HS_VIEW_VALUES = 4 };

struct hs_view_row {
	/* alloc_objects, alloc_space, inuse_objects, inuse_space */
	int64_t values[HS_VIEW_VALUES];
	uint32_t callsite; /* for the view's get_stack() */
	uint8_t heap_number;
	bool has_size;
	bool has_tid;
	uint64_t size;      /* label "bytes" if has_size */
	int64_t tid;        /* label "tid" if has_tid */
	const char *thread; /* label "thread"; NULL or "": none */
	const char *heap;   /* label "heap"; NULL, of malloc's heap: none */
	const char *labels; /* the program's: key NUL value NUL ... NUL; NULL: none */
};

/* Adds to a sum.  Saturates: a program may report blocks of any size. */
static inline void hs_view_add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value < 0 ? INT64_MIN : INT64_MAX;
}

/* The most labels of the program that a row has. */
enum { HS_VIEW_LABELS = 8 };

/* A heap's rows together. */
struct hs_view_heap {
	uint32_t row_count;           /* rows of the view */
	int64_t sums[HS_VIEW_VALUES]; /* of all values since the start of the session */
};

/*
 * What the encoder takes of the arena, at most unless texts need escapes: for each text that rows
 * have, and for each location, which may have a function of its own with two names.  A table takes
 * three times what is in it while it grows.
 */
#define HS_VIEW_TEXT_BYTES 128
#define HS_VIEW_LOCATION_BYTES 320

#define HS_VIEW_COMMENTS 5

struct hs_view {
	const struct hs_view_mapping *mappings;
	size_t mapping_count;
	const struct hs_view_location *locations;
	size_t location_count;
	const struct hs_view_row *rows; /* no two with the same stack and labels; none all zero */
	size_t row_count;
	/* What are differences since since_ns.  HS_DELTA_ALL: values in use may be below 0. */
	enum hs_delta_kind delta;
	bool is_partial; /* of HS_DELTA_ALL: there are more rows, for the next profile */
	const struct hs_view_heap *heaps; /* by number; NULL: the view could not be made */

	/*
	 * Writes the ids of the locations of a callsite's stack, leaf first, and returns how many,
	 * from 1 to capacity.
	 */
	size_t (*get_stack)(const void *context, uint32_t callsite, uint64_t *ids, size_t capacity);
	const void *stack_context;
	size_t deepest_stack; /* the most that get_stack() returns */

	const char *comments[HS_VIEW_COMMENTS]; /* a NULL is left out */
	const char *drop_frames;                /* regular expression; "": none */
	uint64_t period_bytes;         /* mean sampling interval, in the settings */
	uint64_t current_period_bytes; /* and now, or when sampling ended */
	int64_t time_ns;     /* when it was taken, by the wall clock */
	int64_t since_ns;    /* time from the start of the session to where the values begin */
	int64_t duration_ns; /* time that the values cover */

	struct hs_pauses *pauses; /* counted on by the encoder: each message and text is a piece */
};

#endif
