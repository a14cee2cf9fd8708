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
 * two.  It is not at its next sample, nor asleep in the kernel; else that stack ends there.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alone.h"
#include "base/format.h"
#include "base/sys.h"
#include "sample/recorder.h"
#include "session/session_state.h"

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

/* The flag first: libunwind may be called once it is as is. */
static void tell(uint32_t from)
{
	hs_libc_set_single(true);
	if (!move(from, HS_LIBC_TOLD))
		hs_libc_set_single(false);
}

enum hs_libc_start hs_libc_threads_start(void)
{
	bool loads = hs_libc_loads_at_start();

	if (!hs_libc_is_single())
		return HS_LIBC_START_KNOWN;
	atomic_store(&hs_session.libc, HS_LIBC_STARTED);
	return loads ? HS_LIBC_START_LOADS : HS_LIBC_START_UNKNOWN;
}

void hs_libc_threads_started(enum hs_libc_start start)
{
	if (start == HS_LIBC_START_UNKNOWN)
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

/* Not in a vfork child, which has its parent's memory. */
static bool is_this_process(void)
{
	return hs_sys_getpid() == atomic_load(&hs_session.process_id);
}

void hs_libc_give_back(void)
{
	if (atomic_load(&hs_session.libc) == HS_LIBC_WANTED && is_this_process()) {
		hs_libc_set_single(false);
		(void)move(HS_LIBC_WANTED, HS_LIBC_AS_IS);
	}
}

bool hs_libc_tell_all(void)
{
	hs_libc_give_back();
	if (atomic_load(&hs_session.libc) != HS_LIBC_TOLD || !is_this_process() ||
	    !hs_libc_is_single())
		return false;
	/* Profiler threads may do meanwhile what they leave to a thread that is alone. */
	hs_alone_end();
	hs_libc_set_single(false);
	return move(HS_LIBC_TOLD, HS_LIBC_ASIDE);
}

void hs_libc_tell_single(void)
{
	/* A thread of libc's own may have come. */
	if (hs_libc_has_one_thread())
		tell(HS_LIBC_ASIDE);
	(void)move(HS_LIBC_ASIDE, HS_LIBC_AS_IS);
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
	char path[64], line[512];
	ssize_t bytes;
	int fd;

	hs_format(path, sizeof path, "/proc/self/task/%lld/stat",
		  (long long)atomic_load(&hs_session.process_id));
	fd = hs_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	bytes = fd >= 0 ? hs_sys_read(fd, line, sizeof line - 1) : -1;
	if (fd >= 0)
		hs_sys_close(fd);
	/* tid (name) S ...: a name may have anything in it. */
	while (bytes > 3 && line[bytes - 1] != ')')
		bytes--;
	return bytes > 3 && line[bytes] == ' ' && line[bytes + 1] == 'S';
}

/* Whether the program's thread goes by the flag, which is 0 now. */
static bool wait_until_given_back(void)
{
	uint64_t end_ns = hs_sys_monotonic_ns() + WANT_LIMIT_NS;

	while (atomic_load(&hs_session.libc) == HS_LIBC_WANTED) {
		if (is_asleep())
			return move(HS_LIBC_WANTED, HS_LIBC_AS_IS);
		if (hs_sys_monotonic_ns() >= end_ns)
			return false;
		hs_sys_futex_wait(&hs_session.libc, HS_LIBC_WANTED, WANT_LOOK_NS);
	}
	return true;
}

bool hs_libc_before_libunwind(void)
{
	for (;;) {
		uint32_t now = atomic_load(&hs_session.libc);

		if (now == HS_LIBC_AS_IS)
			return true;
		if (now == HS_LIBC_WANTED && !wait_until_given_back())
			return false;
		if (now == HS_LIBC_TOLD && hs_libc_is_single()) {
			if (move(HS_LIBC_TOLD, HS_LIBC_WANTED))
				hs_libc_set_single(false);
		} else if (now != HS_LIBC_WANTED) {
			(void)move(now, HS_LIBC_AS_IS);
		}
	}
}
