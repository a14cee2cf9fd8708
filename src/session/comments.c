/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The comments of a profile: settings, losses, counts.  Runs on the producer's thread.
 */
#include <heapsample/heapsample.h>

#include "base/arena.h"
#include "base/format.h"
#include "base/options.h"
#include "base/stats.h"
#include "profile/snapshot.h"
#include "sample/heap.h"
#include "session/epoch.h"
#include "session/process_memory.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/started.h"

/* pprof prints all but those that begin with '#' at the head of every report. */
static struct {
	char session[160];
	char process[256];
	char counts[2048];
	char memory[256];
} comments;

static size_t describe_count(char *text, size_t used, size_t capacity, const char *label,
			     uint64_t count)
{
	if (used > sizeof "#" - 1 && count == 0)
		return used;
	return used + hs_format(text + used, capacity - used, " %s=%llu", label,
				(unsigned long long)count);
}

/* "name=count" of every count that is not 0, and of samples, the first, in any case. */
static void describe_counts(char *text, size_t capacity)
{
	size_t used = hs_format(text, capacity, "#");

#define DESCRIBE_HEAPS(name)                                                                       \
	used = describe_count(text, used, capacity, #name, hs_heap_total(name));
#define DESCRIBE(name)                                                                             \
	used = describe_count(text, used, capacity, #name, hs_stats_get(name));
	HS_HEAP_COUNTS(DESCRIBE_HEAPS)
	HS_STATS(DESCRIBE)
#undef DESCRIBE
#undef DESCRIBE_HEAPS
}

/* Why the profile has no rows. */
static void describe_empty(char *text, size_t capacity, const struct hs_view *view)
{
	unsigned long long period_bytes = view->period_bytes;

	if (view->since_ns != 0)
		hs_format(text, capacity, "empty: no samples or frees since the profile before");
	else if (!hs_epoch_was_on())
		hs_format(text, capacity, "empty: sampling was not switched on");
	else if (hs_heaps[HS_HEAP_MALLOC].asked_bytes == 0)
		hs_format(text, capacity,
			  "empty: nothing was sampled, malloc is not to be sampled");
	else if (!hs_epoch_was_always_on())
		hs_format(text, capacity,
			  "empty: nothing was sampled since sampling was switched on or the totals "
			  "were reset, one in %llu bytes on average", period_bytes);
	else
		hs_format(text, capacity,
			  "empty: nothing was sampled of %llu bytes allocated, one in %llu on "
			  "average%s",
			  (unsigned long long)hs_stats_get(allocated_bytes), period_bytes,
			  hs_started_is_wrapper() ? "; the programs that it started were not "
						    "profiled, see HEAPSAMPLE_PROGRAMS"
						  : "");
}

void hs_comments_write(struct hs_view *view, const struct hs_dump_name *name, bool hides_program)
{
	static const char *const delta_words[] = {
		[HS_DELTA_NONE] = "",
		[HS_DELTA_ALL] = " delta",
		[HS_DELTA_ALLOC] = " delta=alloc",
	};
	struct hs_process_memory memory;

	hs_process_memory_read(&memory, "");
	hs_format(comments.session, sizeof comments.session,
		  "libheapsample %s interval=%llu%s", heapsample_version(),
		  (unsigned long long)view->period_bytes, delta_words[view->delta]);
	hs_format(comments.process, sizeof comments.process,
		  "# exe=%s pid=%d reason=%s number=%u",
		  hides_program ? "FILTERED" : name->program, (int)name->pid, name->reason,
		  name->number);
	describe_counts(comments.counts, sizeof comments.counts);
	if (view->row_count == 0)
		describe_empty(comments.memory, sizeof comments.memory, view);
	else
		hs_format(comments.memory, sizeof comments.memory,
			  "# profiler_memory=%zu resident=%llu current_interval=%llu",
			  hs_arena_used(), (unsigned long long)memory.resident,
			  (unsigned long long)view->current_period_bytes);
	view->comments[0] = comments.session;
	view->comments[1] = comments.process;
	view->comments[2] = comments.counts;
	view->comments[3] = comments.memory;
	view->comments[4] = hs_session.ended_early;
}
