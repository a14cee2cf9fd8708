/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork(): the child finds consistent structures, inherits the books and what is still in the ring,
 * and starts its own profiler threads at its first sample.
 *
 * The handlers are registered in the constructor, before any of the program's, so our prepare
 * handler runs last and the other two first.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/libraries.h"
#include "base/log.h"
#include "base/options.h"
#include "base/root.h"
#include "base/sys.h"
#include "sample/heap.h"
#include "sample/recorder.h"
#include "sample/sampler.h"
#include "sample/thread_state.h"
#include "session/ask.h"
#include "session/budget.h"
#include "session/cpu_guard.h"
#include "session/left_alone.h"
#include "session/libc_threads.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/started.h"
#include "session/threads.h"

/* The longest that a fork waits for the profiler threads, and for a file to be opened. */
#define QUIESCE_LIMIT_NS 50000000u
#define OPENING_LIMIT_NS 10000000u
#define GATE_LIMIT_NS (UINT64_C(2) * (QUIESCE_LIMIT_NS + OPENING_LIMIT_NS))

/*
 * Several threads may fork at once (glibc runs the handlers without a lock of its own): the
 * first takes the batch locks for all, the last gives them back.  gate protects the rest.
 */
static struct hs_lock gate;
static uint32_t holders;
static bool has_opening; /* they have that lock too */
static bool has_log;     /* and that of the log's file */

/*
 * How many forks this thread is in (a signal handler may fork during one), and whether the locks
 * are held for the outermost.
 */
static __thread uint32_t depth;
static __thread bool quiesced;

/* Whether libc was told that there is one thread, for this fork. */
static __thread bool has_hidden;

static bool is_installed;

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/*
 * In a page that the kernel clears in a child (MADV_WIPEONFORK): 0 in a child for which no handler
 * of ours has run, by _Fork() or a raw clone().  Its process id would not tell: in another pid
 * namespace it may be the same.  NULL: the kernel cannot do that.
 */
static _Atomic uint32_t *own_mark;

static void make_mark(void)
{
	size_t bytes = sizeof *own_mark;

	own_mark = hs_sys_map(bytes, PROT_READ | PROT_WRITE);
	if (own_mark != NULL && hs_sys_advise(own_mark, bytes, MADV_WIPEONFORK) != 0) {
		hs_sys_unmap(own_mark, bytes);
		own_mark = NULL;
	}
	if (own_mark != NULL)
		atomic_store(own_mark, 1);
}

bool hs_fork_is_own_process(void)
{
	return hs_sys_getpid() == hs_session.process_id &&
	       (own_mark == NULL || atomic_load(own_mark) != 0);
}

static bool take_batch_locks(void)
{
	struct hs_session *session = &hs_session;

	if (!hs_lock_acquire_within(&session->worker_batch, QUIESCE_LIMIT_NS))
		return false;
	if (!hs_lock_acquire_within(&session->producer_batch, QUIESCE_LIMIT_NS)) {
		hs_lock_release(&session->worker_batch);
		return false;
	}
	/* If the disk is slow the child may have a descriptor that it does not know of. */
	has_opening = hs_lock_acquire_within(&session->opening, OPENING_LIMIT_NS);
	has_log = hs_log_fork_begins(OPENING_LIMIT_NS);
	return true;
}

/* Undisturbed: a handler that ends the process must find all of it done, or nothing. */
static void take_part(void)
{
	struct hs_undisturbed before;

	hs_threads_begin_undisturbed(&before);
	if (hs_lock_acquire_within(&gate, GATE_LIMIT_NS)) {
		quiesced = holders > 0 || take_batch_locks();
		holders += quiesced;
		hs_lock_release(&gate);
	}
	hs_threads_end_undisturbed(&before);
}

/* Undisturbed, as take_part(). */
static void give_back_part(void)
{
	quiesced = false;
	/* Held for moments only, except by a thread that takes the batch locks. */
	hs_lock_acquire(&gate);
	if (--holders == 0) {
		if (has_log)
			hs_log_fork_ends();
		if (has_opening)
			hs_lock_release(&hs_session.opening);
		hs_lock_release(&hs_session.producer_batch);
		hs_lock_release(&hs_session.worker_batch);
	}
	hs_lock_release(&gate);
}

