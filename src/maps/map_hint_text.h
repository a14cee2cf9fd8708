/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text of map hints: "objfile[@pid],start,length[,offset]", separated by semicolons or
 * newlines.  Blanks around a hint are no part of it.  A '#' at the beginning of a hint, or
 * behind a blank, begins a comment to the end of its line.
 *
 * objfile ends at the last '@' that is followed by digits and a comma; without one, at
 * the first comma.  So it may hold commas if there is a pid, and never a semicolon.
 * Source of the form: `perf report --map-anon-mem` (a patch that was not merged).
 *
 * Threads: any.  Allocates: never.  Errno: preserved.
 */
#ifndef HS_MAPS_MAP_HINT_TEXT_H
#define HS_MAPS_MAP_HINT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No object's text is longer: code reaches its own data with 32 bits. */
#define HS_MAP_HINT_MAX_LENGTH ((uint64_t)4 << 30)

struct hs_map_hint {
	const char *path; /* objfile; not NUL-terminated, in the text */
	size_t path_bytes;
	uint64_t pid; /* the process it is for; 0 = every one */
	uint64_t start;
	uint64_t length; /* at least 1; start + length does not wrap */
	/* Into the file, or into the text section of an ET_REL object; + length: below 2^63. */
	uint64_t offset;
};

/* What is wrong with a hint. */
struct hs_map_hint_problem {
	const char *part; /* "start" */
	const char *text; /* of that part, in the hint's text */
	size_t text_bytes;
	const char *expected; /* for people: what would be right */
};

/* A hint's text, not NUL-terminated. */
struct hs_map_hint_item {
	const char *text;
	size_t bytes;
	unsigned number; /* from 1 */
	unsigned line;   /* from 1 */
};

struct hs_map_hint_list {
	const char *next;
	unsigned number;
	unsigned line;
};

/* Begins with the first hint of a NUL-terminated text, which must stay as it is. */
void hs_map_hint_list_begin(struct hs_map_hint_list *list, const char *text);

/* Gives the next hint, of whatever form.  Returns false at the end of the text. */
bool hs_map_hint_list_next(struct hs_map_hint_list *list, struct hs_map_hint_item *item);

/* Parses a hint.  Returns false with *problem. */
bool hs_map_hint_parse(const struct hs_map_hint_item *item, struct hs_map_hint *hint,
		       struct hs_map_hint_problem *problem);

/*
 * Whether [start, start + length) can be hinted to be what is at offset; else false with
 * *problem, but for the text.
 */
bool hs_map_hint_check_range(uint64_t start, uint64_t length, uint64_t offset,
			     struct hs_map_hint_problem *problem);

#endif
