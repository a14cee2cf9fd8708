/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole session, of which one thread is held at a system call: what the others do meanwhile.
 * Each case is a process of its own.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/regs.h"
#include "base/options.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "sample/live_set.h"
#include "sample/record.h"
#include "sample/recorder.h"
#include "sample/sampler.h"
#include "session/ask.h"
#include "session/session_state.h"
#include "unwind/unwound.h"

enum { WORKER, PRODUCER };

/* More than the library waits for its threads to end before a call that wants none. */
#define LONGER_THAN_A_STOP_US 2300000

/* More than a number is waited for. */
#define LONGER_THAN_A_GAP_US 110000

/* For what is to come, on a machine that has much to do. */
#define WAIT_TURNS 60000

#define WAIT_UNTIL(condition)                                                                      \
	do {                                                                                       \
		for (int turn = 0; turn < WAIT_TURNS && !(condition); turn++)                      \
			usleep(1000);                                                              \
		CHECK(condition);                                                                  \
	} while (0)

/* Weak to those who call it, so that an archive's is not linked for them. */
const char *heapsample_version(void);

static char scratch[64];
static unsigned char blocks[1000];

static _Atomic long held_call;
static atomic_int held_thread;
static atomic_bool is_held, is_released;

/* From its next such call on, the thread waits for release(). */
static long hold_there(long number)
{
	if (number == atomic_load(&held_call) &&
	    hs_sys_gettid() == atomic_load(&hs_session.tids[atomic_load(&held_thread)])) {
		atomic_store(&is_held, true);
		while (!atomic_load(&is_released))
			usleep(1000);
	}
	return 0;
}

static void hold(int thread, long call)
{
	atomic_store(&held_thread, thread);
	atomic_store(&held_call, call);
	atomic_store(&hs_sys_fault, hold_there);
}

static void release(void)
{
	atomic_store(&is_released, true);
}

static void start_with(const struct hs_session_next *next, const char *setting)
{
	char output[128], *environment[] = {output, (char *)(uintptr_t) "HEAPSAMPLE_INTERVAL=1",
					    (char *)(uintptr_t) "HEAPSAMPLE_BLOCK=0",
					    (char *)(uintptr_t)setting, NULL};

	snprintf(output, sizeof output, "HEAPSAMPLE_OUTPUT=%s/%%p.%%n.%%r", scratch);
	CHECK(heapsample_version() != NULL);
	hs_session_start(environment, true, next);
	CHECK(hs_session_is_active());
}

static void start(const char *setting)
{
	start_with(&(const struct hs_session_next){pthread_create, true}, setting);
}

/* As the interposer does.  started: the profiler's threads are, if they do not run. */
static void sample(int count, bool started)
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

static bool is_stopping(void)
{
	return atomic_load(&hs_session.threads) == HS_THREADS_STOPPING;
}

static pthread_t run(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, function, argument), 0);
	return thread;
}

/* The program's threads. */

static void *ask_for_profile(void *unused)
{
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	return unused;
}

static void *call_alone(void *unused)
{
	if (hs_session_alone_begins())
		hs_session_alone_ends();
	return unused;
}

static void *release_in_exit(void *unused)
{
	WAIT_UNTIL(atomic_load(&hs_session.finishing) != 0);
	usleep(20000);
	release();
	return unused;
}

static void *execute(void *unused)
{
	hs_session_exec_begins();
	return unused;
}

static void *end_last_thread(void *unused)
{
	hs_session_thread_ends();
	return unused;
}

/* A profile is being written, and will be until release(). */
static pthread_t write_for_long(void)
{
	pthread_t thread;

	start(NULL);
	hold(PRODUCER, SYS_write);
	sample(1, true);
	thread = run(ask_for_profile, NULL);
	WAIT_UNTIL(is_held);
	return thread;
}

/* Nothing is sampled any more, and the profiles go on. */
static void timed_profiles_after_a_stop_in_vain(void)
{
	start("HEAPSAMPLE_TIME_INTERVAL=1");
	hold(PRODUCER, SYS_write);
	WAIT_UNTIL(is_held);
	CHECK(!hs_session_alone_begins());
	release();
	WAIT_UNTIL(hs_stats_get(dumps) >= 3);
	CHECK(hs_session_alone_begins());
}

