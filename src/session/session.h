/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The session: puts the stages together, and what the interposer calls.
 *
 * States: NEW until the constructor has run (allocations pass through, unsampled),
 * then ACTIVE or OFF.  OFF is final: not wanted, not possible, or an internal failure.
 *
 * Two profiler threads, the unwinding worker and the producer, start at the first sample; at
 * start-up only if a dump signal, timed dumps or samples that wait for ring space need them.
 */
#ifndef HS_SESSION_SESSION_H
#define HS_SESSION_SESSION_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/regs.h"
#include "base/hot.h"

enum { HS_LIBC_FLAGS = 2 };

/* What the session needs of the interposer: the next definitions of functions it wraps. */
struct hs_session_next {
	int (*pthread_create)(pthread_t *thread, const pthread_attr_t *attributes,
			      void *(*start)(void *), void *argument);
	bool registers_rseq; /* whether libc has each thread call rseq() */
	/* __libc_single_threaded, libc's own and what the program sees; NULL: it has none. */
	char *single_threaded[HS_LIBC_FLAGS];
};

/*
 * Start: read the options, decide, prepare.  environment as main() gets it.
 * interposed: whether the program's malloc is ours.
 * Called on: the main thread, in the library's constructor.  May allocate and log.
 */
void hs_session_start(char **environment, bool interposed, const struct hs_session_next *next);

/*
 * An allocation that the fast path did not let pass has returned address.
 * Called on: the program's threads.  Errno: preserved.  Blocks: see sample/recorder.h.
 */
HS_SAMPLE_CODE void hs_session_record(const void *address, size_t size, const struct hs_regs *regs);

/*
 * A sample was put into the ring; regs: of its call site.  Starts the profiler threads.  On that
 * thread, outside of the slow path.
 */
HS_SAMPLE_CODE void hs_session_recorded(const struct hs_regs *regs);

/*
 * The process ends (or a part of it that will not come back): stop sampling, process what
 * has been sampled, write the final profile.  Once per process; nothing in a vfork child,
 * or in a forked child that sampled nothing itself.
 *
 * Called on: any of the program's threads.  Waits for the profiler threads, bounded.
 * Errno: preserved.
 */
void hs_session_finish(void);

/*
 * Another program is about to be executed in this process: write what was sampled, if there
 * was anything since the last such call (the exec before may have failed).
 *
 * Called on: the program's threads, in a vfork child too, where nothing is done.  Waits for
 * the profile, bounded.  Errno: preserved.
 */
void hs_session_exec_begins(void);

/* dlopen() begins.  The program's threads. */
void hs_session_library_opens(void);

/*
 * The process has set a resource limit.  If it is RLIMIT_AS or RLIMIT_DATA, the profiler gives back
 * reserved address space that it does not need.  The program's threads; nothing is done in a vfork
 * child, which has limits of its own but its parent's memory.  Waits 50 ms at most.  Errno:
 * preserved.
 */
void hs_session_is_limited(int resource);

/*
 * Around the real dlclose().  What was sampled before is unwound first, while the libraries are
 * still there; and so is what this thread samples inside it, in their destructors.  The second is
 * called if the first has returned true; unloaded: whether anything may have been unloaded.
 * Called on: the program's threads.  Errno: preserved.  Waits for the worker 100 ms at most in all
 * (or as long as HEAPSAMPLE_BLOCK lets a sample wait), unless hs_record_may_wait() forbids it.
 */
bool hs_session_close_begins(void);
void hs_session_close_ends(bool unloaded);

/*
 * A thread of the program begins, with the stack size and guard size that its
 * attributes gave it (0: not known).  caller: see hs_capture_init_thread().  On that thread.
 */
void hs_session_thread_begins(size_t stack_bytes, size_t guard_bytes, uintptr_t caller_sp,
			      uintptr_t caller_pc);

/*
 * A thread of the program is about to be created; could not be created; ends (called on that
 * thread; the main thread by pthread_exit()).  With the last one the profiler's threads are ended
 * first, because libc would wait for them; exit() starts them again.  Waits for a profile that is
 * being written, as exit() does: 62 s at most.
 */
void hs_session_thread_comes(void);
void hs_session_thread_fails(void);
void hs_session_thread_ends(void);

/*
 * libc is about to learn of a second thread, or to handle a cancellation; even if it then fails.
 * The program's threads.
 */
void hs_session_libc_knows_more(void);

/* Whether the program has one thread, as far as we know, not counting the profiler's. */
bool hs_session_program_is_one_thread(void);

