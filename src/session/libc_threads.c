/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libc knows of the profiler's threads: nothing, where that can be.
 *
 * glibc takes shorter ways (malloc() and mutexes without locked instructions) until a process makes
 * its second thread, which would be ours; __libc_single_threaded says so (glibc 2.32; its own code
 * goes by it since 2.36).  The profiler's threads share no lock with the program but by libunwind:
 * the loader's while that is loaded, and its own, for the program may use it too.  So a program of
 * one thread stays one to libc: who has started our threads says so again, before anything else.
 *
 * When a frame comes that no row leads out of, it is taken back for good before libunwind is loaded
 * or called.  libc looks at the flag and then writes a lock: its thread must not be between the
 * two.  It is not at its next sample (on its own stack), nor asleep in the kernel, but for a
 * handler of signals that has come there; else that stack ends there.
 */
#include <sys/stat.h>

#include "base/alone.h"
#include "base/sys.h"
#include "sample/recorder.h"
#include "session/session_state.h"
#include "session/thread_stop.h"

/* How long the worker waits for the program's thread; less than a fork waits for the worker. */
#define WANT_LIMIT_NS 20000000u
#define WANT_LOOK_NS 1000000

bool hs_libc_is_single(void)
{
	const volatile char *flag = hs_session.next.single_threaded[0];

	return flag != NULL && *flag != 0;
}

/* A program that looks at it may have a copy. */
void hs_libc_set_single(bool single)
{
	for (size_t i = 0; i < HS_LIBC_FLAGS; i++) {
		volatile char *flag = hs_session.next.single_threaded[i];

		if (flag != NULL)
			*flag = single;
	}
}

/* The profiler's threads; one that has been created may not have begun. */
static nlink_t count_own_threads(void)
{
	const struct hs_session *session = &hs_session;

	if (atomic_load(&session->threads) == HS_THREADS_RUNNING)
		return 2;
	return (nlink_t)(atomic_load(&session->tids[0]) != 0) +
	       (atomic_load(&session->tids[1]) != 0);
}

bool hs_libc_has_one_thread(void)
{
	struct stat tasks;

	/* A directory has two links more than it has directories in it. */
	return hs_sys_stat("/proc/self/task", &tasks) == 0 &&
	       tasks.st_nlink == 2 + 1 + count_own_threads();
}

static bool move(uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&hs_session.libc, &from, to);
}

static void tell(uint32_t from)
{
	if (move(from, HS_LIBC_TELLING)) {
		hs_libc_set_single(true);
		atomic_store(&hs_session.libc, HS_LIBC_TOLD);
	}
}

bool hs_libc_threads_start(void)
{
	bool loads = hs_libc_loads_at_start();

	if (!hs_libc_is_single())
		return false;
	atomic_store(&hs_session.libc, HS_LIBC_STARTED);
	return !loads;
}

void hs_libc_threads_started(void)
{
	tell(HS_LIBC_STARTED);
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
	if (atomic_load(&hs_session.libc) == HS_LIBC_LOADED)
		tell(HS_LIBC_LOADED);
	/* Too late from here on: the program may be anywhere. */
	(void)move(HS_LIBC_STARTED, HS_LIBC_AS_IS);
}

void hs_libc_give_back(void)
{
	if (atomic_load(&hs_session.libc) == HS_LIBC_WANTED && hs_fork_is_own_process()) {
		hs_alone_end();
		hs_libc_set_single(false);
		(void)move(HS_LIBC_WANTED, HS_LIBC_AS_IS);
	}
}

bool hs_libc_tell_all(void)
{
	hs_libc_give_back();
	if (atomic_load(&hs_session.libc) != HS_LIBC_TOLD || !hs_fork_is_own_process() ||
	    !hs_libc_is_single())
		return false;
	/* Profiler threads may do meanwhile what they leave to a thread that is alone. */
	hs_alone_end();
	hs_libc_set_single(false);
	return move(HS_LIBC_TOLD, HS_LIBC_ASIDE);
}

void hs_libc_tell_single(void)
{
	struct hs_undisturbed before;

	/* No handler is to make a thread in between, or to jump out. */
	hs_threads_begin_undisturbed(&before);
	/* A thread of libc's own may have come. */
	if (before.masked && hs_libc_has_one_thread())
		tell(HS_LIBC_ASIDE);
	(void)move(HS_LIBC_ASIDE, HS_LIBC_AS_IS);
	hs_threads_end_undisturbed(&before);
}

void hs_libc_forget(void)
{
	(void)move(HS_LIBC_STARTED, HS_LIBC_AS_IS);
	(void)move(HS_LIBC_LOADED, HS_LIBC_AS_IS);
	(void)move(HS_LIBC_ASIDE, HS_LIBC_AS_IS);
}

/* Whether the program's thread, which is the main thread, sleeps in a system call. */
static bool is_asleep(void)
{
	char line[512];
	ssize_t bytes = hs_sys_read_file("/proc/self/stat", line, sizeof line);

	/* pid (name) S ...: a name may have anything in it, and numbers follow. */
	while (bytes > 0 && line[bytes - 1] != ')')
		bytes--;
	return bytes > 0 && bytes + 1 < (ssize_t)sizeof line && line[bytes + 1] == 'S';
}

/* Whether the program's thread goes by the flag, which is 0 now. */
static bool has_given_back(uint64_t limit_ns)
{
	uint64_t end_ns = hs_sys_monotonic_ns() + limit_ns;

	while (atomic_load(&hs_session.libc) == HS_LIBC_WANTED) {
		if (is_asleep())
			return move(HS_LIBC_WANTED, HS_LIBC_AS_IS);
		if (hs_sys_monotonic_ns() >= end_ns)
			return false;
		hs_sys_futex_wait(&hs_session.libc, HS_LIBC_WANTED, WANT_LOOK_NS);
	}
	return true;
}

/* The first time it is waited for; and then looked at now and then. */
static bool wait_until_given_back(bool is_first)
{
	static uint64_t next_look_ns;

	if (!is_first && hs_sys_monotonic_ns() < next_look_ns)
		return atomic_load(&hs_session.libc) == HS_LIBC_AS_IS;
	next_look_ns = hs_sys_monotonic_ns() + WANT_LIMIT_NS;
	return has_given_back(is_first ? WANT_LIMIT_NS : 0);
}

bool hs_libc_before_libunwind(void)
{
	bool is_first = false;

	for (;;) {
		uint32_t now = atomic_load(&hs_session.libc);

		switch (now) {
		case HS_LIBC_AS_IS:
			return true;
		case HS_LIBC_TELLING:
			return false;
		case HS_LIBC_WANTED:
			if (!wait_until_given_back(is_first))
				return false;
			break;
		case HS_LIBC_TOLD:
			is_first = hs_libc_is_single() && move(HS_LIBC_TOLD, HS_LIBC_WANTED);
			if (is_first)
				hs_libc_set_single(false);
			else
				(void)move(HS_LIBC_TOLD, HS_LIBC_AS_IS);
			break;
		default:
			(void)move(now, HS_LIBC_AS_IS);
		}
	}
}