static void prepare(void)
{
	int saved_errno = errno;

	hs_thread.no_wait = true;
	hs_sampler_fork_begins(&hs_thread);
	if (depth++ == 0)
		take_part();
	errno = saved_errno;
}

void hs_fork_let_go(void)
{
	struct hs_undisturbed before;

	if (has_hidden)
		hs_libc_set_single_threaded(false);
	has_hidden = false;
	if (!quiesced)
		return;
	hs_threads_begin_undisturbed(&before);
	/* Unless a handler has done it just now. */
	if (quiesced)
		give_back_part();
	hs_threads_end_undisturbed(&before);
}

static void parent(void)
{
	int saved_errno = errno;

	if (--depth == 0) {
		hs_fork_let_go();
		hs_thread.no_wait = false;
	}
	errno = saved_errno;
}

/* In the child, where the parent's other threads do not exist. */
static void forget_threads(void)
{
	struct hs_session *session = &hs_session;

	atomic_store(&session->threads, HS_THREADS_NONE);
	atomic_store(&session->stop, HS_STOP_REQUEST_NONE);
	atomic_store(&session->libc_view, HS_LIBC_VISIBLE);
	atomic_store(&session->is_joining, false);
	atomic_store(&session->tids[HS_WORKER], 0);
	atomic_store(&session->tids[HS_PRODUCER], 0);
	atomic_store(&session->more_threads, 0);
	atomic_store(&hs_recorder.reader_runs, false);
	hs_ring_after_fork(&session->ring);
	hs_event_reset(&session->producer_event);
	hs_event_reset(&session->worker_event);
	atomic_store(&session->is_queue_full, false);
	atomic_store(&session->is_at_file, false);
	hs_lock_reset(&session->worker_batch);
	hs_lock_reset(&session->producer_batch);
	hs_lock_reset(&session->opening);
	hs_lock_reset(&gate);
	holders = 0;
	hs_arena_after_fork();
}

static void child(void)
{
	struct hs_session *session = &hs_session;
	int saved_errno = errno;

	atomic_store(&session->process_id, hs_sys_getpid());
	atomic_store(&hs_recorder.process_id, session->process_id);
	if (own_mark != NULL)
		atomic_store(own_mark, 1);
	hs_log_after_fork();
	hs_left_alone_begin();
	hs_started_after_fork();
	session->forked = true;
	hs_dump_after_fork(quiesced);
	if (hs_options_streams(&hs_options))
		hs_stream_after_fork();
	hs_keep_after_fork();
	hs_cpu_guard_after_fork();
	hs_budget_after_fork();
	session->samples_before_fork = hs_heap_total(samples);
	session->ring_before_fork = hs_ring_head_ticket(&session->ring);
	atomic_store(&session->requests, 0);
	hs_ask_after_fork();
	hs_heaps_after_fork();
	atomic_store(&session->finishing, 0);
	atomic_store(&session->finished, 0);
	forget_threads();
	hs_closes_after_fork(hs_thread.closing);
	hs_root_after_fork();
	hs_thread.no_wait = false;
	depth = 0;
	if (!hs_record_after_fork() || !quiesced)
		hs_session_disable("fork met the profiler at work for too long");
	else if ((hs_options.children & HS_CHILDREN_FORK) == 0) {
		atomic_store(&session->phase, HS_SESSION_OFF);
		hs_sampler_end();
	}
	/* What libc was told is true in the child. */
	has_hidden = quiesced = false;
	errno = saved_errno;
}

void hs_session_fork_begins(void)
{
	if (!is_installed)
		return;
	/* Otherwise fork() would wait for the worker, and the worker for it. */
	hs_libc_answer_worker();
	prepare();
	if (quiesced && !hs_libc_is_single_threaded() && hs_libc_program_has_one_thread()) {
		hs_libc_set_single_threaded(true);
		has_hidden = true;
	}
}

void hs_session_fork_ends(pid_t result)
{
	if (is_installed && result != 0)
		parent();
}

void hs_fork_install(void)
{
	make_mark();
	is_installed = pthread_atfork(prepare, parent, child) == 0;
	if (!is_installed)
		hs_log(HS_LOG_WARN, "no fork handlers: forked children are not profiled");
}
