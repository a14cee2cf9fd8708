/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_STATS: all statistics, in a file of their own with each profile.  Runs on the
 * producer's thread with producer_batch held; releases it for the write.
 */
#include <errno.h>
#include <heapsample/heapsample.h>
#include <string.h>

#include "base/arena.h"
#include "base/options.h"
#include "output/stats_json.h"
#include "sample/heap.h"
#include "sample/sampler.h"
#include "session/memory_parts.h"
#include "session/process_memory.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/unlocked.h"

static struct hs_dump_file stats_file;

/* Of the last file, or 0. */
static int last_error;

static struct hs_stats_heap heaps[HS_HEAP_LIMIT];

static void fill_heap(struct hs_stats_heap *out, uint32_t number, const struct hs_view *view)
{
	const struct hs_heap *heap = &hs_heaps[number];

	*out = (struct hs_stats_heap){
		.name = heap->name,
		.interval = heap->asked_bytes,
		.current_interval = hs_heap_last_interval(number),
		/* Relaxed: sums that threads go on adding to; nothing depends on them. */
		.lost_objects = (uint64_t)hs_weight_round(hs_heap_lost_weight(number)),
		.lost_bytes = atomic_load_explicit(&heap->lost.bytes, memory_order_relaxed),
	};
#define FILL_COUNT(name) out->counts.name = hs_heap_get(number, name);
	HS_HEAP_COUNTS(FILL_COUNT)
#undef FILL_COUNT
	if (view->heaps != NULL)
		out->rows = view->heaps[number];
}

/* Heaps that are registered, or were and have had samples.  Returns how many. */
static size_t fill_heaps(const struct hs_view *view)
{
	size_t count = 0;

	for (uint32_t number = HS_HEAP_MALLOC; number < HS_HEAP_LIMIT; number++) {
		/* Acquire: pairs with the registration, which sets the name first. */
		if (atomic_load_explicit(&hs_heaps[number].state, memory_order_acquire) !=
			    HS_HEAP_UNUSED ||
		    hs_heap_get(number, samples) != 0)
			fill_heap(&heaps[count++], number, view);
	}
	return count;
}

static void fill(struct hs_stats_report *report, const struct hs_view *view)
{
	const struct hs_session *session = &hs_session;
	struct hs_process_memory memory;

	hs_process_memory_read(&memory, "");
	report->version = heapsample_version();
	report->ended_early = session->ended_early;
	report->time_ns = (uint64_t)view->time_ns;
	report->duration_ns = (uint64_t)(view->since_ns + view->duration_ns);
	report->ring_bytes = hs_ring_data_bytes(&session->ring);
	report->ring_high_water_bytes = hs_ring_high_water_bytes(&session->ring);
	report->memory_used = hs_arena_used();
	report->memory_budget = hs_memory_most();
	report->resident_bytes = memory.resident;
#define FILL_TOTAL(name) report->totals.name = hs_heap_total(name);
	HS_HEAP_COUNTS(FILL_TOTAL)
#undef FILL_TOTAL
	report->heap_count = fill_heaps(view);
	report->heaps = heaps;
}

static int write_unlocked(const void *text, size_t bytes)
{
	int error;

	hs_unlocked_file_begins();
	error = hs_dump_file_write(&stats_file, text, bytes);
	hs_unlocked_file_ends();
	return error;
}

static int write_named(const char *path, const struct hs_stats_report *report)
{
	int error = hs_unlocked_file_open(&stats_file, path, false);

	if (error != 0)
		return error;
	return hs_unlocked_file_end(&stats_file, hs_stats_json(report, write_unlocked));
}

void hs_stats_file_write(const struct hs_dump_name *name, const struct hs_view *view,
			 const char *program, const char *profile)
{
	static char path[HS_PATH_BYTES];
	struct hs_stats_report report = {
		.program = program,
		.reason = name->reason,
		.profile = profile,
		.pid = (uint64_t)name->pid,
		.number = name->number,
	};
	const char *problem = "it is the profile's name";
	enum hs_log_level level;
	int error;

	if (hs_options.stats[0] == '\0')
		return;
	fill(&report, view);
	error = hs_dump_name_expand(hs_options.stats, name, path, sizeof path);
	if (error == 0 && hs_profile_file_is_at(path)) {
		error = -EEXIST;
	} else {
		if (error == 0)
			error = write_named(path, &report);
		problem = hs_dump_file_error_text(&stats_file, error);
	}
	level = hs_dump_result_level(&last_error, error);
	if (error != 0)
		hs_unlocked_log(level,
				"cannot write the statistics into HEAPSAMPLE_STATS=%s: %s (%d)",
				hs_options.stats, problem, -error);
}

void hs_stats_file_after_fork(void)
{
	last_error = 0;
	hs_dump_file_forget(&stats_file);
}
