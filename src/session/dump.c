/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile: takes a snapshot of the books, encodes and compresses it, names the file.
 *
 * Runs on the producer's thread with producer_batch held; releases it for each write and between
 * pieces of work, so that neither a fork nor a full queue ever waits for a file.
 */
#include <errno.h>
#include <string.h>

#include "base/format.h"
#include "base/log.h"
#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "output/dump_file.h"
#include "output/gzip_writer.h"
#include "output/pprof_encoder.h"
#include "profile/snapshot.h"
#include "sample/heap.h"
#include "session/cpu_guard.h"
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

/* The profile that is being written; one at a time. */
static struct hs_dump_file dump_file = HS_DUMP_FILE_CLOSED;
static struct hs_gzip_writer *writer;

/* The interval by the settings; of all heaps together malloc's, if that is sampled. */
static uint64_t period(uint32_t peak_heap)
{
	uint32_t heap = peak_heap != HS_HEAP_NONE ? peak_heap : HS_HEAP_MALLOC;

	return hs_heaps[heap].asked_bytes != 0 ? hs_heaps[heap].asked_bytes
					       : hs_options.interval_bytes;
}

static int write_unlocked(const void *bytes, size_t count)
{
	int error;

	hs_unlocked_begins();
	error = hs_gzip_writer_write(writer, bytes, count);
	hs_unlocked_ends();
	return error;
}

static int finish_unlocked(void)
{
	int error;

	hs_unlocked_begins();
	error = hs_gzip_writer_finish(writer);
	hs_unlocked_ends();
	return error;
}

static void close_writer(void)
{
	hs_gzip_writer_close(writer);
	writer = NULL;
}

static int write_file(const struct hs_view *view)
{
	int error = hs_gzip_writer_open(&dump_file, &writer);

	if (error != 0)
		return error;
	error = hs_pprof_encode(view, write_unlocked);
	if (error == 0)
		error = finish_unlocked();
	close_writer();
	return error;
}

