/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The session's state, for the files of this folder only.
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
#include "output/dump_file.h"
#include "output/profile_view.h"
#include "profile/producer.h"
#include "sample/ring.h"
#include "session/session.h"
#include "unwind/worker.h"

/*
 * How long a thread of the program that waits for a profile waits for the records, and for
 * the file after that.
 */
#define HS_DRAIN_LIMIT_NS 2000000000u
#define HS_WRITE_LIMIT_NS 60000000000u

enum hs_session_phase { HS_SESSION_NEW, HS_SESSION_ACTIVE, HS_SESSION_OFF };

enum hs_threads_phase {
	HS_THREADS_NONE,
	HS_THREADS_STARTING,
	HS_THREADS_RUNNING,
	HS_THREADS_STOPPING, /* told to end, not joined yet */
	HS_THREADS_FAILED
};

/* What libc knows of the profiler's threads: see libc_threads.c. */
enum hs_libc {
	HS_LIBC_AS_IS,   /* all there is */
	HS_LIBC_STARTED, /* the same: they begin, and perhaps load libunwind */
	HS_LIBC_LOADED,  /* the same, and they have */
	HS_LIBC_TELLING, /* as that is said */
	HS_LIBC_TOLD,    /* that there is one thread */
	HS_LIBC_ASIDE,   /* all there is, until a call that is for all threads is over */
	HS_LIBC_WANTED   /* all there is, but the program's thread may not have noticed */
};

/*
 * The producer ends first, as soon as it is not at a profile; the worker then, for a profile may
 * have to wait for what is in the ring.  Until the producer agrees, it can be told to go on.
 */
enum hs_stop_request { HS_STOP_REQUEST_NONE, HS_STOP_REQUEST_MADE, HS_STOP_REQUEST_AGREED };

/* The profiler's threads, for arrays with an element for each: the unwinding worker first. */
enum hs_profiler_thread { HS_WORKER, HS_PRODUCER };

/* A moment, by the next ticket of the ring and the next sequence number at that time. */
struct hs_fence {
	uint32_t ticket;
	uint64_t number;
};

/* Bits of hs_session.requests. */
enum hs_request { HS_REQUEST_SIGNAL = 1, HS_REQUEST_FINAL = 2 };

/*
 * Fields without a note are written during start-up (or in a forked child, while it is
 * single-threaded) and constant otherwise.
 */
struct hs_session {
	_Atomic uint32_t phase;   /* enum hs_session_phase */
	_Atomic uint32_t threads; /* enum hs_threads_phase */
	_Atomic uint32_t libc;    /* enum hs_libc */
	_Atomic int32_t starter;  /* tid of the thread that starts them */
	_Atomic uint32_t stop;    /* enum hs_stop_request */
	/* By enum hs_profiler_thread. */
	pthread_t handles[2];  /* see thread_stop.c */
	_Atomic pid_t tids[2]; /* set when the thread begins; 0: not yet */
	bool joined[2];
	_Atomic bool is_joining; /* a lock: see thread_stop.c */
	long rseq_answer;     /* see thread_trial.c */
	_Atomic int32_t more_threads; /* of the program, than one; below 0: none is left */
	_Atomic bool is_ring_full_early; /* of hints: a sample without room starts them too */
	_Atomic int64_t process_id;
	bool forked;             /* this process is a forked child of the profiled one */
	bool descendant;         /* of a profiled process, by exec */
	bool executed;           /* by a profiled program, in place of it: the pid is the same */
	uint64_t samples_before; /* samples counted before the fork */
	uint64_t start_ns;       /* monotonic */
	char program[64];        /* for file names */
	struct hs_session_next next;
	unsigned char affinity[128]; /* the process's first affinity mask */
	long affinity_bytes;

	struct hs_ring ring;            /* program's threads -> worker */
	struct hs_ring queue;           /* worker -> producer */
	struct hs_mapping_table *table; /* worker's; the producer reads entries */
	struct hs_unwinder *unwinder;   /* worker's; NULL: nothing is unwound */
	struct hs_worker *worker;       /* under worker_batch */
	struct hs_producer *producer;   /* under producer_batch */

	/*
	 * Held by the worker and by the producer while they work, let go at least every
	 * few records; fork takes both so that the child finds whole structures.  Order:
	 * worker_batch, then producer_batch.
	 */
	struct hs_lock worker_batch;
	struct hs_lock producer_batch;
	struct hs_event producer_event; /* queue filled, or a request */
	struct hs_event worker_event;   /* queue has room again */
	_Atomic bool is_queue_full;     /* for the worker, which waits or is about to */

	/* A compiler tells of generated code.  Set by the producer, for the worker. */
	_Atomic bool knows_generated_code;

