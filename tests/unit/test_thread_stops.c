/* SPDX-License-Identifier: BSD-2-Clause */
/* The profiler's threads are told to end while one of them does something that takes long. */
#include "held_session.h"

#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>

#include "session/ask.h"

/* Longer than the library waits for its threads where it does not wait for a profile. */
#define LONGER_THAN_A_STOP_US 2300000

/* Not long enough for a profile whose writer is held. */
#define SHORT_LIMIT_NS 20000000

static _Atomic int handled;

/* After a stop in vain nothing is sampled any more, but profiles are still written. */
static void timed_profiles_after_a_stop_in_vain(void)
{
	start("HEAPSAMPLE_TIME_INTERVAL=1");
	hold(PRODUCER, SYS_write);
	WAIT_UNTIL(is_held);
	CHECK(!hs_threads_stop(SHORT_LIMIT_NS));
	release();
	WAIT_UNTIL(hs_stats_get(dumps) >= 3);
}

/* In a child, which has no copy of the parent's thread that waits for the stop. */
static void stop_in_child(void)
{
	atomic_store(&hs_sys_fault, NULL);
	if (!hs_session_is_active())
		_exit(77); /* the machine is too busy */
	for (int i = 0; i < 2; i++) {
		sample(1, true);
		CHECK_INT(hs_session.threads, HS_THREADS_RUNNING);
		CHECK(hs_threads_stop(HS_WRITE_LIMIT_NS));
	}
	_exit(CHECK_RESULT());
}

static void fork_while_they_end(void)
{
	pthread_t threads[2];
	int status = 0;

	threads[0] = write_for_long(SYS_write);
	threads[1] = run(call_stopped, NULL);
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

static void *end_too(void *unused)
{
	if (hs_threads_stop(HS_WRITE_LIMIT_NS))
		hs_threads_ensure();
	CHECK(!is_stopping());
	return unused;
}

/* Two calls that need the threads stopped: the second is not made while they are ending. */
static void stop_while_they_end(void)
{
	pthread_t threads[3];

	threads[0] = write_for_long(SYS_write);
	threads[1] = run(call_stopped, NULL);
	WAIT_UNTIL(is_stopping());
	threads[2] = run(end_too, NULL);
	usleep(20000);
	release();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void *end_them(void *unused)
{
	CHECK(hs_threads_stop(HS_WRITE_LIMIT_NS));
	return unused;
}

/* As for a moment when a thread checks whether they were killed. */
static void stop_while_the_handles_are_in_use(void)
{
	pthread_t thread;

	start(NULL);
	sample(1, true);
	atomic_store(&hs_session.is_joining, true);
	thread = run(end_them, NULL);
	usleep(20000);
	atomic_store(&hs_session.is_joining, false);
	pthread_join(thread, NULL);
	CHECK_INT(hs_session.threads, HS_THREADS_NONE);
}

static sigjmp_buf before_stop;
static atomic_bool has_jumped;

static void jump(int signal)
{
	(void)signal;
	siglongjmp(before_stop, 1);
}

static void *stop_until_a_jump(void *unused)
{
	if (sigsetjmp(before_stop, 1) == 0) {
		atomic_store(&is_held, true);
		hs_threads_stop(HS_WRITE_LIMIT_NS);
		CHECK(false);
	}
	atomic_store(&has_jumped, true);
	return unused;
}

/* While a thread waits for another's stop handlers run, and may jump out. */
static void jump_out_of_a_stop_that_waits(void)
{
	const struct sigaction action = {.sa_handler = jump};
	pthread_t thread;

	start(NULL);
	sample(1, true);
	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
	atomic_store(&hs_session.is_joining, true);
	thread = run(stop_until_a_jump, NULL);
	WAIT_UNTIL(is_held);
	usleep(20000);
	CHECK_INT(pthread_kill(thread, SIGUSR1), 0);
	WAIT_UNTIL(has_jumped);
	pthread_join(thread, NULL);
	CHECK_INT(hs_session.threads, HS_THREADS_RUNNING);
	atomic_store(&hs_session.is_joining, false);
	CHECK(hs_threads_stop(HS_WRITE_LIMIT_NS));
}

static bool have_ended(void)
{
	hs_ring_wake_reader(&hs_session.ring);
	hs_event_signal(&hs_session.producer_event);
	return hs_sys_thread_is_gone(atomic_load(&hs_session.tids[WORKER])) &&
	       hs_sys_thread_is_gone(atomic_load(&hs_session.tids[PRODUCER]));
}

/* The thread that told them to end has stopped waiting before they had ended. */
static void stop_after_one_that_was_left(void)
{
	start(NULL);
	sample(1, true);
	WAIT_UNTIL(atomic_load(&hs_session.tids[WORKER]) != 0 &&
		   atomic_load(&hs_session.tids[PRODUCER]) != 0);
	atomic_store(&hs_session.threads, HS_THREADS_STOPPING);
	atomic_store(&hs_session.stop, HS_STOP_REQUEST_MADE);
	WAIT_UNTIL(have_ended());
	CHECK(hs_threads_stop(HS_WRITE_LIMIT_NS));
	CHECK_INT(hs_session.threads, HS_THREADS_NONE);
}

/* A profile that was requested is written, even if the threads are not started again. */
static void stop_when_a_profile_is_asked_for(void)
{
	pthread_t threads[2];

	start(NULL);
	hold(PRODUCER, SYS_futex);
	sample(1, true);
	WAIT_UNTIL(is_held);
	threads[0] = run(ask_for_profile, NULL);
	WAIT_UNTIL(hs_ask_is_waiting());
	threads[1] = run(end_them, NULL);
	WAIT_UNTIL(is_stopping());
	release();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	CHECK_INT(hs_stats_get(dumps), 1);
}

static void get_capabilities(struct __user_cap_data_struct *sets)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	CHECK_INT(syscall(SYS_capget, &header, sets), 0);
}

static void *change_rights(void *unused)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	get_capabilities(sets);
	sets[0].effective = sets[1].effective = 0;
	CHECK_INT(syscall(SYS_capset, &header, sets), 0);
	CHECK(hs_session_rights_begin().are_threads_stopped);
	CHECK_INT(hs_session.threads, HS_THREADS_NONE);
	return unused;
}

