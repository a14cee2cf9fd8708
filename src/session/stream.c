/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_STREAM: writes allocations and frees into a file as they happen, in place of
 * profiles.
 *
 * Runs on the producer's thread with producer_batch held; releases it while it writes, so that a
 * fork never waits for a file.
 */
#include <errno.h>

#include "base/format.h"
#include "base/log.h"
#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "output/alloc_stream.h"
#include "profile/commit_order.h"
#include "sample/free_times.h"
#include "sample/heap.h"
#include "sample/live_set.h"
#include "sample/recorder.h"
#include "sample/sampler.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/unlocked.h"

/* Events stay in the buffer this long at most. */
#define FLUSH_NS 1000000000u

static struct hs_alloc_stream stream;
static char path[HS_PATH_BYTES]; /* "" until it is opened */
static bool failed;
static uint64_t first_number;  /* events below it are in the parent's file, after a fork */
static uint64_t losses_shown;  /* counted when the last event was written */
static uint64_t losses_told;   /* when they were last logged */
static uint64_t losses_before; /* those that do not count: the parent's */
static uint64_t gaps_before;   /* sequence gaps at the fork */
static bool gaps_inherited;    /* whether further gaps may be the parent's */
static uint64_t flush_due_ns;  /* monotonic */

/* Events that are missing in the stream: samples that were lost, and numbers that never arrived. */
static uint64_t losses(void)
{
	return hs_heap_total(lost_ring) + hs_heap_total(lost_live_set) +
	       hs_stats_get(sequence_gaps) - losses_before;
}

/*
 * In a forked child, numbers that other threads of the parent had taken do not arrive: the parent
 * has them.  Gaps before the child's own first event are those, and do not count as losses.
 */
static void forgive_inherited_gaps(void)
{
	if (gaps_inherited)
		losses_before += hs_stats_get(sequence_gaps) - gaps_before;
	gaps_inherited = false;
}

static int open_file(void)
{
	struct hs_dump_name name = hs_dump_name_now("stream", 1);
	bool is_new = hs_dump_name_is_new(hs_options.stream, &name);
	int error, tries = 0;

	do {
		error = hs_dump_name_expand_free(hs_options.stream, &name, path, sizeof path);
		if (error == 0)
			error = hs_alloc_stream_open(&stream, path, is_new);
	} while (is_new && error == -EEXIST && ++tries < HS_DUMP_NAMES);
	if (error == 0)
		hs_log(HS_LOG_INFO, "streaming into %s", stream.file.path);
	return error;
}

static void flush(void)
{
	static char problem[HS_PATH_BYTES + HS_OPTION_TEXT_BYTES + 128];
	int error = 0;

	if (failed)
		return;
	if (path[0] == '\0') {
		hs_unlocked_opening_begins();
		error = open_file();
		hs_unlocked_opening_ends();
		hs_dump_file_close_other(&stream.file);
	}
	hs_unlocked_begins();
	if (error == 0)
		error = hs_alloc_stream_flush(&stream);
	hs_unlocked_ends();
	if (error == 0)
		return;
	failed = true;
	hs_alloc_stream_forget(&stream);
	hs_format(problem, sizeof problem,
		  "cannot write the stream %s of HEAPSAMPLE_STREAM=%s: %s (%d)", path,
		  hs_options.stream, hs_dump_error_text(error), -error);
	hs_session_disable(problem);
}

static uint64_t sample_bytes(const struct hs_heap_event *event)
{
	return (uint64_t)hs_weight_round((unsigned __int128)event->weight * event->size);
}

void hs_stream_add(uint64_t number, const struct hs_heap_event *event)
{
	struct hs_stream_event out = {
		.is_free = event->kind == HS_HEAP_EVENT_FREE,
		.heap = event->heap,
		.address = event->address,
		.size = event->size,
		.sample_bytes = sample_bytes(event),
		.time_ns = event->time_ns,
		.sequence = number,
	};
	uint64_t lost;

	if (failed || number < first_number)
		return;
	forgive_inherited_gaps();
	lost = losses();
	out.after_loss = lost != losses_shown;
	losses_shown = lost;
	if (!hs_alloc_stream_add(&stream, &out)) {
		flush();
		hs_alloc_stream_add(&stream, &out);
	}
}

void hs_stream_run_due(void)
{
	uint64_t now_ns = hs_sys_monotonic_ns();

	if (!hs_options_streams(&hs_options) || now_ns < flush_due_ns)
		return;
	flush_due_ns = now_ns + FLUSH_NS;
	if (stream.used > 0)
		flush();
}

void hs_stream_flush(void)
{
	uint64_t lost;

	forgive_inherited_gaps();
	lost = losses();
	flush();
	if (lost != losses_told && !failed)
		hs_unlocked_log(HS_LOG_WARN, "%llu events are missing in the stream %s",
				(unsigned long long)lost, stream.file.path);
	losses_told = lost;
}

uint64_t hs_stream_due_ns(void)
{
	return !hs_options_streams(&hs_options) || failed || stream.used == 0 ? 0 : flush_due_ns;
}

bool hs_stream_awaits_frees(void)
{
	return hs_options_streams(&hs_options) && !failed && hs_live_set_used() > 0;
}

int hs_stream_init(void)
{
	int error = hs_alloc_stream_init(&stream);

	if (error == 0)
		error = hs_free_times_init();
	hs_recorder.stream = true;
	return error;
}

void hs_stream_after_fork(void)
{
	hs_alloc_stream_forget(&stream);
	path[0] = '\0';
	first_number = atomic_load(&hs_sequence.next);
	losses_before += losses();
	gaps_before = hs_stats_get(sequence_gaps);
	gaps_inherited = true;
	losses_shown = losses_told = 0;
}