	_Atomic bool engine_loaded;    /* at the start; set by the worker before */
	_Atomic uint32_t requests;     /* enum hs_request; any thread sets, the producer clears */
	_Atomic uint32_t finishing;    /* the first hs_session_finish() of this process won */
	_Atomic uint32_t finished;     /* futex: 1 when the final profile is done (or failed) */
	/* What came before this is in the final profile; set before the request. */
	struct hs_fence final_fence;
	_Atomic uint64_t drain_end_ns; /* until when the final profile waits for the fence */
	_Atomic uint64_t exec_samples; /* samples counted at the last hs_session_exec_begins() */
	uint32_t dump_number;          /* producer's: of the last profile written */
	uint64_t next_dump_ns;         /* producer's: monotonic; 0 = none due */
	const char *ended_early;       /* producer's: why sampling has ended; NULL: it has not */
};

extern HS_HIDDEN struct hs_session hs_session;

/* Whether this process is profiled. */
static inline bool hs_session_is_active(void)
{
	return atomic_load_explicit(&hs_session.phase, memory_order_acquire) == HS_SESSION_ACTIVE;
}

/* Logs the reason and ends profiling for good; the program runs on.  Any thread. */
void hs_session_off(const char *reason);

/*
 * The memory that the profiler may use: HEAPSAMPLE_MEMORY, or less under a limit
 * (hs_arena_limit()): then three quarters of the arena, because free blocks are scattered over it.
 * Any thread.
 */
uint64_t hs_session_memory_bytes(void);

/*
 * Sets the arena's budget: that memory while a profile is written, otherwise less a part that is
 * kept for writing.
 */
void hs_session_set_budget(bool writing);

/* make_buffers.c: makes the rings and the live set.  Start-up.  0 or -errno. */
int hs_session_make_buffers(void);

/*
 * make_names.c: tells the producer where names come from, and which are hidden.  Start-up.
 * Returns 0 or -ENOMEM.
 */
int hs_session_make_names(void);

/* Start-up: term.c, start_directory.c. */
void hs_term_install(void);
void hs_session_stay_here(void);

/* What the profiler threads run: threads.c. */
void *hs_threads_worker(void *unused);
void *hs_threads_producer(void *unused);

/* Start-up. */
void hs_threads_init(void);

/*
 * Whether a new glibc thread would survive the program's seccomp filters, and, with loads, could
 * load a library: tried on a raw thread.  Takes a second at most.
 */
bool hs_threads_would_live(bool loads);

/* Asked by the worker before it loads or calls libunwind: see hs_unwinder_create(). */
enum hs_leave hs_threads_before_libunwind(bool loads, bool is_first);

/*
 * Start the profiler threads if they do not run.  Called on the program's threads.
 * Returns whether they run.
 */
bool hs_threads_ensure(void);

/*
 * As hs_threads_ensure(), but also waits for another thread that is starting or ending them, 62 s
 * at most (a profile may be being written).  Called on the program's threads.
 */
bool hs_threads_await(void);

/*
 * Whether this thread may start them: not in a hook, nor in a handler on a stack of its own, which
 * may have interrupted pthread_create() and would wait for its locks.
 */
bool hs_threads_may_start(uintptr_t sp);

/*
 * libc_threads.c: whether libc takes the process for single-threaded; makes libc take it so or not;
 * whether it is, not counting the profiler's threads (read from /proc; false without).
 */
bool hs_libc_is_single(void);
void hs_libc_set_single(bool single);
bool hs_libc_has_one_thread(void);

/*
 * The profiler's threads are about to be started.  True: the second function must be called when
 * they have been.  On the thread that starts them.
 */
bool hs_libc_threads_start(void);
void hs_libc_threads_started(void);

/* Whether the worker loads libunwind when it begins; tells that it has; the constructor ends. */
bool hs_libc_loads_at_start(void);
void hs_libc_worker_has_loaded(void);
void hs_libc_constructor_ends(void);

/* The worker is about to load or call libunwind: whether it may.  Waits 20 ms at most. */
bool hs_libc_before_libunwind(void);

/*
 * Called on the program's threads:
 * - hs_libc_give_back() at a sample, and before a wait: lets libc know of the profiler's threads if
 *   the worker waits for that.
 * - hs_libc_tell_all() before a call that libc makes on every thread, and hs_libc_tell_single()
 *   after the call, if the first has returned true.
 * - hs_libc_forget() when libc learns of another thread of the program anyway.
 */
void hs_libc_give_back(void);
bool hs_libc_tell_all(void);
void hs_libc_tell_single(void);
void hs_libc_forget(void);

/*
 * Waits a while for the profiler threads to change *word, which is `now`.  Starts them again if
 * they were told to end meanwhile.
 */
void hs_threads_wait(_Atomic uint32_t *word, uint32_t now);

/*
 * Ends the profiler threads if they run; what is recorded waits in the ring until they are started
 * again.  Called on the program's threads.  Waits for a profile that is being written, and for
 * another such call, limit_ns at most; then they go on, unless the process has no other threads.
 * Returns whether they ran and are gone.
 */
bool hs_threads_stop(uint64_t limit_ns);

/*
 * Whether one of them has died, killed by a seccomp filter for instance.  Called on the program's
 * threads while they wait for one.
 */
bool hs_threads_died(void);

/*
 * Whether a request made to the producer at start_ns will never be served: it sleeps, and cannot be
 * woken.
 */
bool hs_threads_sleep_on(uint64_t start_ns, bool not_begun);

