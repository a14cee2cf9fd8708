/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The session puts the stages together.  What the interposer and heapsample.h's functions call.
 *
 * States: NEW until the constructor has run (allocations pass through, unsampled),
 * then ACTIVE or OFF.  OFF is final: not wanted, not possible, or an internal failure.
 *
 * Two profiler threads, the unwinding worker and the producer, start at the first sample.
 * They start with the process if something must be ready before that: a signal for profiles,
 * timed profiles, HEAPSAMPLE_OOM, HEAPSAMPLE_FINAL=term, samples that wait for ring space.
 */
#ifndef HS_SESSION_SESSION_H
#define HS_SESSION_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/regs.h"
#include "base/hot.h"

/* Of heapsample.h. */
struct heapsample_heap_calls;
struct heapsample_stats;

enum { HS_LIBC_FLAGS = 2 };

/* What the session needs of the interposer: the next definitions of functions it wraps. */
struct hs_session_next {
	int (*pthread_create)(pthread_t *thread, const pthread_attr_t *attributes,
			      void *(*start)(void *), void *argument);
	bool registers_rseq; /* whether libc makes each thread call rseq() */
	/* __libc_single_threaded: libc's, and the program's copy; NULL: there is none. */
	char *single_threaded[HS_LIBC_FLAGS];
};

/* --- session.c -------------------------------------------------------------------- */

/*
 * Reads the options, decides whether to profile, and starts.  environment: as main() gets it.
 * interposed: whether the program's malloc is ours.
 * Called on: the main thread, in the library's constructor.  May allocate and log.
 */
void hs_session_start(char **environment, bool interposed, const struct hs_session_next *next);

/*
 * A countdown has ended with the allocation that has returned address: records it, if it is to be
 * sampled.  regs: of its call site.
 * Called on: the program's threads.  Errno: preserved.  Blocks: see sample/recorder.h.
 */
HS_SAMPLE_CODE void hs_session_record(const void *address, size_t size, const struct hs_regs *regs);

/*
 * Follows each sample that was put into the ring: starts the profiler threads if they do not run.
 * regs: of its call site.  On the thread that took it, outside of the slow path.
 */
HS_SAMPLE_CODE void hs_session_recorded(const struct hs_regs *regs);

/*
 * setrlimit() has succeeded: if the limit is one of address space or data, the profiler gives back
 * what it has reserved and does not need.  The program's threads; does nothing in a vfork child,
 * which has limits of its own but not its own memory.  Waits 50 ms at most.  Errno: preserved.
 */
void hs_session_limit_changed(int resource);

/*
 * Before the process changes its root directory or enters another namespace of mounts: nothing is
 * loaded from there.  If it returns true and the call fails, _stays() must follow.
 * Waits while libunwind is loaded, 100 ms at most.  Errno: preserved.
 */
bool hs_session_root_leaves(void);
void hs_session_root_stays(void);

/* --- final.c and term.c ----------------------------------------------------------- */

/*
 * The process ends: stops sampling, processes what was sampled, writes the final profile.  Once per
 * process.  Does nothing in a vfork child, and writes nothing in a forked child that sampled
 * nothing itself.
 *
 * Called on: any of the program's threads.  Waits for the profiler threads, 62 s at most.
 * Errno: preserved.
 */
void hs_session_finish(void);

/*
 * HEAPSAMPLE_FINAL=term: whether the handler is that one; the action with it, to be set in place of
 * the default one, or NULL: none.  Any thread, signal handlers, vfork children.
 */
bool hs_session_is_term_handler(void (*handler)(int));
const struct sigaction *hs_session_term_action(int number);

/* --- exec.c ----------------------------------------------------------------------- */

/*
 * Another program is about to be executed in this process: writes what was sampled, unless nothing
 * was since the last such call (that exec has failed then), or there is no such program.  path: its
 * own, or NULL; may be an invalid address.  If it fails _failed() must follow.
 *
 * Called on: the program's threads; in a vfork child nothing is written.  Waits for the profile,
 * 62 s at most.  Errno: preserved.
 */
void hs_session_exec_begins(const char *path);
void hs_session_exec_failed(void);

/* --- close.c ---------------------------------------------------------------------- */

/* dlopen() begins.  The program's threads. */
void hs_session_library_opens(void);

/*
 * Around dlclose().  What was sampled before is unwound while the libraries are still there; so is
 * what this thread samples until the end (in their destructors).  If _begins() returns true,
 * _ends() must follow the real dlclose(); unloaded: whether that may have unloaded anything.
 * Called on: the program's threads.  Errno: preserved.  Waits for the worker: 100 ms at most
 * in all (or as long as HEAPSAMPLE_BLOCK lets a sample wait), and not at all if
 * hs_record_may_wait() forbids it.
 */
bool hs_session_close_begins(void);
void hs_session_close_ends(bool unloaded);

/* --- program_threads.c ------------------------------------------------------------ */

/*
 * A thread of the program begins.  stack_bytes: its attribute (0: not known).  caller_sp,
 * caller_pc: see hs_capture_init_thread().  On that thread.
 */
void hs_session_thread_begins(size_t stack_bytes, uintptr_t caller_sp, uintptr_t caller_pc);

