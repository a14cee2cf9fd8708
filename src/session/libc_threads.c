/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libc knows of the profiler's threads: nothing, where that can be.
 *
 * glibc takes shorter ways (malloc(), stdio and mutexes without locked instructions) until a
 * process makes its second thread, which would be ours; __libc_single_threaded says so (glibc 2.32;
 * its own code goes by it since 2.36).  The profiler's threads share no lock with the program but
 * by libunwind: the loader's while that is loaded, and its own, for the program may use it too.  So
 * a program of one thread stays one to libc; until a frame comes that no row leads out of, then it
 * is taken back for good before libunwind is loaded or called.  Where it is loaded at the start the
 * word is owed to libc until then.
 *
 * Both are for the program's one thread to do, at a sample: there it does not come between libc's
 * look at the flag and what libc does then.  The worker waits for it, a while: a thread that takes
 * no sample then has had the time to do it, or sleeps.
 */
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "sample/recorder.h"
#include "session/session_state.h"

/* How long the worker waits; less than a fork waits for it. */
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

bool hs_libc_threads_start(void)
{
	bool was_single = hs_libc_is_single();

	if (was_single)
		atomic_store(&hs_session.libc, HS_LIBC_STARTED);
	return was_single;
}

bool hs_libc_loads_at_start(void)
{
	return hs_recorder.block_ns != 0 && hs_session.unwinder != NULL &&
	       !hs_session.engine_loaded;
}

void hs_libc_worker_is_ready(void)
{
	(void)move(HS_LIBC_STARTED, HS_LIBC_OWED);
}

/* The flag first: libunwind may be called once it is as is. */
static void tell(void)
{
	hs_libc_set_single(true);
	if (!move(HS_LIBC_OWED, HS_LIBC_TOLD))
		hs_libc_set_single(false);
}

void hs_libc_threads_started(bool was_single)
{
	if (was_single && !hs_libc_loads_at_start())
		hs_libc_worker_is_ready();
	if (was_single && atomic_load(&hs_session.libc) == HS_LIBC_OWED)
		tell();
}

/* No handler may make a thread between the look and the flag. */
static void look_and_tell(void)
{
	uint64_t all = UINT64_MAX, before;

	if (hs_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof all, 0,
		       0) != 0)
		return;
	if (hs_libc_has_one_thread())
		tell();
	else
		(void)move(HS_LIBC_OWED, HS_LIBC_AS_IS);
	hs_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
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

void hs_libc_follow(void)
{
	hs_libc_give_back();
	if (atomic_load(&hs_session.libc) == HS_LIBC_OWED && is_this_process())
		look_and_tell();
}

void hs_libc_tell_all(void)
{
	hs_libc_give_back();
	if (atomic_load(&hs_session.libc) == HS_LIBC_TOLD && is_this_process() &&
	    hs_libc_is_single()) {
		hs_libc_set_single(false);
		(void)move(HS_LIBC_TOLD, HS_LIBC_OWED);
		hs_libc_give_back();
	}
}

void hs_libc_forget(void)
{
	(void)move(HS_LIBC_STARTED, HS_LIBC_AS_IS);
	(void)move(HS_LIBC_OWED, HS_LIBC_AS_IS);
}

static void wait_until_given_back(void)
{
	uint64_t end_ns = hs_sys_monotonic_ns() + WANT_LIMIT_NS;

	while (atomic_load(&hs_session.libc) == HS_LIBC_WANTED && hs_libc_is_single() &&
	       hs_sys_monotonic_ns() < end_ns)
		hs_sys_futex_wait(&hs_session.libc, HS_LIBC_WANTED, WANT_LOOK_NS);
	/* The program may have made a thread meanwhile: that is the same. */
	hs_libc_set_single(false);
	(void)move(HS_LIBC_WANTED, HS_LIBC_AS_IS);
}

bool hs_libc_before_libunwind(bool loads)
{
	uint32_t now;

	while ((now = atomic_load(&hs_session.libc)) != HS_LIBC_AS_IS) {
		if (now == HS_LIBC_WANTED)
			wait_until_given_back();
		else if (now == HS_LIBC_TOLD && hs_libc_is_single())
			(void)move(HS_LIBC_TOLD, HS_LIBC_WANTED);
		else
			(void)move(now, HS_LIBC_AS_IS);
	} /* A filter that came after the threads: who is killed in the loader leaves it locked. */
	return !loads || hs_threads_would_live();
}