/* How long a program whose samples may wait for ring space waits at its start for the worker. */
#define HS_START_LIMIT_NS 5000000000u

/* Wait until the worker reads the ring, if the threads run.  Start-up. */
void hs_threads_wait_reader(uint64_t timeout_ns);

/*
 * A sample was taken: starts the threads unless they run.  In a forked child whose samples may wait
 * for ring space, also waits for the worker.  sp: of the call site.  On the program's threads.
 */
void hs_threads_start_late(uintptr_t sp);

/*
 * Write a profile now, or with HEAPSAMPLE_STREAM what is buffered.  The producer's thread,
 * producer_batch held.  Returns whether a profile was written; then _last_path() is its
 * absolute path, until the next.
 */
bool hs_dump_write(const char *reason);
const char *hs_dump_last_path(void);

/*
 * None of the program's threads is left: requests the last profile if it is due.  False: it is not,
 * or was requested before.  The producer's thread.
 */
bool hs_session_finish_left_alone(void);

/* The final profile is done, or will not come: tell those who wait for it.  Any thread. */
void hs_session_mark_finished(void);

/* The fence between what was recorded before now and what comes later.  Any thread. */
struct hs_fence hs_schedule_fence(void);

/*
 * Processes what was recorded before now, HS_DRAIN_LIMIT_NS at most.  Records that come meanwhile
 * do not prolong it, and are not lost.  The producer's thread.
 */
void hs_schedule_drain_now(void);

/*
 * Lets the worker empty the ring, 1 s at most: the producer is about to end, and then nobody makes
 * room.  The producer's thread, producer_batch held.
 */
void hs_schedule_empty_ring(void);

/* The books are empty.  The producer's thread. */
void hs_schedule_after_reset(void);
void hs_dump_after_reset(void);

/*
 * keep.c: a periodic profile was written; removes those that are too many or too large by
 * HEAPSAMPLE_KEEP, the oldest first.  The producer's thread.
 */
void hs_keep_add(const char *path);
void hs_keep_after_fork(void);

/*
 * heaps.c: at start-up, when the options are read; in a forked child; once, say which names
 * of HEAPSAMPLE_HEAPS are not those of heaps (the producer's thread).
 */
void hs_heaps_start(void);
void hs_heaps_after_fork(void);
void hs_heaps_check_names(void);

/* Tells heaps whose sampling has begun or ended since.  The program's threads. */
void hs_heaps_notify(void);

/* control.c: have the producer free all that is in use of a heap.  0 or -errno. */
int hs_session_close_heap(uint32_t heap);

/*
 * In a forked child: close what the parent was writing, and reading for it, if the fork came when
 * the producer had let go (is_whole).  On the child's producer's thread, when that begins and can
 * have no profile of its own under way: give back the memory of one of the parent's.
 */
void hs_dump_after_fork(bool is_whole);
void hs_dump_drop_inherited(void);
void hs_stats_file_after_fork(void);

/*
 * stats_file.c: write HEAPSAMPLE_STATS, for the profile of name and view.  program, profile:
 * what is to be told of its name and file; profile may be NULL.  The producer's thread.
 */
void hs_stats_file_write(const struct hs_dump_name *name, const struct hs_view *view,
			 const char *program, const char *profile);

/*
 * stream.c, the producer's thread: write what is buffered, and say what was lost; what is due
 * after a second; when that is, 0 = never.  At start-up: hs_stream_init(), 0 or -errno.
 */
void hs_stream_flush(void);
void hs_stream_run_due(void);
uint64_t hs_stream_due_ns(void);
int hs_stream_init(void);
void hs_stream_after_fork(void);

/* Process records for a while; the producer's thread, producer_batch held.  Whether there were any.
 */
bool hs_threads_produce(void);

/* Let a fork in between; process records.  The producer's thread, producer_batch held. */
void hs_threads_pause(void *unused);

/* dump_schedule.c: install the dump signal; when the producer has to wake; what is due. */
void hs_schedule_start(void);
int64_t hs_schedule_sleep_ns(void);
void hs_schedule_run_due(void);

/*
 * check.c, at start-up: logs the settings (name: of the profile that would be written, or NULL);
 * with HEAPSAMPLE=check, whether the program would be profiled, if its malloc is ours, or why
 * hs_process_decide() passes it over.
 */
void hs_session_describe(enum hs_log_level level, const char *what, const char *name);
void hs_session_check(bool interposed);
void hs_session_explain_pass(void);

/* process.c: which process this is, and whether it is profiled. */
enum hs_process_verdict { HS_PROCESS_PROFILE, HS_PROCESS_PASS };
enum hs_process_verdict hs_process_decide(char **environment);
void hs_process_mark_root(void);

/* close.c: inside dlclose(), wait until the worker has unwound what this thread sampled. */
void hs_close_wait(void);

/* fork.c */
void hs_fork_install(void);

/* Whether this process is the profiled one: no child by vfork(), _Fork() or a raw clone(). */
bool hs_fork_is_own_process(void);

/* Releases what a fork() holds that this thread, in a handler, has interrupted, to end or wait. */
void hs_fork_let_go(void);

#endif
