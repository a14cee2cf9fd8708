/* SPDX-License-Identifier: BSD-2-Clause */
/* The statistics as JSON.  See stats_json.h. */
#include "output/stats_json.h"

#include "base/format.h"
#include "base/utf8.h"

/* The text goes to the sink each time that the buffer is full. */
struct json {
	hs_byte_sink_fn sink;
	int error;   /* the sink's first error */
	char last;   /* the byte that was put last */
	size_t used; /* bytes of text */
	char text[16 << 10];
};

static void flush(struct json *json)
{
	if (json->error == 0)
		json->error = json->sink(json->text, json->used);
	json->used = 0;
}

static void put(struct json *json, const char *text)
{
	for (; *text != '\0'; text++) {
		if (json->used == sizeof json->text)
			flush(json);
		json->text[json->used++] = json->last = *text;
	}
}

/* A string; a byte that is not UTF-8 becomes %XX, as in profiles. */
static void put_string(struct json *json, const char *text)
{
	put(json, "\"");
	while (*text != '\0') {
		char out[8] = {0};
		size_t bytes = hs_utf8_character_bytes(text);
		unsigned char byte = (unsigned char)*text;

		if (bytes == 0)
			hs_utf8_escape_byte(out, byte);
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
	put(json, json->last == '{' ? "\n" : ",\n");
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

static void put_text(struct json *json, const char *indent, const char *key, const char *text)
{
	put_key(json, indent, key);
	if (text != NULL)
		put_string(json, text);
	else
		put(json, "null");
}

static void put_counts(struct json *json, const char *indent, const struct hs_stats_counts *counts)
{
#define PUT_COUNT(name) put_number(json, indent, #name, counts->name);
	HS_HEAP_COUNTS(PUT_COUNT)
#undef PUT_COUNT
}

static void put_counters(struct json *json, const struct hs_stats_counts *totals)
{
	put_key(json, " ", "counters");
	put(json, "{");
	put_counts(json, "  ", totals);
#define PUT_COUNTER(name) put_number(json, "  ", #name, hs_stats_get(name));
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

static void put_heap(struct json *json, const struct hs_stats_heap *heap)
{
	static const char *const values[HS_VIEW_VALUES] = {"alloc_objects", "alloc_space",
							   "inuse_objects", "inuse_space"};

	put(json, "{");
	put_text(json, "   ", "name", heap->name);
	put_number(json, "   ", "interval", heap->interval);
	put_number(json, "   ", "current_interval", heap->current_interval);
	put_counts(json, "   ", &heap->counts);
	put_number(json, "   ", "lost_objects", heap->lost_objects);
	put_number(json, "   ", "lost_bytes", heap->lost_bytes);
	put_number(json, "   ", "rows", heap->rows.row_count);
	for (size_t i = 0; i < HS_VIEW_VALUES; i++)
		put_number(json, "   ", values[i], (uint64_t)heap->rows.sums[i]);
	put(json, "\n  }");
}

static void put_heaps(struct json *json, const struct hs_stats_report *report)
{
	put_key(json, " ", "heaps");
	put(json, "[");
	for (size_t i = 0; i < report->heap_count; i++) {
		put(json, i == 0 ? "\n  " : ",\n  ");
		put_heap(json, &report->heaps[i]);
	}
	put(json, "\n ]");
}

int hs_stats_json(const struct hs_stats_report *report, hs_byte_sink_fn sink)
{
	static struct json json;

	/* Not empty in a child that was forked while the parent was writing. */
	json.used = 0;
	json.sink = sink;
	json.error = 0;
	put(&json, "{");
	put_text(&json, " ", "version", report->version);
	put_text(&json, " ", "program", report->program);
	put_number(&json, " ", "pid", report->pid);
	put_text(&json, " ", "reason", report->reason);
	put_number(&json, " ", "number", report->number);
	put_text(&json, " ", "profile", report->profile);
	put_text(&json, " ", "ended_early", report->ended_early);
	put_number(&json, " ", "time_ns", report->time_ns);
	put_number(&json, " ", "duration_ns", report->duration_ns);
	put_counters(&json, &report->totals);
	put_unwinding_times(&json);
	put_number(&json, " ", "ring_bytes", report->ring_bytes);
	put_number(&json, " ", "ring_high_water_bytes", report->ring_high_water_bytes);
	put_number(&json, " ", "profiler_memory", report->memory_used);
	put_number(&json, " ", "profiler_memory_budget", report->memory_budget);
	put_number(&json, " ", "resident", report->resident_bytes);
	put_heaps(&json, report);
	put(&json, "\n}\n");
	flush(&json);
	return json.error;
}
