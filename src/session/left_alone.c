/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread may end without libc's knowing: killed by a seccomp filter, or by the bare system call.
 * Of the main thread's end the kernel tells all the same: it clears the word where glibc has the
 * thread's id, and wakes one who waits there (set_tid_address(2)), as pthread_join() does.  So the
 * producer, where it comes to rest, waits there too, with futex_waitv() (Linux 5.16).
 *
 * A filter may kill the process for that call, which many do not know: a thread that has one does
 * not make it.  Where it is not told, and when the main thread is gone and others are not, the
 * producer looks by itself: after 10 s, and then after twice as long each time, so that a process
 * is not left alone for longer than it has been idle, or nearly.
 *
 * See left_alone.h.  Threads: the producer, but for hs_left_alone_begin().
 */
#include "session/left_alone.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "session/session_state.h"

/* At rest after this long without an event: what it takes to be told is not done for each. */
#define REST_NS 100000000

#define FIRST_LOOK_NS 10000000000

/* What the wait status of a process has of a signal; its exit code is above. */
#define SIGNAL_BITS 0x7fu
#define EXIT_SHIFT 8

/* 0: not known, for the library was loaded by another thread. */
static pthread_t main_thread;

/* Or never: the kernel does not have the call, or says that the word is another. */
static bool is_told_no_more;

static int64_t look_ns;

void hs_left_alone_begin(void)
{
	main_thread = hs_sys_gettid() == hs_sys_getpid() ? pthread_self() : 0;
	is_told_no_more = false;
	look_ns = FIRST_LOOK_NS;
}

/* With the lock: a child that is forked meanwhile would have the descriptor. */
static bool read_text(const char *path, char *text, size_t capacity)
{
	ssize_t bytes;

	hs_lock_acquire(&hs_session.producer_batch);
	bytes = hs_sys_read_file(path, text, capacity);
	hs_lock_hand_over(&hs_session.producer_batch);
	return bytes > 0;
}

/* Whether this thread has a seccomp filter, or it cannot be seen. */
static bool is_filtered(void)
{
	static const char name[] = "\nSeccomp:\t";
	char text[4096];
	const char *line;

	if (!read_text("/proc/thread-self/status", text, sizeof text))
		return true;
	line = strstr(text, name);
	return line == NULL || line[sizeof name - 1] != '0';
}

/*
 * Where the kernel clears the main thread's id; 0: it does not say.  It is as far from its
 * pthread_t as this thread's is.
 */
static uintptr_t main_tid_word(void)
{
	uintptr_t own = 0;

	if (hs_syscall(SYS_prctl, PR_GET_TID_ADDRESS, (long)&own, 0, 0, 0, 0) != 0 || own == 0)
		return 0;
	return (uintptr_t)main_thread + (own - (uintptr_t)pthread_self());
}

/* Sleep, if the main thread's end would end that.  Returns false if not. */
static bool sleep_told(struct hs_event *event, int64_t timeout_ns)
{
	uintptr_t word;
	int result;

	if (is_told_no_more || main_thread == 0 || is_filtered())
		return false;
	word = main_tid_word();
	if (word == 0)
		return false;
	result = hs_event_wait_either(event, word, (uint32_t)hs_session.process_id, timeout_ns);
	/* It may have been for another one, who joins the main thread. */
	if (result == 1)
		hs_syscall(SYS_futex, (long)word, FUTEX_WAKE, INT_MAX, 0, 0, 0);
	is_told_no_more = result < 0 && result != -ETIMEDOUT && result != -EINTR;
	return !is_told_no_more;
}

/* The number of /proc/PID/stat that proc(5) counts as field, from where the second ends. */
static unsigned long stat_number(const char *at, int field)
{
	unsigned long value = 0;

	for (int passed = 2; passed < field && *at != '\0'; at++)
		passed += *at == ' ';
	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (unsigned long)(*at - '0');
	return value;
}

/*
 * Whether all threads of the program have ended; then *status is the main thread's.  That one is
 * there to the end, but for what it was.
 */
static bool is_left_alone(unsigned long *status)
{
	enum { THREADS = 20, EXIT_CODE = 52 };
	char line[1024];
	const char *name_end;

	if (!read_text("/proc/self/stat", line, sizeof line))
		return false;
	/* A name may have anything in it. */
	name_end = strrchr(line, ')');
	if (name_end == NULL || strncmp(name_end, ") Z", 3) != 0 ||
	    stat_number(name_end, THREADS) != (hs_threads_died() ? 2 : 3))
		return false;
	/* Else a thread of the program starts them or has them end: it may be one of these. */
	if (atomic_load(&hs_session.threads) != HS_THREADS_RUNNING)
		return false;
	*status = stat_number(name_end, EXIT_CODE);
	return true;
}

/* By its default action.  Returns if that is not to be: the first process of a container lives. */
static void die_of(int number)
{
	static const uint64_t by_default[4]; /* struct sigaction as the kernel has it */
	uint64_t set = (uint64_t)1 << (number - 1);

	hs_syscall(SYS_rt_sigaction, number, (long)by_default, 0, sizeof set, 0, 0);
	hs_syscall(SYS_tgkill, hs_sys_getpid(), hs_sys_gettid(), number, 0, 0, 0);
	hs_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&set, 0, sizeof set, 0, 0);
}

/* As the process would have ended without the profiler's threads. */
static void end(unsigned long status)
{
	int number = (int)(status & SIGNAL_BITS);
	long code = (long)(status >> EXIT_SHIFT);

	/* As after other signals there is no last profile. */
	if (number == 0 && hs_session_finish_left_alone())
		return;
	if (number != 0) {
		die_of(number);
		code = 128 + number;
	}
	hs_syscall(SYS_exit_group, code, 0, 0, 0, 0, 0);
}

static void sleep_and_look(struct hs_event *event, int64_t timeout_ns)
{
	unsigned long status;

	if (is_left_alone(&status)) {
		end(status);
		return;
	}
	if (timeout_ns >= 0 && timeout_ns < look_ns)
		hs_event_wait(event, timeout_ns);
	else if (hs_event_wait(event, look_ns) == -ETIMEDOUT)
		look_ns *= 2;
}

void hs_left_alone_wait(struct hs_event *event, int64_t timeout_ns)
{
	if (timeout_ns >= 0 && timeout_ns <= REST_NS) {
		hs_event_wait(event, timeout_ns);
		return;
	}
	if (hs_event_wait(event, REST_NS) != -ETIMEDOUT) {
		look_ns = FIRST_LOOK_NS;
		return;
	}
	if (timeout_ns >= 0)
		timeout_ns -= REST_NS;
	if (!sleep_told(event, timeout_ns))
		sleep_and_look(event, timeout_ns);
}
