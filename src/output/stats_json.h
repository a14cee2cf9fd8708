/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encodes all statistics as JSON (RFC 8259): see libheapsample(7), Statistics.
 *
 * Called on: the producer.  Allocates: never; 16 KiB are static.  Blocks: as the sink does.
 */
#ifndef HS_OUTPUT_STATS_JSON_H
#define HS_OUTPUT_STATS_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "base/stats.h"
#include "output/byte_sink.h"
#include "output/profile_view.h"

/* What is counted for each heap. */
struct hs_stats_counts {
#define HS_STATS_COUNT(name) uint64_t name;
	HS_HEAP_COUNTS(HS_STATS_COUNT)
#undef HS_STATS_COUNT
};

struct hs_stats_heap {
	const char *name;
	uint64_t interval;         /* bytes, as asked for; 0: it is not sampled */
	uint64_t current_interval; /* bytes, now, or when sampling ended */
	struct hs_stats_counts counts;
	uint64_t lost_objects; /* estimates, as in its [lost] row */
	uint64_t lost_bytes;
	struct hs_view_heap rows;
};

/* What the encoder does not read from base/stats.h itself. */
struct hs_stats_report {
	const char *version;
	const char *program;
	const char *reason;
	const char *profile;     /* path of the profile; NULL: none was written, or it is hidden */
	const char *ended_early; /* why sampling has ended before the program; NULL: it has not */
	uint64_t pid;
	uint64_t number;
	uint64_t time_ns;     /* wall clock */
	uint64_t duration_ns; /* since the start of the session */
	uint64_t ring_bytes;
	uint64_t ring_high_water_bytes;
	uint64_t memory_used; /* by the profiler, bytes */
	uint64_t memory_budget;
	uint64_t resident_bytes; /* of the process */
	struct hs_stats_counts totals; /* of all heaps, also those that are not listed */
	const struct hs_stats_heap *heaps;
	size_t heap_count;
};

/* Encodes a report.  Returns 0 or the sink's error. */
int hs_stats_json(const struct hs_stats_report *report, hs_byte_sink_fn sink);

#endif
