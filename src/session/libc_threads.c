/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps libc believing that a program of one thread has one thread, although the profiler has two.
 *
 * As long as __libc_single_threaded is set, glibc's malloc() and mutexes need no locked
 * instructions (the flag exists since glibc 2.32; glibc itself uses it since 2.36).  Creating our
 * threads would clear it, and slow the program down.  They share no lock with the program except
 * through libunwind: the loader's lock while it is loaded, and its own locks, for the program may
 * use it too.  So the thread that has started ours sets the flag again at once.
 *
 * Before libunwind is loaded or called, for a frame that no row leads out of, the flag is cleared
 * for good.  libc reads the flag and then writes a lock, and the program's thread must not be
 * between the two.  It is not at its next sample (if that is on its own stack), nor while it sleeps
 * in the kernel, unless a signal handler runs there.  If neither comes, the stack ends at that
 * frame.
 */
#include <sys/stat.h>

#include "base/alone.h"
#include "base/sys.h"
#include "sample/recorder.h"
#include "session/libc_threads.h"
#include "session/session_state.h"
#include "session/threads.h"

/*
 * How long the worker waits for the program's thread, or until so many samples were no answer: it
 * runs coroutines.  Nobody has to wait for that: a thread that waits for the worker, as in fork(),
 * sleeps.
 */
#define WANT_LIMIT_NS 500000000u
#define WANT_SAMPLES 16u

/* The least time between two looks later on. */
#define LATER_LOOK_NS 20000000u

bool hs_libc_is_single_threaded(void)
{
	const volatile char *flag = hs_session.next.single_threaded[0];

	return flag != NULL && *flag != 0;
}

/* Two flags: the program may have a copy of its own (a copy relocation). */
void hs_libc_set_single_threaded(bool single)
{
	for (size_t i = 0; i < HS_LIBC_FLAGS; i++) {
		volatile char *flag = hs_session.next.single_threaded[i];

		if (flag != NULL)
			*flag = single;
	}
}

/* The number of the profiler's threads that have begun. */
static nlink_t count_profiler_threads(void)
{
	const struct hs_session *session = &hs_session;

	if (atomic_load(&session->threads) == HS_THREADS_RUNNING)
		return 2;
	return (nlink_t)(atomic_load(&session->tids[HS_WORKER]) != 0) +
	       (atomic_load(&session->tids[HS_PRODUCER]) != 0);
}

bool hs_libc_program_has_one_thread(void)
{
	struct stat tasks;

	/* The link count of a directory is 2 + the number of directories in it. */
	return hs_sys_stat("/proc/self/task", &tasks) == 0 &&
	       tasks.st_nlink == 2 + 1 + count_profiler_threads();
}

/* Whether the view was `from`, and is `to` now. */
static bool move(uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&hs_session.libc_view, &from, to);
}

static void hide(uint32_t from)
{
	if (move(from, HS_LIBC_HIDING)) {
		hs_libc_set_single_threaded(true);
		atomic_store(&hs_session.libc_view, HS_LIBC_HIDDEN);
	}
}

bool hs_libc_before_start(void)
{
	if (!hs_libc_is_single_threaded())
		return false;
	atomic_store(&hs_session.libc_view, HS_LIBC_STARTED);
	return !hs_libc_loads_at_start();
}

void hs_libc_after_start(void)
{
	hide(HS_LIBC_STARTED);
}

bool hs_libc_loads_at_start(void)
{
	return hs_recorder.block_ns != 0 && hs_session.unwinder != NULL &&
	       !atomic_load(&hs_session.engine_loaded);
}

void hs_libc_worker_has_loaded(void)
{
	(void)move(HS_LIBC_STARTED, HS_LIBC_LOADED);
}

void hs_libc_constructor_ends(void)
{
	if (atomic_load(&hs_session.libc_view) == HS_LIBC_LOADED)
		hide(HS_LIBC_LOADED);
	/* From here on the flag is not set any more: the program may be anywhere. */
	(void)move(HS_LIBC_STARTED, HS_LIBC_VISIBLE);
}

