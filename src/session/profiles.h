/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When profiles are written (dump_schedule.c), waiting for what belongs in one (drain.c), taking it
 * from the books (dump.c), its file (profile_file.c), its statistics (stats_file.c), removing old
 * ones (keep.c), and the stream that takes their place (stream.c).  For the files of this folder
 * only.
 *
 * Called on: the producer's thread with producer_batch held, unless it says otherwise.  Blocks: on
 * files, with producer_batch released.
 */
#ifndef HS_SESSION_PROFILES_H
#define HS_SESSION_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "output/dump_file.h"
#include "output/profile_view.h"
#include "profile/producer.h"

/* --- dump_schedule.c --------------------------------------------------------------- */

/* Installs the handler of the signal for profiles, and sets when others are due.  Start-up. */
void hs_schedule_start(void);

/* Nanoseconds until the producer has to wake by itself; below 0: never. */
int64_t hs_schedule_sleep_ns(void);

/* Does what was requested or is due. */
void hs_schedule_run_due(void);

/* The books were emptied. */
void hs_schedule_after_reset(void);

/* --- drain.c ------------------------------------------------------------------------- */

/* A moment: what was reserved in the ring before it, and the next sequence number at it. */
struct hs_fence {
	uint32_t ticket;
	uint64_t number;
};

/* The present moment.  Any thread. */
struct hs_fence hs_drain_fence(void);

/*
 * Processes what was recorded before a moment, for HS_DRAIN_LIMIT_NS from now at most.  Numbers
 * that are missing are given up.  What the program records meanwhile does not prolong that.
 */
void hs_drain_before(const struct hs_fence *fence);

/* The same for the present moment. */
void hs_drain_now(void);

/*
 * The same before a profile that nobody waits for: numbers that are missing are not given up, since
 * they may still arrive, for a later profile.
 */
void hs_drain_recorded(void);

/*
 * Has the worker empty the ring, as far as it can in 1 s: the producer is about to end, and nobody
 * makes room after that.
 */
void hs_drain_ring(void);

/*
 * waiting: events are left that wait for a missing number.  When that had time, and all records
 * older than it are read, goes on without it, and without all that were missing then.
 */
void hs_drain_watch_gap(bool waiting);

/* How long the producer sleeps at most while a number is missing, which the worker may bring. */
int64_t hs_drain_gap_sleep_ns(void);

/* --- dump.c -------------------------------------------------------------------------- */

/* What the name of a file is made of, now.  number: see struct hs_dump_name.  Start-up too. */
struct hs_dump_name hs_dump_name_now(const char *reason, uint32_t number);

/* Of a profile that nobody asks for; others like it may follow. */
enum {
	HS_DUMP_PERIODIC = 1, /* it counts for HEAPSAMPLE_KEEP */
	HS_DUMP_FLEETING = 2  /* what is in use may be freed at once: peaks come after it */
};

/*
 * Writes a profile now, or with HEAPSAMPLE_STREAM what is buffered.  flags: HS_DUMP_*.  False: the
 * profile could not be written; else its path is hs_profile_file_last(), if it is not fleeting.
 */
bool hs_dump_write(const char *reason, unsigned flags);

/*
 * The level to log what became of the profile that is being written, or of its statistics, with an
 * error or 0.  *last: the error of the one before, which is replaced.
 */
enum hs_log_level hs_dump_result_level(int *last, int error);

void hs_dump_after_reset(void);

/*
 * In a forked child: closes the files that the parent was writing and reading.  is_whole: the
 * parent's producer had let go of its lock, so its structures can be used.  The memory of a profile
 * that the parent was writing is freed by hs_dump_drop_inherited(), which the child's producer
 * calls when it begins.
 */
void hs_dump_after_fork(bool is_whole);
void hs_dump_drop_inherited(void);

/* --- profile_file.c ------------------------------------------------------------------ */

/*
 * Makes the name of the next profile: a free one if it has %n.  peak_heap: HS_HEAP_NONE, or the
 * heap whose peak it is: then the name of the one before, or a free one.  0 or -ENAMETOOLONG.
 */
int hs_profile_file_name(struct hs_dump_name *name, uint32_t peak_heap);

/*
 * Writes a view into a file of that name, or of a later one if it is taken, and gives the view its
 * comments.  hides_program: see hs_comments_write().  0 or -errno.
 */
int hs_profile_file_write(struct hs_view *view, struct hs_dump_name *name, uint32_t peak_heap,
			  bool hides_program);

/* Whether the profile that was written last, or a peak, has this name, however it is spelt. */
bool hs_profile_file_is_at(const char *path);

/* The name last made, and a text for an error; the absolute path of the file last written. */
const char *hs_profile_file_path(void);
const char *hs_profile_file_error_text(int error);
const char *hs_profile_file_last(void);

/* As hs_dump_after_fork(), hs_dump_drop_inherited(). */
void hs_profile_file_after_fork(void);
void hs_profile_file_drop_inherited(void);

/* --- comments.c ---------------------------------------------------------------------- */

/*
 * Gives a view its comments, in memory that is written anew by the next call.  hides_program: its
 * name must not be told.
 */
void hs_comments_write(struct hs_view *view, const struct hs_dump_name *name, bool hides_program);

/* --- stats_file.c -------------------------------------------------------------------- */

/*
 * Writes HEAPSAMPLE_STATS for the profile of this name and view.  program: its name as far as it
 * may be told; profile: path of the file, or NULL.
 */
void hs_stats_file_write(const struct hs_dump_name *name, const struct hs_view *view,
			 const char *program, const char *profile);
void hs_stats_file_after_fork(void);

/* --- keep.c -------------------------------------------------------------------------- */

/*
 * A periodic profile was written: removes the oldest while there are more, or larger ones, than
 * HEAPSAMPLE_KEEP allows.
 */
void hs_keep_add(const char *path);

/* The disk is full: removes the oldest of several.  Whether it did. */
bool hs_keep_make_room(void);
void hs_keep_after_fork(void);

/* --- stream.c ------------------------------------------------------------------------ */

/* Start-up.  0 or -errno. */
int hs_stream_init(void);

/* Called while the producer commits events: see struct hs_producer_setup. */
void hs_stream_add(uint64_t number, const struct hs_heap_event *event);

/* Writes what is buffered, and tells how many events are missing. */
void hs_stream_flush(void);

/* Writes what is buffered, if that is due; when it is, monotonic, 0: never. */
void hs_stream_run_due(void);
uint64_t hs_stream_due_ns(void);

/* Whether a free may come that is to be written: it wakes nobody. */
bool hs_stream_awaits_frees(void);

void hs_stream_after_fork(void);

#endif
