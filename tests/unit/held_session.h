/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of a whole session that hold one of its threads at a system call, to see what the
 * others do meanwhile.  Each case is a process of its own.
 */
#ifndef HS_TESTS_HELD_SESSION_H
#define HS_TESTS_HELD_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/regs.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "sample/recorder.h"
#include "sample/sampler.h"
#include "session/session_state.h"
#include "session/threads.h"

enum { WORKER, PRODUCER };

/* How many times, a millisecond apart, to look for something: the machine may be busy. */
#define WAIT_TURNS 60000

#define WAIT_UNTIL(condition)                                                                      \
	do {                                                                                       \
		for (int turn = 0; turn < WAIT_TURNS && !(condition); turn++)                      \
			usleep(1000);                                                              \
		CHECK(condition);                                                                  \
	} while (0)

static char scratch[64];
static unsigned char blocks[1000];

static _Atomic long held_call;
static atomic_int held_thread;
static atomic_bool is_held, is_released;

/* At its next such call the thread waits for release(). */
static inline long hold_there(long number)
{
	if (number == atomic_load(&held_call) &&
	    hs_sys_gettid() == atomic_load(&hs_session.tids[atomic_load(&held_thread)])) {
		atomic_store(&is_held, true);
		while (!atomic_load(&is_released))
			usleep(1000);
	}
	return 0;
}

static inline void hold(int thread, long call)
{
	atomic_store(&held_thread, thread);
	atomic_store(&held_call, call);
	atomic_store(&hs_sys_fault, hold_there);
}

static inline void release(void)
{
	atomic_store(&is_released, true);
}

static inline void start_with(const struct hs_session_next *next, const char *setting)
{
	/* Of two settings of a variable the first counts. */
	char output[128], *environment[] = {setting != NULL ? (char *)(uintptr_t)setting : output,
					    output, (char *)(uintptr_t) "HEAPSAMPLE_INTERVAL=1",
					    (char *)(uintptr_t) "HEAPSAMPLE_BLOCK=0",
					    (char *)(uintptr_t) "HEAPSAMPLE_KEEP=1", NULL};

	snprintf(output, sizeof output, "HEAPSAMPLE_OUTPUT=%s/%%p.%%n.%%r", scratch);
	hs_session_start(environment, true, next);
	CHECK(hs_session_is_active());
}

static inline void start(const char *setting)
{
	start_with(&(const struct hs_session_next){pthread_create, true, {NULL}}, setting);
}

/* Records samples as the interposer does.  started: starts the profiler's threads if need be. */
static inline void sample(int count, bool started)
{
	struct hs_regs here;

	hs_arch_capture(&here);
	for (int i = 0; i < count; i++) {
		CHECK(!hs_sampler_passes(8));
		if (started)
			hs_session_record(&blocks[i], 8, &here);
		else
			CHECK(hs_record_allocation(&blocks[i], 8, &here));
	}
}

static inline bool is_stopping(void)
{
	return atomic_load(&hs_session.threads) == HS_THREADS_STOPPING;
}

/* The stack that each thread is said to have; it has at least as much. */
#define STACK_BYTES (1 << 20)

struct run {
	void *(*function)(void *);
	void *argument;
};

static inline void *begin_run(void *argument)
{
	struct run run = *(struct run *)argument;

	free(argument);
	hs_session_thread_begins(STACK_BYTES, (uintptr_t)__builtin_dwarf_cfa(),
				 (uintptr_t)__builtin_return_address(0));
	return run.function(run.argument);
}

static inline pthread_t run(void *(*function)(void *), void *argument)
{
	struct run *run = malloc(sizeof *run);
	pthread_t thread;

	CHECK(run != NULL);
	*run = (struct run){function, argument};
	CHECK_INT(pthread_create(&thread, NULL, begin_run, run), 0);
	return thread;
}

static inline void *ask_for_profile(void *unused)
{
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	return unused;
}

/* A call for which the profiler's threads stop; it takes a while, and may wait for long. */
static inline void *call_stopped(void *unused)
{
	if (hs_threads_stop(HS_WRITE_LIMIT_NS)) {
		usleep(20000);
		hs_threads_ensure();
	}
	return unused;
}

/* Has a profile written, which does not get past this call until release(). */
static inline pthread_t write_for_long(long call)
{
	pthread_t thread;

	start(NULL);
	hold(PRODUCER, call);
	sample(1, true);
	thread = run(ask_for_profile, NULL);
	WAIT_UNTIL(is_held);
	return thread;
}

struct held_case {
	const char *name;
	void (*run)(void);
};

/* A case sets it if the machine was too busy for what it tests: the profiler did not get to run. */
static bool is_late;

/* Then it runs again. */
#define LATE 2
#define TRIES 50

static inline void run_case(const struct held_case *one)
{
	int status = LATE << 8;

	for (int i = 0; i < TRIES && status == LATE << 8; i++) {
		pid_t child = fork();

		if (child == 0) {
			check_failures = 0;
			one->run();
			fflush(stdout);
			_exit(is_late ? LATE : CHECK_RESULT());
		}
		waitpid(child, &status, 0);
	}
	CHECK_INT(status, 0);
	printf("%s %s\n", status == 0 ? "ok" : "NOT OK", one->name);
	fflush(stdout);
}

/* Runs all cases, or the one with this name.  Returns what main() returns. */
static inline int run_cases(const struct held_case *cases, size_t count, const char *name)
{
	const char *base = getenv("TMPDIR");
	char command[128];

	snprintf(scratch, sizeof scratch, "%s/hs_threads.XXXXXX",
		 base != NULL && strlen(base) < 32 ? base : "/tmp");
	if (mkdtemp(scratch) == NULL)
		SKIP("no scratch directory");
	for (size_t i = 0; i < count; i++) {
		if (name == NULL || strcmp(name, cases[i].name) == 0)
			run_case(&cases[i]);
	}
	snprintf(command, sizeof command, "rm -rf '%s'", scratch);
	CHECK_INT(system(command), 0);
	return CHECK_RESULT();
}

#endif