void hs_libc_answer_worker(void)
{
	if (atomic_load(&hs_session.libc_view) == HS_LIBC_ASKED && hs_fork_is_own_process()) {
		hs_alone_end();
		hs_libc_set_single_threaded(false);
		(void)move(HS_LIBC_ASKED, HS_LIBC_VISIBLE);
	}
}

bool hs_libc_show(void)
{
	hs_libc_answer_worker();
	if (atomic_load(&hs_session.libc_view) != HS_LIBC_HIDDEN || !hs_fork_is_own_process() ||
	    !hs_libc_is_single_threaded())
		return false;
	/* From now on profiler threads may change words that the program's thread changed alone. */
	hs_alone_end();
	hs_libc_set_single_threaded(false);
	return move(HS_LIBC_HIDDEN, HS_LIBC_SHOWN);
}

void hs_libc_hide_again(void)
{
	struct hs_undisturbed before;

	/* Meanwhile no handler may make a thread, or jump out. */
	hs_threads_begin_undisturbed(&before);
	/* libc may have made a thread of its own. */
	if (before.masked && hs_libc_program_has_one_thread())
		hide(HS_LIBC_SHOWN);
	(void)move(HS_LIBC_SHOWN, HS_LIBC_VISIBLE);
	hs_threads_end_undisturbed(&before);
}

void hs_libc_hide_no_more(void)
{
	(void)move(HS_LIBC_STARTED, HS_LIBC_VISIBLE);
	(void)move(HS_LIBC_LOADED, HS_LIBC_VISIBLE);
	(void)move(HS_LIBC_SHOWN, HS_LIBC_VISIBLE);
}

/* Whether the program's only thread, the main thread, sleeps in a system call. */
static bool is_asleep(void)
{
	char line[512];
	const char *state;

	if (hs_sys_read_kernel_file("/proc/self/stat", line, sizeof line) <= 0)
		return false;
	state = hs_sys_state_in_stat(line);
	return state != NULL && *state == 'S';
}

/* Whether the program's thread is seen not to rely on the flag any more, within limit_ns. */
static bool wait_for_answer(uint64_t limit_ns)
{
	uint64_t end_ns = hs_sys_monotonic_ns() + limit_ns;
	uint32_t first = hs_ring_head_ticket(&hs_session.ring);

	while (atomic_load(&hs_session.libc_view) == HS_LIBC_ASKED) {
		/* It sleeps too if it waits for this batch's end, in a fork() of libc's own. */
		if (is_asleep() || hs_lock_is_wanted(&hs_session.worker_batch))
			return move(HS_LIBC_ASKED, HS_LIBC_VISIBLE);
		if (hs_sys_monotonic_ns() >= end_ns ||
		    hs_ring_head_ticket(&hs_session.ring) - first > WANT_SAMPLES)
			return false;
		hs_sys_futex_wait(&hs_session.libc_view, HS_LIBC_ASKED, HS_THREADS_LOOK_NS);
	}
	return true;
}

/* The first time waits for it; later only looks, now and then. */
static bool is_answered(bool is_first)
{
	static uint64_t next_look_ns;

	if (is_first)
		return wait_for_answer(WANT_LIMIT_NS);
	if (hs_sys_monotonic_ns() < next_look_ns)
		return atomic_load(&hs_session.libc_view) == HS_LIBC_VISIBLE;
	next_look_ns = hs_sys_monotonic_ns() + LATER_LOOK_NS;
	return wait_for_answer(0);
}

bool hs_libc_before_libunwind(void)
{
	bool is_first = false;

	for (;;) {
		uint32_t now = atomic_load(&hs_session.libc_view);

		switch (now) {
		case HS_LIBC_VISIBLE:
			return true;
		case HS_LIBC_HIDING:
			return false;
		case HS_LIBC_ASKED:
			if (!is_answered(is_first))
				return false;
			break;
		case HS_LIBC_HIDDEN:
			is_first = hs_libc_is_single_threaded() &&
				   move(HS_LIBC_HIDDEN, HS_LIBC_ASKED);
			if (is_first)
				hs_libc_set_single_threaded(false);
			else
				(void)move(HS_LIBC_HIDDEN, HS_LIBC_VISIBLE);
			break;
		default:
			(void)move(now, HS_LIBC_VISIBLE);
		}
	}
}
