/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_STATS: the statistics in full, in a file of their own with each profile.  Runs
 * on the producer's thread with producer_batch held; lets go of it for the write.
 */
#include <errno.h>
#include <heapsample/heapsample.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/options.h"
#include "base/sys.h"
#include "output/stats_json.h"
#include "sample/sampler.h"
#include "session/process_memory.h"
#include "session/session_state.h"

static struct hs_dump_file stats_file = {.fd = -1};

static void fill(struct hs_stats_report *report, const struct hs_view *view)
{
	const struct hs_session *session = &hs_session;
	struct hs_process_memory memory;

	hs_process_memory_read(&memory, "");
	report->version = heapsample_version();
	report->ended_early = session->ended_early;
	report->time_ns = (uint64_t)view->time_ns;
	report->duration_ns = (uint64_t)(view->since_ns + view->duration_ns);
	report->interval = hs_options.interval_bytes;
	report->current_interval = atomic_load_explicit(&hs_sampler_interval, memory_order_relaxed);
	report->ring_bytes = (uint64_t)session->ring.units * HS_RING_UNIT;
	report->ring_high_water_bytes = hs_ring_high_water_bytes(&session->ring);
	report->memory_used = hs_arena_used();
	report->memory_budget = hs_options.memory_bytes;
	report->resident_bytes = memory.resident;
	report->rows = view->row_count;
	for (size_t i = 0; i < HS_VIEW_VALUES; i++)
		report->totals[i] = view->sums[i];
}

static int write_unlocked(const char *text, size_t bytes)
{
	int error = -EBADF;

	hs_lock_hand_over(&hs_session.producer_batch);
	if (hs_dump_file_is_ours(&stats_file))
		error = hs_sys_write_all(stats_file.fd, text, bytes);
	hs_lock_acquire(&hs_session.producer_batch);
	return error;
}

static int write_named(const char *path, const char *text, size_t bytes)
{
	int error = hs_dump_file_open(&stats_file, path);

	if (error != 0)
		return error;
	error = write_unlocked(text, bytes);
	if (error == 0)
		error = hs_dump_file_commit(&stats_file);
	else
		hs_dump_file_discard(&stats_file);
	return error;
}

void hs_stats_file_write(const struct hs_dump_name *name, const struct hs_view *view,
			 const char *program, const char *profile)
{
	static char path[HS_PATH_BYTES], text[HS_STATS_JSON_BYTES];
	struct hs_stats_report report = {
		.program = program,
		.reason = name->reason,
		.profile = profile,
		.pid = (uint64_t)name->pid,
		.number = name->number,
	};
	int error;

	if (hs_options.stats[0] == '\0')
		return;
	fill(&report, view);
	error = hs_dump_name_expand(hs_options.stats, name, path, sizeof path);
	if (error == 0)
		error = write_named(path, text, hs_stats_json(&report, text));
	if (error != 0)
		hs_log(HS_LOG_ERROR,
		       "cannot write the statistics into HEAPSAMPLE_STATS=%s: %s (%d)",
		       hs_options.stats, hs_dump_error_text(error), -error);
}

void hs_stats_file_after_fork(void)
{
	hs_dump_file_forget(&stats_file);
}