/* A change of rights must wait: otherwise libc would end the process. */
static void change_of_rights_waits_for_a_profile(void)
{
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	pthread_t threads[2];

	get_capabilities(sets);
	if (sets[0].effective == 0) {
		printf("not run without capabilities: change_of_rights_waits_for_a_profile\n");
		return;
	}
	threads[0] = write_for_long(SYS_write);
	threads[1] = run(change_rights, NULL);
	WAIT_UNTIL(is_stopping());
	usleep(LONGER_THAN_A_STOP_US);
	release();
	pthread_join(threads[1], NULL);
	pthread_join(threads[0], NULL);
}

/* The ring is empty after a stop: until the threads are started again nobody makes room in it. */
static void stop_leaves_an_empty_ring(void)
{
	struct hs_ring *ring = &hs_session.ring;

	start(NULL);
	for (int round = 0; round < 20; round++) {
		sample(sizeof blocks, true);
		CHECK(hs_threads_stop(HS_WRITE_LIMIT_NS));
		CHECK_INT(hs_ring_unread_before(ring, hs_ring_head_ticket(ring)), 0);
	}
}

static void allocate(int number)
{
	(void)number;
	sample(1, true);
	hs_threads_ensure();
	atomic_fetch_add(&handled, 1);
}

static void *stop_and_restart(void *unused)
{
	struct hs_undisturbed before;
	sigset_t mask;

	CHECK(hs_session_stop_threads(&before));
	CHECK_INT(handled, 0);
	/* Signals that instructions raise stay unblocked: a seccomp filter may trap the call. */
	CHECK_INT(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
	CHECK(sigismember(&mask, SIGUSR1) == 1 && sigismember(&mask, SIGSYS) == 0);
	hs_session_restart_threads(&before);
	CHECK_INT(handled, 1);
	CHECK_INT(hs_session.threads, HS_THREADS_RUNNING);
	return unused;
}

/* The handler allocates, which must not start the threads before the call they were stopped for. */
static void signal_during_a_stop(void)
{
	struct sigaction action = {.sa_handler = allocate};
	pthread_t threads[2];

	sigaction(SIGUSR1, &action, NULL);
	threads[0] = write_for_long(SYS_write);
	threads[1] = run(stop_and_restart, NULL);
	WAIT_UNTIL(is_stopping());
	pthread_kill(threads[1], SIGUSR1);
	release();
	pthread_join(threads[1], NULL);
	pthread_join(threads[0], NULL);
}

static void *call_alone(void *unused)
{
	struct hs_undisturbed before;

	CHECK(hs_session_stop_threads(&before));
	CHECK_INT(hs_session.threads, HS_THREADS_NONE);
	hs_session_restart_threads(&before);
	return unused;
}

/* A call that needs the threads stopped must wait: otherwise it would fail. */
static void stop_waits_for_a_profile(void)
{
	pthread_t threads[2];

	threads[0] = write_for_long(SYS_write);
	threads[1] = run(call_alone, NULL);
	WAIT_UNTIL(is_stopping());
	usleep(LONGER_THAN_A_STOP_US);
	release();
	pthread_join(threads[1], NULL);
	pthread_join(threads[0], NULL);
}

static void *call_alone_and_look(void *unused)
{
	struct hs_undisturbed before;

	for (int round = 0; round < 10; round++) {
		CHECK(hs_session_stop_threads(&before));
		hs_session_restart_threads(&before);
		CHECK(hs_record_has_reader());
		/* As after a call for which they were stopped because their rights differ. */
		CHECK(hs_threads_stop(HS_WRITE_LIMIT_NS));
		hs_session_rights_end((struct hs_rights){.are_threads_stopped = true});
		CHECK(hs_record_has_reader());
	}
	return unused;
}

/* Samples that may wait for room find, after such a call, a worker that makes it. */
static void restart_waits_for_the_worker(void)
{
	start(NULL);
	hs_recorder.block_ns = 10000000000u;
	sample(1, true);
	pthread_join(run(call_alone_and_look, NULL), NULL);
}

static void *end_last_thread(void *unused)
{
	hs_session_thread_ends();
	return unused;
}

/* After the program's last thread libc calls exit(), but only if the profiler's have ended. */
static void last_thread_waits_for_a_profile(void)
{
	pthread_t threads[2];

	threads[0] = write_for_long(SYS_write);
	threads[1] = run(end_last_thread, NULL);
	WAIT_UNTIL(is_stopping());
	usleep(LONGER_THAN_A_STOP_US);
	release();
	pthread_join(threads[1], NULL);
	CHECK_INT(hs_session.threads, HS_THREADS_NONE);
	hs_session_finish();
	CHECK_INT(hs_stats_get(dumps), 2);
	pthread_join(threads[0], NULL);
}

static int create_late(pthread_t *thread, const pthread_attr_t *attributes,
		       void *(*function)(void *), void *argument)
{
	atomic_store(&is_held, true);
	WAIT_UNTIL(is_released);
	return pthread_create(thread, attributes, function, argument);
}

static void *start_them(void *unused)
{
	hs_threads_ensure();
	return unused;
}

/* Releases a thread when the main thread waits for it. */
static long release_when_waiting(long number)
{
	if (number == SYS_futex && hs_sys_gettid() == hs_sys_getpid())
		release();
	return 0;
}

/* The other thread, which has been counted as ended, takes a sample in a destructor. */
static void last_thread_waits_for_their_start(void)
{
	pthread_t thread;

	start_with(&(const struct hs_session_next){create_late, true, {NULL}}, NULL);
	thread = run(start_them, NULL);
	WAIT_UNTIL(is_held);
	atomic_store(&hs_sys_fault, release_when_waiting);
	hs_session_thread_ends();
	CHECK(is_released);
	CHECK_INT(hs_session.threads, HS_THREADS_NONE);
	release();
	pthread_join(thread, NULL);
	CHECK_INT(hs_session.threads, HS_THREADS_NONE);
}

static bool has_ended;

/* Signals are blocked when it has been seen that there is a thread, and before the start. */
static long end_before_the_start(long number)
{
	if (number == SYS_rt_sigprocmask && !has_ended) {
		has_ended = true;
		hs_session_thread_ends();
	}
	return 0;
}

static void last_thread_ends_just_before_they_start(void)
{
	start(NULL);
	atomic_store(&hs_sys_fault, end_before_the_start);
	CHECK(!hs_threads_ensure());
	CHECK(has_ended);
	CHECK_INT(hs_session.threads, HS_THREADS_NONE);
}

static const struct held_case cases[] = {
	{"timed_profiles_after_a_stop_in_vain", timed_profiles_after_a_stop_in_vain},
	{"fork_while_they_end", fork_while_they_end},
	{"stop_while_they_end", stop_while_they_end},
	{"stop_while_the_handles_are_in_use", stop_while_the_handles_are_in_use},
	{"jump_out_of_a_stop_that_waits", jump_out_of_a_stop_that_waits},
	{"stop_after_one_that_was_left", stop_after_one_that_was_left},
	{"stop_when_a_profile_is_asked_for", stop_when_a_profile_is_asked_for},
	{"change_of_rights_waits_for_a_profile", change_of_rights_waits_for_a_profile},
	{"stop_leaves_an_empty_ring", stop_leaves_an_empty_ring},
	{"signal_during_a_stop", signal_during_a_stop},
	{"stop_waits_for_a_profile", stop_waits_for_a_profile},
	{"restart_waits_for_the_worker", restart_waits_for_the_worker},
	{"last_thread_waits_for_a_profile", last_thread_waits_for_a_profile},
	{"last_thread_waits_for_their_start", last_thread_waits_for_their_start},
	{"last_thread_ends_just_before_they_start", last_thread_ends_just_before_they_start},
};

int main(int argc, char **argv)
{
#ifdef __SANITIZE_THREAD__
	SKIP("ThreadSanitizer allows no threads in a child that a thread among others has forked");
#endif
	return run_cases(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : NULL);
}
