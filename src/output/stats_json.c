/* SPDX-License-Identifier: BSD-2-Clause */
/* The statistics as JSON.  Runs on the producer. */
#include "output/stats_json.h"

#include <string.h>

#include "base/format.h"
#include "base/stats.h"
#include "output/string_table.h"

struct json {
	char *text;
	size_t length;
};

static void put(struct json *json, const char *text)
{
	json->length += hs_format(json->text + json->length, HS_STATS_JSON_BYTES - json->length,
				  "%s", text);
}

/* A string; a byte that is not UTF-8 becomes %XX, as in profiles. */
static void put_string(struct json *json, const char *text)
{
	char out[8];

	put(json, "\"");
	while (*text != '\0') {
		size_t bytes = hs_string_character_bytes(text);
		unsigned char byte = (unsigned char)*text;

		if (bytes == 0)
			hs_format(out, sizeof out, "%%%02x", byte);
		else if (byte < 0x20)
			hs_format(out, sizeof out, "\\u%04x", byte);
		else if (byte == '"' || byte == '\\')
			hs_format(out, sizeof out, "\\%c", byte);
		else
			hs_format(out, bytes + 1, "%s", text);
		put(json, out);
		text += bytes > 0 ? bytes : 1;
	}
	put(json, "\"");
}

/* A member of an object, which begins a line unless it is the first. */
static void put_key(struct json *json, const char *indent, const char *key)
{
	char last = json->text[json->length - 1];

	put(json, last == '{' ? "\n" : ",\n");
	put(json, indent);
	put_string(json, key);
	put(json, ": ");
}

static void put_number(struct json *json, const char *indent, const char *key, uint64_t number)
{
	char digits[24];

	put_key(json, indent, key);
	hs_format(digits, sizeof digits, "%llu", (unsigned long long)number);
	put(json, digits);
}

static void put_text(struct json *json, const char *key, const char *text)
{
	put_key(json, " ", key);
	if (text != NULL)
		put_string(json, text);
	else
		put(json, "null");
}

static void put_counters(struct json *json)
{
	put_key(json, " ", "counters");
	put(json, "{");
#define PUT_COUNTER(name, text) put_number(json, "  ", text, hs_stats_get(name));
	HS_STATS(PUT_COUNTER)
#undef PUT_COUNTER
	put(json, "\n }");
}

/* A list of [upper limit in microseconds, count]. */
static void put_unwinding_times(struct json *json)
{
	char item[64];

	put_key(json, " ", "unwinding_times_us");
	put(json, "[");
	for (unsigned i = 0; i < HS_TIME_BUCKETS; i++) {
		unsigned long long count =
			atomic_load_explicit(&hs_unwinding_times[i], memory_order_relaxed);

		if (i + 1 < HS_TIME_BUCKETS)
			hs_format(item, sizeof item, "[%u, %llu], ", 1u << i, count);
		else
			hs_format(item, sizeof item, "[null, %llu]", count);
		put(json, item);
	}
	put(json, "]");
}

static void put_heaps(struct json *json, const struct hs_stats_report *report)
{
	static const char *const values[HS_VIEW_VALUES] = {"alloc_objects", "alloc_space",
							   "inuse_objects", "inuse_space"};

	put_key(json, " ", "heaps");
	put(json, "{");
	put_key(json, "  ", "malloc");
	put(json, "{");
	put_number(json, "   ", "interval", report->interval);
	put_number(json, "   ", "current_interval", report->current_interval);
	put_number(json, "   ", "rows", report->rows);
	for (size_t i = 0; i < HS_VIEW_VALUES; i++)
		put_number(json, "   ", values[i], (uint64_t)report->totals[i]);
	put(json, "\n  }\n }");
}

size_t hs_stats_json(const struct hs_stats_report *report, char text[HS_STATS_JSON_BYTES])
{
	struct json json = {.text = text};

	put(&json, "{");
	put_text(&json, "version", report->version);
	put_text(&json, "program", report->program);
	put_number(&json, " ", "pid", report->pid);
	put_text(&json, "reason", report->reason);
	put_number(&json, " ", "number", report->number);
	put_text(&json, "profile", report->profile);
	put_text(&json, "ended_early", report->ended_early);
	put_number(&json, " ", "time_ns", report->time_ns);
	put_number(&json, " ", "duration_ns", report->duration_ns);
	put_counters(&json);
	put_unwinding_times(&json);
	put_number(&json, " ", "ring_bytes", report->ring_bytes);
	put_number(&json, " ", "ring_high_water_bytes", report->ring_high_water_bytes);
	put_number(&json, " ", "profiler_memory", report->memory_used);
	put_number(&json, " ", "profiler_memory_budget", report->memory_budget);
	put_number(&json, " ", "resident", report->resident_bytes);
	put_heaps(&json, report);
	put(&json, "\n}\n");
	return json.length;
}
