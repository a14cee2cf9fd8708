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

/* Two flags: the program may have a copy of its own (a copy relocation). */
void hs_libc_set_single(bool single)
{
	for (size_t i = 0; i < HS_LIBC_FLAGS; i++) {
		volatile char *flag = hs_session.next.single_threaded[i];

		if (flag != NULL)
			*flag = single;
	}
}

/* The number of the profiler's threads that have begun. */
static nlink_t count_own_threads(void)
{
	const struct hs_session *session = &hs_session;

	if (atomic_load(&session->threads) == HS_THREADS_RUNNING)
		return 2;
	return (nlink_t)(atomic_load(&session->tids[HS_WORKER]) != 0) +
	       (atomic_load(&session->tids[HS_PRODUCER]) != 0);
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
	/* From here on the flag is not set any more: the program may be anywhere. */
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
	/* From now on profiler threads may change words that the program's thread changed alone. */
	hs_alone_end();
	hs_libc_set_single(false);
	return move(HS_LIBC_TOLD, HS_LIBC_ASIDE);
}

void hs_libc_tell_single(void)
{
	struct hs_undisturbed before;

	/* Meanwhile no handler may make a thread, or jump out. */
	hs_threads_begin_undisturbed(&before);
	/* libc may have made a thread of its own. */
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

	/* "pid (name) S ...": the name may contain anything, what follows it no ')'. */
	while (bytes > 0 && line[bytes - 1] != ')')
		bytes--;
	return bytes > 0 && bytes + 1 < (ssize_t)sizeof line && line[bytes + 1] == 'S';
}

/* Whether the program's thread is seen not to rely on the flag any more, within limit_ns. */
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

/* The first time waits for it; later only looks, now and then. */
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