static void *drain(void *unused)
{
	const struct hs_ring *ring = &hs_session.ring;
	uint32_t before = hs_ring_head_ticket(ring);

	CHECK_INT(hs_session_dump(NULL, 0), 0);
	CHECK_INT(hs_ring_unread_before(ring, before), 0);
	return unused;
}

/* What was sampled before a profile was asked for is in it. */
static void stop_while_a_profile_waits_for_samples(void)
{
	pthread_t threads[2];

	start(NULL);
	hold(WORKER, SYS_openat);
	sample(500, true);
	WAIT_UNTIL(is_held);
	threads[0] = run(drain, NULL);
	WAIT_UNTIL(hs_ask_is_waiting());
	usleep(100000); /* that it has begun */
	threads[1] = run(call_alone, NULL);
	WAIT_UNTIL(is_stopping());
	release();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	CHECK_INT(hs_stats_get(dumps), 1);
}

static void exit_while_they_end(void)
{
	pthread_t threads[3] = {write_for_long(), run(call_alone, NULL)};

	WAIT_UNTIL(is_stopping());
	threads[2] = run(release_in_exit, NULL);
	/* On the thread that has started them. */
	hs_session_finish();
	CHECK_INT(hs_stats_get(dumps), 2);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void exec_while_they_end(void)
{
	pthread_t threads[3] = {write_for_long(), run(call_alone, NULL)};

	WAIT_UNTIL(is_stopping());
	threads[2] = run(execute, NULL);
	usleep(20000);
	release();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	CHECK_INT(hs_stats_get(dumps), 2);
}

/* What is sampled in a handler, or on a stack that is not known, starts none. */
static void exec_before_they_start(void)
{
	start(NULL);
	sample(1, false);
	CHECK_INT(hs_session.threads, HS_THREADS_NONE);
	hs_session_exec_begins();
	CHECK_INT(hs_stats_get(dumps), 1);
	/* Nothing new. */
	hs_session_exec_begins();
	CHECK_INT(hs_stats_get(dumps), 1);
}

static int create_late(pthread_t *thread, const pthread_attr_t *attributes,
		       void *(*function)(void *), void *argument)
{
	atomic_store(&is_held, true);
	while (!atomic_load(&is_released))
		usleep(1000);
	return pthread_create(thread, attributes, function, argument);
}

static void *sample_one(void *unused)
{
	hs_session_thread_begins(0, 0);
	hs_threads_ensure();
	return unused;
}

static void exec_while_they_start(void)
{
	pthread_t threads[2];

	start_with(&(const struct hs_session_next){create_late, true}, NULL);
	sample(1, false);
	threads[0] = run(sample_one, NULL);
	WAIT_UNTIL(is_held);
	threads[1] = run(execute, NULL);
	usleep(20000);
	release();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	CHECK_INT(hs_stats_get(dumps), 1);
}

static void execute_here(void)
{
	hs_session_exec_begins();
}

/* As a handler over it may; the producer can do nothing before fork() gives back what it holds. */
static void exec_in_the_middle_of_fork(void)
{
	pid_t child;

	/* Before the session's own preparations are entered, and so called after them. */
	CHECK_INT(pthread_atfork(execute_here, NULL, NULL), 0);
	start(NULL);
	sample(1, true);
	child = fork();
	if (child == 0)
		_exit(0);
	CHECK_INT(waitpid(child, NULL, 0), child);
	CHECK_INT(hs_stats_get(dumps), 1);
}

/* In the child: the parent's thread that waits for the profiler's is not there. */
static void stop_in_child(void)
{
	atomic_store(&hs_sys_fault, NULL);
	if (!hs_session_is_active())
		_exit(77); /* the machine has so much to do */
	for (int i = 0; i < 2; i++) {
		sample(1, true);
		CHECK_INT(hs_session.threads, HS_THREADS_RUNNING);
		CHECK(hs_session_alone_begins());
	}
	_exit(CHECK_RESULT());
}

static void fork_while_they_end(void)
{
	pthread_t threads[2] = {write_for_long(), run(call_alone, NULL)};
	int status = 0;

	WAIT_UNTIL(is_stopping() && atomic_load(&hs_session.is_joining));
	do {
		pid_t child = fork();

		if (child == 0)
			stop_in_child();
		CHECK_INT(waitpid(child, &status, 0), child);
	} while (WIFEXITED(status) && WEXITSTATUS(status) == 77 && is_stopping());
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	release();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

/* When it returns, libc ends the process by exit(), or would wait for who is left. */
static void last_thread_waits_for_a_profile(void)
{
	pthread_t threads[2] = {write_for_long(), run(end_last_thread, NULL)};

	WAIT_UNTIL(is_stopping());
	usleep(LONGER_THAN_A_STOP_US);
	release();
	pthread_join(threads[1], NULL);
	CHECK_INT(hs_session.threads, HS_THREADS_NONE);
	hs_session_finish();
	CHECK_INT(hs_stats_get(dumps), 2);
	pthread_join(threads[0], NULL);
}

/* As the worker does. */
static void put_in_queue(uint64_t number)
{
	const struct hs_unwound nothing = {
		.kind = HS_RECORD_TOMBSTONE,
		.sequence = number,
		.slot = HS_SLOT_NONE,
	};
	struct hs_ring *queue = &hs_session.queue;
	uint64_t open = 0;
	void *place = hs_ring_reserve(queue, sizeof nothing, HS_RING_KEPT, 0, 0, &open);

	CHECK(place != NULL);
	memcpy(place, &nothing, sizeof nothing);
	CHECK(hs_ring_commit(queue, hs_ring_ticket(open)));
}

/* The producer, which is late each time. */
static void produce_all(void)
{
	do
		usleep(LONGER_THAN_A_GAP_US);
	while (hs_threads_produce());
}

/* A number that takes long is missing only if it is not on its way. */
static void number_is_far_behind_in_the_queue(void)
{
	const uint64_t count = 500;

	start(NULL);
	atomic_store(&hs_sequence.next, 2 * count);
	for (uint64_t number = 2; number <= count; number++)
		put_in_queue(number);
	put_in_queue(1);
	produce_all();
	CHECK_INT(hs_stats_get(sequence_gaps), 0);
	CHECK_INT(hs_producer_next_number(hs_session.producer), count + 1);
	/* One that does not come. */
	put_in_queue(count + 2);
	produce_all();
	produce_all();
	CHECK_INT(hs_stats_get(sequence_gaps), 1);
	CHECK_INT(hs_producer_next_number(hs_session.producer), count + 3);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"timed_profiles_after_a_stop_in_vain", timed_profiles_after_a_stop_in_vain},
	{"stop_while_a_profile_waits_for_samples", stop_while_a_profile_waits_for_samples},
	{"exit_while_they_end", exit_while_they_end},
	{"exec_while_they_end", exec_while_they_end},
	{"exec_before_they_start", exec_before_they_start},
	{"exec_while_they_start", exec_while_they_start},
	{"exec_in_the_middle_of_fork", exec_in_the_middle_of_fork},
	{"fork_while_they_end", fork_while_they_end},
	{"last_thread_waits_for_a_profile", last_thread_waits_for_a_profile},
	{"number_is_far_behind_in_the_queue", number_is_far_behind_in_the_queue},
};

static void run_case(size_t which)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		check_failures = 0;
		cases[which].run();
		_exit(CHECK_RESULT());
	}
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
	printf("%s %s\n", status == 0 ? "ok" : "NOT OK", cases[which].name);
}

int main(int argc, char **argv)
{
	const char *base = getenv("TMPDIR");
	char command[128];

#ifdef __SANITIZE_THREAD__
	SKIP("session/thread_trial.c makes a thread that ThreadSanitizer takes for its creator");
#endif
	snprintf(scratch, sizeof scratch, "%s/hs_threads.XXXXXX",
		 base != NULL && strlen(base) < 32 ? base : "/tmp");
	if (mkdtemp(scratch) == NULL)
		SKIP("no scratch directory");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		if (argc < 2 || strcmp(argv[1], cases[i].name) == 0)
			run_case(i);
	}
	snprintf(command, sizeof command, "rm -rf '%s'", scratch);
	CHECK_INT(system(command), 0);
	return CHECK_RESULT();
}
