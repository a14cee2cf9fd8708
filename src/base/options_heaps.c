/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_HEAPS: name=interval,...  Parsing runs during start-up; look-ups on any thread.
 * Nothing here allocates.
 */
#include <string.h>

#include "base/options.h"
#include "base/options_table.h"

/*
 * Reads an entry at text.  Returns the end of it; NULL if it makes no sense.  An interval has
 * the units and the bounds of HEAPSAMPLE_INTERVAL, and may be 0.
 */
static const char *read_entry(const char *text, struct hs_heap_entry *entry)
{
	static const struct hs_option interval = {
		.field_bytes = sizeof entry->interval_bytes,
		.maximum = UINT64_C(256) << 30,
		.words = hs_option_size_units,
	};
	size_t length = strcspn(text, "=,"), rest;
	char number[32];

	if (length == 0 || length >= sizeof entry->name || text[length] != '=')
		return NULL;
	memcpy(entry->name, text, length);
	entry->name[length] = '\0';
	text += length + 1;
	rest = strcspn(text, ",");
	if (rest >= sizeof number)
		return NULL;
	memcpy(number, text, rest);
	number[rest] = '\0';
	if (!hs_option_parse_number(&interval, &entry->interval_bytes, number))
		return NULL;
	return text + rest;
}

const char *hs_options_next_heap(const char *text, struct hs_heap_entry *entry)
{
	if (*text == ',')
		text++;
	return *text == '\0' ? NULL : read_entry(text, entry);
}

uint64_t hs_options_heap_interval(const struct hs_options *options, const char *name)
{
	uint64_t interval = options->interval_bytes;
	struct hs_heap_entry entry;

	for (const char *next = options->heaps;
	     (next = hs_options_next_heap(next, &entry)) != NULL;) {
		if (strcmp(entry.name, name) == 0)
			return entry.interval_bytes;
		if (strcmp(entry.name, "*") == 0)
			interval = entry.interval_bytes;
	}
	return interval;
}

uint64_t hs_options_least_interval(const struct hs_options *options)
{
	uint64_t least = options->interval_bytes;
	struct hs_heap_entry entry;

	for (const char *next = options->heaps;
	     (next = hs_options_next_heap(next, &entry)) != NULL;) {
		if (entry.interval_bytes != 0 && entry.interval_bytes < least)
			least = entry.interval_bytes;
	}
	return least;
}

/* Each name once. */
static bool is_new(const char *text, const char *end, const char *name)
{
	struct hs_heap_entry entry;

	for (const char *next = text; next < end;) {
		next = hs_options_next_heap(next, &entry);
		if (next == NULL || next >= end)
			break;
		if (strcmp(entry.name, name) == 0)
			return false;
	}
	return true;
}

bool hs_option_parse_heaps(const struct hs_option *option, void *field, const char *text)
{
	struct hs_heap_entry entry;
	const char *next = text, *start;

	while (*next != '\0') {
		start = *next == ',' ? next + 1 : next;
		if (next == text && *next == ',')
			return false;
		next = read_entry(start, &entry);
		if (next == NULL || !is_new(text, start, entry.name))
			return false;
	}
	return hs_option_parse_text(option, field, text);
}
