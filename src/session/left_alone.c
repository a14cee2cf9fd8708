/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread may end without libc knowing: killed by a seccomp filter, or by the bare system call.
 * If all of the program's threads have ended so, the process would go on with ours only.
 *
 * When the main thread ends, the kernel clears the word in which glibc keeps its id, and wakes one
 * waiter there (set_tid_address(2)), on which pthread_join() relies.  So a resting producer waits
 * at that word too, with futex_waitv() (Linux 5.16).  A seccomp filter may kill the process for
 * this call, which many filters do not know: a thread that has a filter does not make it.
 *
 * If it cannot wait there, or the main thread is gone and others are not, the producer looks by
 * itself: after 10 s, and then after twice as long each time.  So a process is left alone for not
 * much longer than it has been idle.
 *
 * See left_alone.h.  Threads: the producer, except for hs_left_alone_begin().
 */
#include "session/left_alone.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/digits.h"
#include "base/sys.h"
#include "session/session_state.h"
#include "session/threads.h"

/* The producer rests when there was no event for this long: only then it waits at that word. */
#define REST_NS 100000000

#define FIRST_LOOK_NS 10000000000

/* The bits of a wait status that name a signal; those above are the exit code. */
#define SIGNAL_BITS 0x7fu
#define EXIT_SHIFT 8

/* 0: not known, because another thread has loaded the library. */
static pthread_t main_thread;

/* The kernel lacks the call, or the word is not where we think. */
static bool is_told_no_more;

static int64_t look_ns;

void hs_left_alone_begin(void)
{
	main_thread = hs_sys_gettid() == hs_sys_getpid() ? pthread_self() : 0;
	is_told_no_more = false;
	look_ns = FIRST_LOOK_NS;
}

/* Under producer_batch: otherwise a child forked meanwhile would inherit the descriptor. */
static bool read_text(const char *path, char *text, size_t capacity)
{
	ssize_t bytes;

	hs_lock_acquire(&hs_session.producer_batch);
	bytes = hs_sys_read_kernel_file(path, text, capacity);
	hs_lock_hand_over(&hs_session.producer_batch);
	return bytes > 0;
}

/*
 * Whether this thread has a seccomp filter; true if that cannot be read.  By calls that the
 * profiler makes anyway, for a filter may end the process at a prctl().
 */
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
 * The address of the main thread's id, which the kernel clears; 0: not known.  It is as far from
 * that thread's pthread_t as this thread's from its own, which the kernel tells.
 */
static uintptr_t main_tid_word(void)
{
	uintptr_t own = 0;

	if (hs_syscall(SYS_prctl, PR_GET_TID_ADDRESS, (long)&own, 0, 0, 0, 0) != 0 || own == 0)
		return 0;
	return (uintptr_t)main_thread + (own - (uintptr_t)pthread_self());
}

/* Sleeps until the event or the main thread's end.  False, at once: the latter cannot be told. */
static bool sleep_until_told(struct hs_event *event, int64_t timeout_ns)
{
	uintptr_t word;
	int result;

	if (is_told_no_more || main_thread == 0 || is_filtered())
		return false;
	word = main_tid_word();
	if (word == 0)
		return false;
	result = hs_event_wait_either(event, word, (uint32_t)hs_session.process_id, timeout_ns);
	/* The wake may have been meant for a thread that joins the main thread: pass it on. */
	if (result == 1)
		hs_syscall(SYS_futex, (long)word, FUTEX_WAKE, INT_MAX, 0, 0, 0);
	is_told_no_more = result < 0 && result != -ETIMEDOUT && result != -EINTR;
	return !is_told_no_more;
}

/* A field of /proc/PID/stat, numbered as in proc(5).  at: the third one, the state. */
static uint64_t stat_number(const char *at, int field)
{
	uint64_t value;

	for (int number = 3; number < field && *at != '\0'; at++)
		number += *at == ' ';
	hs_parse_digits(at, NULL, 10, &value);
	return value;
}

/*
 * Whether all threads of the program have ended; then *status is the main thread's wait status.
 * The kernel keeps the main thread's entry, as a zombie, until the process ends.
 */
static bool is_left_alone(uint64_t *status)
{
	enum { THREADS = 20, EXIT_CODE = 52 };
	char line[1024];
	const char *state;

	if (!read_text("/proc/self/stat", line, sizeof line))
		return false;
	state = hs_sys_state_in_stat(line);
	if (state == NULL || *state != 'Z' ||
	    stat_number(state, THREADS) != (hs_threads_died() ? 2 : 3))
		return false;
	/* In other phases a thread of the program is starting or stopping ours. */
	if (atomic_load(&hs_session.threads) != HS_THREADS_RUNNING)
		return false;
	*status = stat_number(state, EXIT_CODE);
	return true;
}

/* Ends the process as it would have ended without the profiler's threads. */
static void end(uint64_t status)
{
	int number = (int)(status & SIGNAL_BITS);
	long code = (long)(status >> EXIT_SHIFT);

	/* After a signal there is no last profile, as always. */
	if (number == 0 && hs_session_finish_left_alone())
		return;
	if (number != 0) {
		hs_term_die(number);
		code = 128 + number;
	}
	hs_syscall(SYS_exit_group, code, 0, 0, 0, 0, 0);
}

static void sleep_and_look(struct hs_event *event, int64_t timeout_ns)
{
	uint64_t status;

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
	if (!sleep_until_told(event, timeout_ns))
		sleep_and_look(event, timeout_ns);
}
