/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The statistics as JSON (RFC 8259), in full: see libheapsample(7), Statistics.
 *
 * Threads: the producer.  Memory: none.
 */
#ifndef HS_OUTPUT_STATS_JSON_H
#define HS_OUTPUT_STATS_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "output/profile_view.h"

/* Room for all of it, with a path of HS_PATH_BYTES in which each byte is escaped. */
#define HS_STATS_JSON_BYTES (32 << 10)

/* What is not counted in base/stats.h. */
struct hs_stats_report {
	const char *version;
	const char *program;
	const char *reason;
	const char *profile; /* the file written; NULL: none, or not to be told */
	const char *ended_early; /* why sampling has ended before the program; NULL: it has not */
	uint64_t pid;
	uint64_t number;
	uint64_t time_ns;     /* wall clock */
	uint64_t duration_ns; /* since the start of the session */
	uint64_t interval;    /* bytes: what was asked for, */
	uint64_t current_interval; /* and now; 0: sampling has ended */
	uint64_t ring_bytes;
	uint64_t ring_high_water_bytes;
	uint64_t memory_used; /* by the profiler, bytes */
	uint64_t memory_budget;
	uint64_t resident_bytes; /* of the process */
	uint64_t rows;
	int64_t totals[HS_VIEW_VALUES]; /* of the rows */
};

/* Write the text with a NUL.  Returns its length. */
size_t hs_stats_json(const struct hs_stats_report *report, char text[HS_STATS_JSON_BYTES]);

#endif