/*
 * The program is about to create a thread; pthread_create() has failed; a thread ends (the main
 * thread: by pthread_exit()), on that thread.
 *
 * Before the program's last thread ends the profiler threads are stopped, or libc would wait for
 * them; exit() starts them again.  That waits for a profile that is being written, as exit() does:
 * 62 s at most.
 */
void hs_session_thread_create_begins(void);
void hs_session_thread_create_failed(void);
void hs_session_thread_ends(void);

/*
 * Before a call after which libc no longer takes the process for single-threaded, whether or not it
 * succeeds: it creates a thread, or enables cancellation.  The program's threads.
 */
void hs_session_single_threaded_ends(void);

/* Whether the program has one thread, as far as we know, not counting the profiler's. */
bool hs_session_is_single_threaded(void);

/* --- fork.c ----------------------------------------------------------------------- */

/*
 * Around fork() in a program of one thread, with its signals blocked.  _ends() is called in the
 * child too; result: what fork() returned.
 *
 * In between the profiler threads rest, and libc takes the process for single-threaded.  Otherwise
 * its fork() would take malloc's locks, which a handler that forks may have interrupted.
 * Errno: preserved.  Waits 0.22 s at most.
 */
void hs_session_fork_begins(void);
void hs_session_fork_ends(pid_t result);

/* --- thread_stop.c ---------------------------------------------------------------- */

/*
 * The state of a thread before it was made undisturbed: no signal is handled on an undisturbed
 * thread, and no cancellation ends it.
 */
struct hs_undisturbed {
	uint64_t mask;
	int cancel_type;
	bool masked; /* false: signals could not be blocked */
};

/*
 * Around a call that cannot, or must not, be made while the profiler threads exist.
 * _stop_threads() stops them.  If it returns true, they are gone, the asynchronous signals are
 * blocked (a sample in a handler would start the threads again), and _restart_threads() must follow
 * the call.
 * Called on: the program's threads.  Waits for a profile that is being written, 62 s at most;
 * afterwards, if samples may wait for ring space, for the worker to run, 5 s at most.
 * Errno: preserved.
 */
bool hs_session_stop_threads(struct hs_undisturbed *before);
void hs_session_restart_threads(const struct hs_undisturbed *before);

/* --- thread_rights.c -------------------------------------------------------------- */

/*
 * Around a call that libc makes on every thread, such as setuid(): libc is shown the profiler
 * threads.  If they might lack a right that the caller has they are stopped first, for libc ends
 * the process when the call fails on some threads only.  Waits like these two.  If a sample
 * of the caller starts them again before the call, they have the caller's rights.
 * Called on: the program's threads.  Errno: preserved.
 */
struct hs_rights {
	bool are_threads_shown, are_threads_stopped;
};
struct hs_rights hs_session_rights_begin(void);
void hs_session_rights_end(struct hs_rights begun);

/* --- control.c -------------------------------------------------------------------- */

/*
 * What a program asks for, see heapsample.h: a profile now, sampling on or off, empty books.
 * path: gets the name of the profile; may be NULL.
 *
 * Returns 0, or
 * -ENOSYS (not profiled), -EBUSY (in a handler or hook that must not wait, or something else is
 * still being done), -EAGAIN (the profiler threads do not run), -ETIMEDOUT;
 * of a profile: -EIO (not written), -ENAMETOOLONG (path), -ENOTSUP (a stream is written instead);
 * of switching: -EALREADY, -ECANCELED (sampling has ended for good); of a reset: -ENOMEM, -ENOTSUP.
 * Called on: the program's threads.  Waits 62 s at most until the profiler threads run, and as long
 * for the answer.  Errno: preserved.
 */
int hs_session_dump(char *path, size_t capacity);
int hs_session_switch_on(void);
int hs_session_switch_off(void);
int hs_session_reset(void);

/* 0 or -ENOSYS.  Any thread, signal handlers too. */
int hs_session_get_stats(struct heapsample_stats *stats);

/*
 * A label of the calling thread, see heapsample.h.  Returns 0, -ENOSYS (this process is not
 * profiled), or as hs_labels_set() of sample/labels.h.
 * Called on: the program's threads, signal handlers too.  Blocks, allocates: never.  Errno: not
 * touched.
 */
int hs_session_set_label(const char *key, const char *value);

/* --- heaps.c ---------------------------------------------------------------------- */

/*
 * Heaps of the program, see heapsample.h.  May be called before the session starts.
 * _register: the heap's number, or -EINVAL or -ENAMETOOLONG (the name), -EEXIST, -ENOSPC, -EAGAIN
 * (another thread is registering), -ENOSYS.
 * _unregister: 0, -EINVAL, or as hs_session_reset().
 * Called on: the program's threads; calls the heap's functions.  Errno: preserved.
 */
int hs_session_heap_register(const char *name, const struct heapsample_heap_calls *calls);
int hs_session_heap_unregister(uint32_t heap);

/* --- map_hints.c ------------------------------------------------------------------ */

/*
 * Map hints, see maps/map_hints.h.  Returns 0, -ENOSYS (this process is not profiled), -EINVAL,
 * -ENAMETOOLONG or -EAGAIN (no room in the ring; counted: map_hints_refused).
 * Called on: the program's threads.  Blocks, allocates: never.  Errno: preserved.
 */
int hs_session_map_hint(const char *objfile, uint64_t start, uint64_t length, uint64_t offset);
int hs_session_unmap_hint(uint64_t start, uint64_t length);

#endif
