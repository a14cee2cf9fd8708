/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile: takes a snapshot of the books, and has it written into a file.
 *
 * Runs on the producer's thread with producer_batch held; releases it for each write, while symbols
 * are read ahead, and between pieces of work, so that neither a fork nor a full queue waits for a
 * file.
 */
#include <errno.h>
#include <string.h>

#include "base/format.h"
#include "base/log.h"
#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "profile/snapshot.h"
#include "sample/heap.h"
#include "sample/sampler.h"
#include "session/cpu_guard.h"
#include "session/memory_parts.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/threads.h"
#include "session/unlocked.h"

/*
 * If there is no memory for all rows of a profile of differences it is written in several files: of
 * at most PART_ROWS rows, or half of that, and so on down to PART_LEAST_ROWS.  At most MOST_PARTS
 * files at a time, because the program goes on and makes new differences.
 */
#define PART_ROWS (1u << 18)
#define PART_LEAST_ROWS (1u << 10)
#define MOST_PARTS 100

/* Sets the intervals: the heap's; of all heaps together malloc's, if that is sampled. */
static void set_periods(struct hs_view *view, uint32_t peak_heap)
{
	uint32_t heap = peak_heap != HS_HEAP_NONE ? peak_heap : HS_HEAP_MALLOC;

	view->period_bytes = hs_heap_period(heap, hs_options.interval_bytes);
	view->current_period_bytes = hs_heap_period(heap, hs_sampler_last_interval());
}

/* Of the last profile written. */
static uint32_t last_number;

struct hs_dump_name hs_dump_name_now(const char *reason, uint32_t number)
{
	const struct hs_session *session = &hs_session;

	return (struct hs_dump_name){
		.program = session->program,
		.reason = reason,
		.pid = (pid_t)session->process_id,
		.number = number,
		.time_s = hs_sys_realtime_ns() / HS_SECOND_NS,
		.inherited = session->forked || session->descendant,
	};
}

/* When the last profile of differences was taken, where the next begins; monotonic, 0: none was. */
static uint64_t delta_from_ns;

void hs_dump_after_reset(void)
{
	delta_from_ns = 0;
}

/* For each heap the time of the peak of which a profile was written last; 0: none was. */
static uint64_t peaks_written_ns[HS_HEAP_LIMIT];

/* Of the profiles of each heap's peak, and of those of now, the last one's error, or 0. */
static int last_errors[HS_HEAP_LIMIT];

void hs_dump_after_fork(bool is_whole)
{
	last_number = 0;
	delta_from_ns = 0;
	memset(peaks_written_ns, 0, sizeof peaks_written_ns);
	memset(last_errors, 0, sizeof last_errors);
	hs_producer_forget_written(hs_session.producer);
	hs_snapshot_after_fork(hs_session.producer, is_whole);
	hs_profile_file_after_fork();
	hs_stats_file_after_fork();
	hs_memory_after_fork();
}

void hs_dump_drop_inherited(void)
{
	hs_profile_file_drop_inherited();
	hs_snapshot_drop_inherited(hs_session.producer);
	/* What it had taken counted as the books' since hs_dump_after_fork(). */
	hs_memory_follow();
}

/* Nobody has asked for the profile that is being written: that it fails again is no news. */
static bool comes_by_itself;

enum hs_log_level hs_dump_result_level(int *last, int error)
{
	bool is_told = error == 0 || (comes_by_itself && error == *last);

	*last = error;
	return is_told ? HS_LOG_INFO : HS_LOG_ERROR;
}

static void log_result(const struct hs_dump_name *name, const struct hs_view *view,
		       uint32_t peak_heap, int error)
{
	enum hs_log_level level = hs_dump_result_level(&last_errors[peak_heap], error);

	if (error == 0)
		hs_unlocked_log(level, "wrote %s (%s, %zu rows)", hs_profile_file_last(),
				name->reason, view->row_count);
	else
		hs_unlocked_log(level,
				"cannot write the profile %s of HEAPSAMPLE_OUTPUT=%s: %s (%d)",
				hs_profile_file_path(), hs_options.output,
				hs_profile_file_error_text(error), -error);
}

/* Counts and logs the result. */
static void report(const struct hs_dump_name *name, const struct hs_view *view,
		   uint32_t peak_heap, int error)
{
	if (error != 0)
		hs_stats_add(dump_failures, 1);
	else
		hs_stats_add(dumps, 1);
	if (error == 0 && name->number != 0) /* a profile of a peak has none */
		last_number = name->number;
	log_result(name, view, peak_heap, error);
}

static void set_times(struct hs_view *view, uint64_t now_ns, uint32_t peak_heap)
{
	const struct hs_session *session = &hs_session;
	int64_t session_ns = (int64_t)(hs_sys_monotonic_ns() - session->start_ns);

	view->time_ns = (int64_t)now_ns;
	if (peak_heap != HS_HEAP_NONE)
		view->time_ns = (int64_t)hs_producer_peak_ns(session->producer, peak_heap);
	else if (delta_from_ns != 0)
		view->since_ns = (int64_t)(delta_from_ns - session->start_ns);
	view->duration_ns = session_ns - ((int64_t)now_ns - view->time_ns) - view->since_ns;
	/* The wall clock may have been set since the peak. */
	if (view->duration_ns < 0 || view->duration_ns > session_ns)
		view->duration_ns = session_ns;
}

/* A profile of differences was written: rows of which nothing is left are removed. */
static void end_delta(const struct hs_view *view)
{
	delta_from_ns =
		hs_session.start_ns + (uint64_t)view->since_ns + (uint64_t)view->duration_ns;
	/* Not at the end of the process, where a thread waits and no profile follows. */
	if (atomic_load_explicit(&hs_session.finishing, memory_order_relaxed) != 0)
		return;
	hs_producer_drop_spent(hs_session.producer, hs_threads_pause);
	hs_memory_follow();
}