static int write_named(const struct hs_view *view, const struct hs_dump_name *name, char *path)
{
	int error = hs_dump_name_expand(hs_options.output, name, path, HS_PATH_BYTES);

	if (error == 0)
		error = hs_unlocked_file_open(&dump_file, path);
	if (error != 0)
		return error;
	return hs_unlocked_file_end(&dump_file, write_file(view));
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

void hs_dump_after_fork(bool is_whole)
{
	last_number = 0;
	delta_from_ns = 0;
	memset(peaks_written_ns, 0, sizeof peaks_written_ns);
	hs_producer_forget_written(hs_session.producer);
	if (is_whole)
		hs_snapshot_after_fork(hs_session.producer);
	hs_dump_file_forget(&dump_file);
	hs_stats_file_after_fork();
	hs_session_set_budget(false);
}

void hs_dump_drop_inherited(void)
{
	close_writer();
	hs_pprof_encode_end();
	hs_snapshot_drop_inherited(hs_session.producer);
}

static void log_result(const struct hs_dump_name *name, const struct hs_view *view,
		       const char *path, int error)
{
	if (error == 0)
		hs_unlocked_log(HS_LOG_INFO, "wrote %s (%s, %zu rows)", dump_file.path,
				name->reason, view->row_count);
	else
		hs_unlocked_log(HS_LOG_ERROR,
				"cannot write the profile %s of HEAPSAMPLE_OUTPUT=%s: %s (%d)",
				path[0] != '\0' ? path : "file", hs_options.output,
				hs_dump_error_text(error), -error);
}

/* Counts and logs the result. */
static void report(const struct hs_dump_name *name, const struct hs_view *view, const char *path,
		   int error)
{
	if (error != 0)
		hs_stats_add(dump_failures, 1);
	else
		hs_stats_add(dumps, 1);
	if (error == 0 && name->number != 0) /* a profile of a peak has none */
		last_number = name->number;
	log_result(name, view, path, error);
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
	if (atomic_load_explicit(&hs_session.finishing, memory_order_relaxed) == 0)
		hs_producer_drop_spent(hs_session.producer, hs_threads_pause);
}

/* No profile replaces another one, if its number is in its name. */
static void find_number(struct hs_dump_name *name, char *path)
{
	hs_unlocked_begins();
	hs_dump_name_expand_free(hs_options.output, name, path, HS_PATH_BYTES);
	hs_unlocked_ends();
}

/*
 * Writes one file of at most this many rows; 0: of all.  Returns 0 or -errno.  The view is valid
 * until the caller passes *out to hs_snapshot_destroy().
 */
static int try_one(const struct hs_dump_name *name, uint32_t peak_heap, uint32_t rows, char *path,
		   struct hs_view *view, struct hs_snapshot **out)
{
	struct hs_session *session = &hs_session;
	int error;

	hs_producer_bound_delta(session->producer, rows);
	*view = (struct hs_view){.period_bytes = period(peak_heap)};
	set_times(view, hs_sys_realtime_ns(), peak_heap);
	*out = hs_snapshot_create(session->producer, &hs_options, peak_heap, hs_threads_pause,
				  view);
	if (*out == NULL)
		return -ENOMEM;
	hs_comments_write(view, name, hs_snapshot_hides_main(*out));
	error = write_named(view, name, path);
	if (error == 0)
		hs_snapshot_written(*out);
	return error;
}

/*
 * Writes a profile of the peak of a heap, or with HS_HEAP_NONE of now.  Whether it was written.
 * *more: there was no memory for all differences, and another file has to follow.
 */
static bool write_one(const char *reason, uint32_t peak_heap, bool *more)
{
	static char path[HS_PATH_BYTES];
	bool peak = peak_heap != HS_HEAP_NONE;
	struct hs_dump_name name = hs_dump_name_now(reason, peak ? 0 : last_number + 1);
	struct hs_view view;
	struct hs_snapshot *snapshot;
	uint64_t start_ns, bookkeeping_ns;
	uint32_t rows = PART_ROWS;
	bool hides_program;
	int error;

	path[0] = '\0';
	if (!peak)
		find_number(&name, path);
	hs_session_set_budget(true);
	hs_cpu_note_producer(true);
	bookkeeping_ns = hs_stats_get(bookkeeping_ns);
	start_ns = hs_sys_monotonic_ns();
	error = try_one(&name, peak_heap, 0, path, &view, &snapshot);
	while (error == -ENOMEM && hs_options.delta == HS_DELTA_ALL && !peak &&
	       rows >= PART_LEAST_ROWS) {
		hs_snapshot_destroy(snapshot);
		error = try_one(&name, peak_heap, rows, path, &view, &snapshot);
		rows /= 2;
	}
	*more = error == 0 && view.is_partial;
	hs_stats_add(dump_ns, hs_sys_monotonic_ns() - start_ns -
				      (hs_stats_get(bookkeeping_ns) - bookkeeping_ns));
	report(&name, &view, path, error);
	/* Without a snapshot it is not known. */
	hides_program = snapshot == NULL || hs_snapshot_hides_main(snapshot);
	hs_stats_file_write(&name, &view, hides_program ? "FILTERED" : name.program,
			    error == 0 && !hides_program ? dump_file.path : NULL);
	hs_snapshot_destroy(snapshot);
	hs_cpu_note_producer(false);
	hs_session_set_budget(false);
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

bool hs_dump_write(const char *reason, bool is_periodic)
{
	bool written, more;
	int parts = 0;

	if (hs_options.stream[0] != '\0') {
		hs_stream_flush();
		return false;
	}
	hs_heaps_check_names();
	for (uint32_t heap = HS_HEAP_MALLOC; heap < HS_HEAP_LIMIT; heap++)
		write_peak(heap);
	tell_lost_peak();
	do {
		written = write_one(reason, HS_HEAP_NONE, &more);
		if (written && is_periodic)
			hs_keep_add(dump_file.path);
	} while (more && ++parts < MOST_PARTS);
	return written;
}

const char *hs_dump_last_path(void)
{
	return dump_file.path;
}
