/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The session's state, and what its smaller files do.  For the files of this folder only.
 *
 * Profiles: profiles.h.  The profiler threads: threads.h, libc_threads.h.
 */
#ifndef HS_SESSION_SESSION_STATE_H
#define HS_SESSION_SESSION_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/event.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/visibility.h"
#include "maps/mapping_table.h"
#include "profile/producer.h"
#include "sample/ring.h"
#include "session/profiles.h"
#include "session/session.h"
#include "unwind/worker.h"

/*
 * How long a thread of the program that waits for a profile waits for the records, for the file
 * after that, and in all: the 62 s of the comments, the messages and the manual.
 */
#define HS_DRAIN_LIMIT_NS 2000000000u
#define HS_WRITE_LIMIT_NS 60000000000u
#define HS_PROFILE_LIMIT_NS (HS_DRAIN_LIMIT_NS + HS_WRITE_LIMIT_NS)
_Static_assert(HS_PROFILE_LIMIT_NS == 62000000000u, "they say 62 s");

enum hs_session_phase { HS_SESSION_NEW, HS_SESSION_ACTIVE, HS_SESSION_OFF };

enum hs_threads_phase {
	HS_THREADS_NONE,
	HS_THREADS_STARTING,
	HS_THREADS_RUNNING,
	HS_THREADS_STOPPING, /* told to end, not joined yet */
	HS_THREADS_FAILED
};

/*
 * Ending the profiler threads.  The producer ends first, as soon as it is not writing a profile;
 * then the worker, because a profile may have to wait for what is in the ring.  The producer agrees
 * before it ends; until then both can be told to go on.
 */
enum hs_stop_request { HS_STOP_REQUEST_NONE, HS_STOP_REQUEST_MADE, HS_STOP_REQUEST_AGREED };

/* Bits of hs_session.requests. */
enum hs_request { HS_REQUEST_SIGNAL = 1, HS_REQUEST_FINAL = 2 };

/* The profiler threads, for arrays that have an element for each. */
enum hs_profiler_thread { HS_WORKER, HS_PRODUCER, HS_PROFILER_THREADS };

/*
 * Fields without a note are written during start-up (or in a forked child, while it is
 * single-threaded) and constant otherwise.
 */
struct hs_session {
	_Atomic uint32_t phase;     /* enum hs_session_phase */
	_Atomic uint32_t threads;   /* enum hs_threads_phase; futex */
	_Atomic uint32_t libc_view; /* enum hs_libc_view; futex */
	_Atomic uint32_t stop;      /* enum hs_stop_request */

	pthread_t handles[HS_PROFILER_THREADS];  /* by the starter, or under is_joining */
	_Atomic pid_t tids[HS_PROFILER_THREADS]; /* each sets its own when it begins; or 0 */
	bool joined[HS_PROFILER_THREADS];        /* as handles */
	_Atomic bool is_joining;                 /* a lock: see thread_stop.c */

	_Atomic int32_t more_threads;    /* the program's threads - 1; -1: none is left */
	_Atomic bool is_ring_full_early; /* of map hints: see map_hints.c */
	_Atomic int64_t process_id;
	bool forked;     /* this process is a forked child of the profiled one */
	bool descendant; /* started by a profiled process, by exec */
	uint64_t samples_before_fork;
	uint32_t ring_before_fork; /* the ticket up to which the ring has the parent's records */
	uint64_t start_ns; /* monotonic; set anew by the producer, with new books */
	char program[64];  /* for file names */
	struct hs_session_next next;
	unsigned char affinity[128]; /* the process's affinity mask at the start; 0: not known */

	struct hs_ring ring;                    /* program's threads -> worker */
	struct hs_ring queue;                   /* worker -> producer */
	struct hs_mapping_table *mapping_table; /* the worker's; the producer reads entries */
	struct hs_unwinder *unwinder;           /* the worker's; NULL: nothing is unwound */
	struct hs_worker *worker;               /* under worker_batch */
	struct hs_producer *producer;           /* under producer_batch */

	/*
	 * Held by the worker and by the producer while they work, released at least every few
	 * records; opening: by the producer while it opens a file, until it has noted the
	 * descriptor.  fork takes them, so that the child finds whole structures.  Order: as here.
	 */
	struct hs_lock worker_batch;
	struct hs_lock producer_batch;
	struct hs_lock opening;
	struct hs_event producer_event; /* the queue has records, or something was requested */
	struct hs_event worker_event;   /* the queue has room again */
	_Atomic bool is_queue_full;     /* set by the worker before it waits for worker_event */
	_Atomic bool is_at_file;        /* the producer is; see session/unlocked.h */