/*
 * Around fork() in a program of one thread, with signals blocked.  result: of fork(), in the child
 * too.  The profiler's threads pause, and libc is told that there is one thread: otherwise its
 * fork() would wait for malloc's locks, which a handler that forks may have interrupted.  Errno:
 * preserved.  Waits 0.2 s at most.
 */
void hs_session_fork_begins(void);
void hs_session_fork_ends(pid_t result);

/* The state before a thread was made undisturbed: signals blocked, cancellation deferred. */
struct hs_undisturbed {
	sigset_t mask;
	int cancel_type;
	bool masked; /* else the program's handlers would run */
};

/* The signals that can be blocked.  Those raised by an instruction end the process if they are. */
void hs_session_signals_sent(sigset_t *set);

/*
 * Around a call that cannot be made beside the profiler's threads: ends them.  True: they have
 * ended, the caller is undisturbed (a sample in a handler would start them again), and the second
 * function must be called after the call.  Waits for a profile that is being written, 2 s at most.
 * Called on: the program's threads.  Errno: preserved.
 */
bool hs_session_alone_begins(struct hs_undisturbed *before);
void hs_session_alone_ends(const struct hs_undisturbed *before);

/*
 * Around a call that libc makes on every thread (setuid() and its like): libc is told of the
 * profiler's threads.  If their rights differ from the caller's they are ended first, as above but
 * in 62 s at most, because libc ends the process if the call fails on some threads only.  A sample
 * before the call may start them again, with the caller's rights.  Errno: preserved.
 */
struct hs_rights {
	bool is_told, have_ended;
};
struct hs_rights hs_session_rights_begin(void);
void hs_session_rights_end(struct hs_rights begun);

/*
 * What a program asks for, see heapsample.h: a profile now (path: its name, may be NULL),
 * sampling on, off, empty books.  Returns 0 or -errno: -ENOSYS (not profiled), -EBUSY (in a
 * handler or hook that must not wait, or something else is still being done), -EAGAIN (no
 * threads), -ETIMEDOUT; -EIO (the profile could not be written), -ENAMETOOLONG, -ENOTSUP (a
 * stream is written); -EALREADY, -ECANCELED (sampling was ended for good); -ENOMEM.
 * Called on: the program's threads.  Waits for the producer, bounded.  Errno: preserved.
 */
int hs_session_dump(char *path, size_t capacity);
int hs_session_switch_on(void);
int hs_session_switch_off(void);
int hs_session_reset(void);

struct hs_session_stats {
	bool is_on;
	uint64_t interval_bytes;
	uint64_t allocated_bytes; /* as base/stats.h, like the next */
	uint64_t samples;
	uint64_t samples_lost;
	uint64_t frees;
	uint64_t profiles;
	uint64_t profiles_failed;
	uint64_t memory_bytes; /* of the profiler */
};

/* 0 or -ENOSYS.  Any thread, in handlers too. */
int hs_session_get_stats(struct hs_session_stats *stats);

/* What a heap wants to be told; functions may be NULL. */
struct hs_heap_calls {
	void (*enabled)(void *context, uint64_t interval_bytes);
	void (*disabled)(void *context);
	void *context;
};

/*
 * Heaps of the program, see heapsample.h.  Register: the heap's number, or -EINVAL and
 * -ENAMETOOLONG (the name), -EEXIST, -ENOSPC, -EAGAIN (another thread is at it), -ENOSYS;
 * before the session starts too.  Unregister: 0, -EINVAL, or as above.
 * Called on: the program's threads; calls the heap's functions.  Errno: preserved.
 */
int hs_session_heap_register(const char *name, const struct hs_heap_calls *calls);
int hs_session_heap_unregister(uint32_t heap);

/*
 * A label of the calling thread, see heapsample.h.  Returns 0, -ENOSYS (this process is not
 * profiled), or as hs_labels_set() of sample/labels.h.
 * Called on: the program's threads, in handlers too.  Blocks, allocates: never.  Errno: not
 * touched.
 */
int hs_session_set_label(const char *key, const char *value);

/*
 * Map hints by calls, see maps/map_hints.h.  Returns 0, -ENOSYS (this process is not
 * profiled), -EINVAL, -ENAMETOOLONG or -EAGAIN (no room now; counted: map_hints_refused).
 * Called on: the program's threads.  Blocks, allocates: never.  Errno: preserved.
 */
int hs_session_map_hint(const char *objfile, uint64_t start, uint64_t length, uint64_t offset);
int hs_session_unmap_hint(uint64_t start, uint64_t length);

#endif