/*
 * Writes one file of at most this many rows; 0: of all.  Returns 0 or -errno.  The view is valid
 * until the caller passes *out to hs_snapshot_destroy().
 */
static int try_one(struct hs_dump_name *name, uint32_t peak_heap, uint32_t rows,
		   struct hs_view *view, struct hs_snapshot **out)
{
	struct hs_session *session = &hs_session;
	int error;

	hs_producer_bound_delta(session->producer, rows);
	*view = (struct hs_view){.time_ns = 0};
	set_periods(view, peak_heap);
	set_times(view, hs_sys_realtime_ns(), peak_heap);
	*out = hs_snapshot_create(session->producer, &hs_options, peak_heap, hs_threads_pause,
				  view);
	if (*out == NULL)
		return -ENOMEM;
	error = hs_profile_file_write(view, name, peak_heap, hs_snapshot_hides_main(*out));
	if (error == 0)
		hs_snapshot_written(*out);
	return error;
}

/* As try_one(): all rows, or with differences a part of them, if there is memory for no more. */
static int try_all(struct hs_dump_name *name, uint32_t peak_heap, struct hs_view *view,
		   struct hs_snapshot **out)
{
	bool may_be_part = hs_options.delta == HS_DELTA_ALL && peak_heap == HS_HEAP_NONE;
	int error = try_one(name, peak_heap, 0, view, out);

	for (uint32_t rows = PART_ROWS;
	     error == -ENOMEM && may_be_part && rows >= PART_LEAST_ROWS; rows /= 2) {
		hs_snapshot_destroy(*out);
		error = try_one(name, peak_heap, rows, view, out);
	}
	return error;
}

/*
 * Writes a profile of the peak of a heap, or with HS_HEAP_NONE of now.  Whether it was written.
 * *more: there was no memory for all differences, and another file has to follow.
 */
static bool write_one(const char *reason, uint32_t peak_heap, bool *more)
{
	uint32_t number = peak_heap == HS_HEAP_NONE ? last_number + 1 : 0;
	struct hs_dump_name name = hs_dump_name_now(reason, number);
	struct hs_view view;
	struct hs_snapshot *snapshot;
	uint64_t start_ns, bookkeeping_ns;
	bool hides_program;
	int error;

	/* For the report, if there is no memory to begin; hs_profile_file_write() looks again. */
	hs_profile_file_name(&name, peak_heap);
	hs_memory_begin_writing();
	hs_cpu_note_producer(true);
	bookkeeping_ns = hs_stats_get(bookkeeping_ns);
	start_ns = hs_sys_monotonic_ns();
	error = try_all(&name, peak_heap, &view, &snapshot);
	*more = error == 0 && view.is_partial;
	hs_stats_add(dump_ns, hs_sys_monotonic_ns() - start_ns -
				      (hs_stats_get(bookkeeping_ns) - bookkeeping_ns));
	report(&name, &view, peak_heap, error);
	/* Without a snapshot it is not known. */
	hides_program = snapshot == NULL || hs_snapshot_hides_main(snapshot);
	hs_stats_file_write(&name, &view, hides_program ? "FILTERED" : name.program,
			    error == 0 && !hides_program ? hs_profile_file_last() : NULL);
	hs_snapshot_destroy(snapshot);
	hs_cpu_note_producer(false);
	hs_memory_end_writing();
	if (error == 0 && view.delta != HS_DELTA_NONE)
		end_delta(&view);
	return error == 0;
}

/* Writes a profile of a heap's peak, unless it was written before. */
static void write_peak(uint32_t heap)
{
	uint64_t peak_ns = hs_producer_peak_ns(hs_session.producer, heap);
	char reason[sizeof "peak-" + HS_HEAP_NAME_BYTES];
	bool more;

	if (peak_ns == 0 || peak_ns == peaks_written_ns[heap])
		return;
	hs_format(reason, sizeof reason, heap == HS_HEAP_MALLOC ? "peak" : "peak-%s",
		  hs_heaps[heap].name);
	if (write_one(reason, heap, &more))
		peaks_written_ns[heap] = peak_ns;
}

/* Once: the last one that was written is not the highest any more. */
static void tell_lost_peak(void)
{
	static bool told;

	if (told || !hs_producer_has_lost_peak(hs_session.producer))
		return;
	told = true;
	hs_unlocked_log(HS_LOG_WARN,
			"HEAPSAMPLE_PEAK: no memory is left to follow the peak: its profile, if "
			"there is one, may not be of the highest");
}

static void write_peaks(void)
{
	for (uint32_t heap = HS_HEAP_MALLOC; heap < HS_HEAP_LIMIT; heap++)
		write_peak(heap);
	tell_lost_peak();
}

bool hs_dump_write(const char *reason, unsigned flags)
{
	bool is_fleeting = (flags & HS_DUMP_FLEETING) != 0, written, more;
	int parts = 0;

	hs_heaps_check_names();
	if (hs_options_streams(&hs_options)) {
		hs_stream_flush();
		return true;
	}
	comes_by_itself = flags != 0;
	if (!is_fleeting)
		write_peaks();
	do {
		written = write_one(reason, HS_HEAP_NONE, &more);
		if (written && (flags & HS_DUMP_PERIODIC) != 0)
			hs_keep_add(hs_profile_file_last());
	} while (more && ++parts < MOST_PARTS);
	if (is_fleeting)
		write_peaks();
	return written;
}