	_Atomic bool engine_loaded;    /* libunwind, at the start; set by the worker just before */
	_Atomic uint32_t requests;     /* enum hs_request; any thread sets, the producer clears */
	_Atomic uint32_t finishing;    /* set by the first hs_session_finish() of this process */
	_Atomic uint32_t finished;     /* futex: 1 when the final profile is done (or failed) */
	struct hs_fence final_fence;   /* what the final profile has; set before HS_REQUEST_FINAL */

	/* The producer's. */
	uint64_t next_dump_ns;   /* of timed profiles, monotonic; 0: none is due */
	const char *ended_early; /* why sampling has ended; NULL: it has not */
};

extern HS_HIDDEN struct hs_session hs_session;

/* Whether this process is profiled.  Any thread. */
static inline bool hs_session_is_active(void)
{
	return atomic_load_explicit(&hs_session.phase, memory_order_acquire) == HS_SESSION_ACTIVE;
}

/* --- session.c -------------------------------------------------------------------- */

/* Ends profiling for good, and logs why; the program runs on.  Any thread. */
void hs_session_disable(const char *reason);

/* --- final.c ------------------------------------------------------------------------- */

/*
 * None of the program's threads is left: requests the last profile, if it is due and was not
 * requested before.  Whether it was requested now.  The producer's thread.
 */
bool hs_session_finish_left_alone(void);

/* The final profile is done, or will not come: wakes those who wait for it.  Any thread. */
void hs_session_mark_finished(void);

/* --- start-up, on the main thread ---------------------------------------------------- */

/* session.c: the profiler's memory, and all that is made in it.  0 or -errno. */
int hs_session_make(void);

/* process.c: finds out which process this is.  Whether it is to be profiled. */
bool hs_process_decide(char **environment);

/*
 * What HEAPSAMPLE_PROGRAMS is compared with: what was executed, perhaps a link (redis-server), and
 * its file (redis-check-rdb).
 */
const char *hs_process_given(void);
const char *hs_process_file(void);

/* Marks the environment: programs that this one starts find that it is profiled. */
void hs_process_mark_root(void);

/*
 * check.c: logs which settings are not the default; with HEAPSAMPLE_LOG=debug all.  what: the
 * words before the program's name; name: of the profile that would be written, or NULL.
 */
void hs_session_describe(enum hs_log_level level, const char *what, const char *name);

/*
 * With HEAPSAMPLE=check: logs what would become of a program that hs_process_decide() would have
 * profiled, or of one that it passes over; of the latter also with HEAPSAMPLE_LOG=info, if a
 * profiled program started it.
 */
void hs_session_check(bool interposed);
void hs_session_explain_pass(void);

/* make_buffers.c: the rings and the live set.  0 or -errno. */
int hs_session_make_buffers(void);

/* start_directory.c: of all options that are paths. */
void hs_session_make_paths_absolute(void);

/* term.c: HEAPSAMPLE_FINAL=term. */
void hs_term_install(void);

/*
 * Ends by a signal's default action, whatever its handler.  Returns in the init process of a
 * container, which survives.  Any thread, signal handlers.
 */
void hs_term_die(int number);

/* --- fork.c -------------------------------------------------------------------------- */

void hs_fork_install(void);

/* Whether this is the profiled process, and no child by vfork(), _Fork() or a raw clone(). */
bool hs_fork_is_own_process(void);

/*
 * Releases what a fork() holds that the calling handler has interrupted: the process ends on this
 * thread, or it waits for the profiler threads to end.
 */
void hs_fork_let_go(void);

/* --- heaps.c -------------------------------------------------------------------------- */

/* At start-up, when the options are read: the intervals of heaps registered before. */
void hs_heaps_start(void);
void hs_heaps_after_fork(void);

/* Once: warns of names in HEAPSAMPLE_HEAPS that no heap has.  The producer's thread. */
void hs_heaps_check_names(void);

/*
 * Calls the program's functions of heaps that are sampled now and were not before, or the other
 * way round.  The program's threads.
 */
void hs_heaps_notify(void);

/* control.c: has the producer free all that is in use of a heap.  0 or -errno. */
int hs_session_close_heap(uint32_t heap);

/* --- close.c ------------------------------------------------------------------------- */

/* Inside dlclose(): waits until the worker has unwound what this thread sampled. */
void hs_close_wait(void);

#endif
