/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fork while a file is being opened, closed, named or removed.  That may take long on a busy
 * disk, so the fork does not wait for it, or not for long.  The child must have no descriptor of
 * the file.
 */
#include "held_session.h"

#include <errno.h>
#include <fcntl.h>
#include <heapsample/heapsample.h>
#include <sched.h>
#include <signal.h>

#include "base/libraries.h"
#include "base/log.h"
#include "sample/heap.h"
#include "session/cpu_guard.h"

#define DESCRIPTORS 1024

static _Atomic int passing; /* how many of the calls are not held */

static long hold_later(long number)
{
	if (number == atomic_load(&held_call) && atomic_load(&passing) > 0 &&
	    hs_sys_gettid() == atomic_load(&hs_session.tids[PRODUCER])) {
		atomic_fetch_sub(&passing, 1);
		return 0;
	}
	return hold_there(number);
}

static _Atomic long call_before;
static atomic_bool has_been_before;

/* The same, not counting calls before the first one of another kind. */
static long hold_after(long number)
{
	if (number == atomic_load(&call_before) &&
	    hs_sys_gettid() == atomic_load(&hs_session.tids[PRODUCER]))
		atomic_store(&has_been_before, true);
	return atomic_load(&has_been_before) ? hold_later(number) : 0;
}

static atomic_bool is_forked;

static bool is_profile_there(void)
{
	char path[128];

	snprintf(path, sizeof path, "%s/.%d.0001.call.tmp", scratch, (int)hs_session.process_id);
	return access(path, F_OK) == 0;
}

/* Holds the producer when it looks at the file that it has opened, until a fork waits for it. */
static long hold_until_awaited(long number)
{
	if (number != SYS_newfstatat || atomic_load(&is_held) || !is_profile_there() ||
	    hs_sys_gettid() != atomic_load(&hs_session.tids[PRODUCER]))
		return 0;
	atomic_store(&is_held, true);
	while (!hs_lock_is_wanted(&hs_session.opening) && !atomic_load(&is_forked))
		sched_yield();
	return 0;
}

static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < DESCRIPTORS; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static enum { BY_CALL, BY_EXEC, BY_TIME } asked = BY_CALL;

static void *ask(void *unused)
{
	if (asked == BY_CALL)
		(void)hs_session_dump(NULL, 0);
	else if (asked == BY_EXEC)
		hs_session_exec_begins(NULL);
	return unused;
}

/* A fork waits so long for a thread of the profiler, at least (QUIESCE_LIMIT_NS). */
#define FORK_WAITS_NS 50000000u

/*
 * Has the producer write, and forks when the hook holds it.  It is late if the child is not
 * profiled because a thread of the profiler did not get to run while the fork waited for it.
 */
static void fork_when_held(hs_sys_fault_fn hook)
{
	int before = count_descriptors(), status = 0;
	uint64_t forked_ns;
	pthread_t thread;
	pid_t child;

	atomic_store(&hs_sys_fault, hook);
	sample(1, true);
	thread = run(ask, NULL);
	WAIT_UNTIL(is_held);
	forked_ns = hs_sys_monotonic_ns();
	child = fork();
	if (child == 0) {
		check_failures = 0;
		if (!hs_session_is_active()) {
			CHECK(hs_sys_monotonic_ns() - forked_ns >= FORK_WAITS_NS);
			_exit(check_failures > 0 ? CHECK_RESULT() : LATE);
		}
		CHECK_INT(count_descriptors(), before);
		/* And it writes a profile of its own. */
		atomic_store(&hs_sys_fault, NULL);
		sample(1, true);
		/* Whatever its parent was asked for meanwhile. */
		CHECK_INT(hs_session_dump(NULL, 0), hs_recorder.stream ? -ENOTSUP : 0);
		hs_session_finish();
		CHECK(atomic_load(&hs_session.finished) != 0);
		CHECK_INT(hs_stats_get(dump_failures), 0);
		_exit(CHECK_RESULT());
	}
	atomic_store(&is_forked, true);
	waitpid(child, &status, 0);
	is_late = WIFEXITED(status) && WEXITSTATUS(status) == LATE;
	CHECK(status == 0 || is_late);
	release();
	pthread_join(thread, NULL);
	hs_session_finish();
}

/* Forks when the producer is held at this call, after so many (first) that are not held. */
static void fork_at(long call, int first, const char *setting)
{
	start(setting);
	atomic_store(&passing, first);
	hold(PRODUCER, call);
	fork_when_held(hold_later);
}

/* The same, not counting calls before the first one of another kind. */
static void fork_after(long before, long call, int first, const char *setting)
{
	start(setting);
	atomic_store(&passing, first);
	atomic_store(&call_before, before);
	hold(PRODUCER, call);
	fork_when_held(hold_after);
}

static atomic_int looks;

static long count_looks(long number)
{
	atomic_fetch_add(&looks, number == SYS_newfstatat);
	return 0;
}

/* With no file open the child must look at no descriptor: a seccomp filter may forbid it. */
static void nothing_is_open(const char *setting)
{
	int status = 0;
	pid_t child;

	start(setting);
	atomic_store(&hs_sys_fault, count_looks);
	child = fork();
	if (child == 0)
		_exit(atomic_load(&looks));
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
	hs_session_finish();
}

static void no_profile_is_open(void)
{
	nothing_is_open(NULL);
}

static void no_stream_is_open(void)
{
	char setting[128];

	snprintf(setting, sizeof setting, "HEAPSAMPLE_STREAM=%s/%%p.stream", scratch);
	nothing_is_open(setting);
}

/* Another process with this id has left its temporary file there, long ago. */
static void profile_is_opened(void)
{
	static const struct timespec long_ago[2];
	char path[128];
	int fd;

	snprintf(path, sizeof path, "%s/.%d.0001.call.tmp", scratch, (int)getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(futimens(fd, long_ago), 0);
	close(fd);
	fork_at(SYS_unlinkat, 0, NULL);
}

static void profile_has_been_opened(void)
{
	start(NULL);
	fork_when_held(hold_until_awaited);
}

/* That may take long: the pages go to a server then. */
static void profile_is_closed(void)
{
	fork_after(SYS_write, SYS_close, 0, NULL);
}

static void directory_is_opened(void)
{
	fork_after(SYS_write, SYS_openat, 0, NULL);
}

static void profile_gets_its_name(void)
{
	fork_at(SYS_renameat2, 0, NULL);
}

static void kept_profile_is_looked_at(void)
{
	asked = BY_TIME;
	fork_after(SYS_renameat2, SYS_newfstatat, 1, "HEAPSAMPLE_TIME_INTERVAL=1");
}

/* Which may wait for a pipe that nobody reads. */
static void profile_is_logged(void)
{
	fork_after(SYS_renameat2, SYS_ppoll, 0, "HEAPSAMPLE_LOG=info");
}

static void profile_is_logged_in_a_file(void)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/log", scratch);
	start(NULL);
	hs_log_init(HS_LOG_INFO, path);
	atomic_store(&call_before, SYS_renameat2);
	hold(PRODUCER, SYS_ppoll);
	fork_when_held(hold_after);
}

/* The same, but no file can be removed. */
static long hold_after_refusal(long number)
{
	long result = hold_after(number);

	return number == SYS_unlinkat ? -EIO : result;
}

/* Not counting files that are read with the lock held, as small ones of /proc are. */
static long hold_at_file(long number)
{
	return atomic_load(&hs_session.is_at_file) ? hold_after(number) : 0;
}

static void symbols_are_read(void)
{
	start(NULL);
	atomic_store(&call_before, SYS_pread64);
	hold(PRODUCER, SYS_pread64);
	fork_when_held(hold_at_file);
}

static void file_of_symbols_is_closed(void)
{
	start(NULL);
	atomic_store(&call_before, SYS_pread64);
	hold(PRODUCER, SYS_close);
	fork_when_held(hold_at_file);
}

/* Nor has the child a descriptor if the fork could not wait for the profiler. */
static void symbols_are_read_beside_long_work(void)
{
	int before, status = 0;
	pthread_t thread;
	pid_t child;

	start(NULL);
	before = count_descriptors();
	atomic_store(&call_before, SYS_pread64);
	hold(PRODUCER, SYS_pread64);
	atomic_store(&hs_sys_fault, hold_at_file);
	sample(1, true);
	thread = run(ask, NULL);
	WAIT_UNTIL(is_held);
	hs_lock_acquire(&hs_session.worker_batch);
	child = fork();
	if (child == 0)
		_exit(hs_session_is_active() || count_descriptors() != before);
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
	hs_lock_release(&hs_session.worker_batch);
	release();
	pthread_join(thread, NULL);
	hs_session_finish();
}

/* As profile_is_logged(). */
static void kept_profile_cannot_be_removed(void)
{
	asked = BY_TIME;
	start("HEAPSAMPLE_TIME_INTERVAL=1");
	atomic_store(&call_before, SYS_unlinkat);
	hold(PRODUCER, SYS_ppoll);
	fork_when_held(hold_after_refusal);
}

static void statistics_get_their_name(void)
{
	char setting[128];

	snprintf(setting, sizeof setting, "HEAPSAMPLE_STATS=%s/%%p.stats", scratch);
	fork_at(SYS_renameat2, 1, setting);
}

static void stream_is_opened(void)
{
	char setting[128];

	snprintf(setting, sizeof setting, "HEAPSAMPLE_STREAM=%s/%%p.stream", scratch);
	fork_at(SYS_fcntl, 0, setting);
}

/* As profile_is_logged(). */
static void missing_events_are_logged(void)
{
	char setting[128];

	asked = BY_EXEC;
	hs_heap_add(HS_HEAP_MALLOC, lost_ring, 1);
	snprintf(setting, sizeof setting, "HEAPSAMPLE_STREAM=%s/%%p.stream", scratch);
	fork_at(SYS_ppoll, 0, setting);
}

/* Forks, and checks that the child's only profile is its last one.  Waits for it. */
static void fork_for_one_profile(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		check_failures = 0;
		atomic_store(&hs_sys_fault, NULL);
		hs_stats.dumps = 0;
		CHECK(hs_session_is_single_threaded());
		sample(1, true);
		hs_session_finish();
		CHECK(atomic_load(&hs_session.finished) != 0);
		CHECK_INT(hs_stats_get(dumps), 1);
		_exit(CHECK_RESULT());
	}
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
	release();
}

/* Its end is not the process's in the parent, but in the child. */
static void parent_has_more_threads(void)
{
	start(NULL);
	sample(1, true);
	hs_session_thread_create_begins();
	CHECK(!hs_session_is_single_threaded());
	fork_for_one_profile();
	hs_session_finish();
}

static void *close_for_long(void *unused)
{
	CHECK(hs_session_close_begins());
	atomic_store(&is_held, true);
	WAIT_UNTIL(is_released);
	hs_session_close_ends(true);
	return unused;
}

/* That dlclose() will not end in the child, which has not got the thread. */
static void another_thread_closes(void)
{
	pthread_t thread;
	int status = 0;
	pid_t child;

	start(NULL);
	thread = run(close_for_long, NULL);
	WAIT_UNTIL(is_held);
	CHECK(hs_closes_under_way(hs_closes_now()));
	child = fork();
	if (child == 0)
		_exit(hs_closes_under_way(hs_closes_now()));
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
	release();
	pthread_join(thread, NULL);
	hs_session_finish();
}

/* Forks while another thread is held in a function.  The child's checks must hold. */
static void fork_beside(void *(*function)(void *), void (*in_child)(void))
{
	pthread_t thread = run(function, NULL);
	int status = 0;
	pid_t child;

	WAIT_UNTIL(is_held);
	child = fork();
	if (child == 0) {
		check_failures = 0;
		in_child();
		_exit(CHECK_RESULT());
	}
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
	release();
	pthread_join(thread, NULL);
	hs_session_finish();
}

static int told_off;

static void enabled(void *context, uint64_t interval_bytes)
{
	CHECK(context == NULL && interval_bytes == 1);
	atomic_store(&is_held, true);
	WAIT_UNTIL(is_released);
}

static void disabled(void *context)
{
	CHECK(context == NULL);
	told_off++;
}

static void *register_for_long(void *unused)
{
	static const struct heapsample_heap_calls calls = {enabled, disabled, NULL};

	CHECK(hs_session_heap_register("pool", &calls) > 0);
	return unused;
}

static void switch_heap_off(void)
{
	CHECK_INT(hs_session_switch_off(), 0);
	CHECK_INT(told_off, 1);
}

/* Nobody in the child is in the heap's function: it is told what changes there. */
static void another_thread_tells_a_heap(void)
{
	start(NULL);
	fork_beside(register_for_long, switch_heap_off);
}

static atomic_bool registers_slowly;

void __wrap_hs_heap_register(uint32_t heap);
void __real_hs_heap_register(uint32_t heap);

void __wrap_hs_heap_register(uint32_t heap)
{
	__real_hs_heap_register(heap);
	if (atomic_load(&registers_slowly)) {
		atomic_store(&is_held, true);
		WAIT_UNTIL(is_released);
	}
}

static void *register_slowly(void *unused)
{
	CHECK(hs_session_heap_register("pool", NULL) > 0);
	return unused;
}

static void register_another(void)
{
	atomic_store(&registers_slowly, false);
	CHECK(hs_session_heap_register("another", NULL) > 0);
}

/* Its lock is free in the child, which has not got the thread. */
static void another_thread_registers_a_heap(void)
{
	start(NULL);
	atomic_store(&registers_slowly, true);
	fork_beside(register_slowly, register_another);
}

static void *record_slowly(void *unused)
{
	const uint32_t tid = (uint32_t)hs_sys_gettid();
	uint64_t open;

	CHECK(hs_ring_reserve(&hs_session.ring, 64, HS_RING_ORDINARY, tid, 0, &open) != NULL);
	atomic_store(&is_held, true);
	WAIT_UNTIL(is_released);
	hs_ring_abandon(&hs_session.ring, hs_ring_ticket(open), tid);
	return unused;
}

static void write_without_the_record(void)
{
	sample(1, true);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	CHECK_INT(hs_ring_unread(&hs_session.ring), 0);
	CHECK_INT(hs_stats_get(abandoned), 0);
}

/* Its sample is not in the child's books, but not one that the child has lost. */
static void another_thread_takes_a_sample(void)
{
	start(NULL);
	fork_beside(record_slowly, write_without_the_record);
}

/* For longer than a fork waits.  The child is not profiled, and the parent goes on. */
static void producer_keeps_its_lock(void)
{
	int status = 0;
	pid_t child;

	start(NULL);
	sample(1, true);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	hs_lock_acquire(&hs_session.producer_batch);
	child = fork();
	if (child == 0) {
		check_failures = 0;
		CHECK(!hs_session_is_active());
		_exit(CHECK_RESULT());
	}
	hs_lock_release(&hs_session.producer_batch);
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
	sample(1, true);
	CHECK_INT(hs_session_dump(NULL, 0), 0);
	CHECK_INT(hs_stats_get(unwound) + hs_stats_get(walked), 2);
}

/* HEAPSAMPLE_MAX_CPU is for each process. */
static void parent_has_used_processor_time(void)
{
	int status = 0;
	pid_t child;

	start("HEAPSAMPLE_MAX_CPU=5s");
	hs_stats_add(worker_cpu_ns, UINT64_C(4) * HS_SECOND_NS);
	child = fork();
	if (child == 0) {
		check_failures = 0;
		hs_stats_add(worker_cpu_ns, UINT64_C(4) * HS_SECOND_NS);
		hs_lock_acquire(&hs_session.producer_batch);
		hs_cpu_guard_follow();
		hs_lock_release(&hs_session.producer_batch);
		CHECK(!hs_sampler_has_ended());
		_exit(CHECK_RESULT());
	}
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
}

static int messages, stderr_before;

/* As start(), with messages to a file. */
static void start_with_messages(const char *setting)
{
	char path[128];

	snprintf(path, sizeof path, "%s/messages", scratch);
	messages = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	stderr_before = dup(STDERR_FILENO);
	dup2(messages, STDERR_FILENO);
	start(setting);
}

/* Forks a child that takes a sample, counts more, and ends.  There must be no message. */
static void fork_silently(uint64_t more)
{
	char text[1024] = "";
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		check_failures = 0;
		sample(1, true);
		hs_heap_add(HS_HEAP_MALLOC, samples, more);
		hs_session_finish();
		CHECK(atomic_load(&hs_session.finished) != 0);
		_exit(CHECK_RESULT());
	}
	waitpid(child, &status, 0);
	dup2(stderr_before, STDERR_FILENO);
	CHECK_INT(status, 0);
	CHECK(pread(messages, text, sizeof text - 1, 0) >= 0);
	CHECK_STR(text, "");
}

/* It is not in the child's stream that they are missing. */
static void parent_has_missed_events(void)
{
	char setting[128];

	snprintf(setting, sizeof setting, "HEAPSAMPLE_STREAM=%s/%%p.stream", scratch);
	start_with_messages(setting);
	hs_heap_add(HS_HEAP_MALLOC, lost_ring, 1);
	/* Of a free, which a thread of the parent has begun. */
	atomic_fetch_add(&hs_sequence.next, 1);
	fork_silently(0);
}

/* The child's have them. */
static void parent_has_samples_without_stacks(void)
{
	start_with_messages(NULL);
	hs_heap_add(HS_HEAP_MALLOC, samples, 1000);
	hs_heap_add(HS_HEAP_MALLOC, stackless, 1000);
	fork_silently(1000);
}

/* Which the parent will write. */
static void a_profile_is_requested(void)
{
	start("HEAPSAMPLE_SIGNAL=USR2");
	hold(PRODUCER, SYS_write);
	sample(1, true);
	raise(SIGUSR2);
	WAIT_UNTIL(is_held);
	raise(SIGUSR2);
	CHECK(atomic_load(&hs_session.requests) != 0);
	fork_for_one_profile();
	hs_session_finish();
	CHECK_INT(hs_stats_get(dumps), 3);
}

static const struct held_case cases[] = {
	{"parent_has_more_threads", parent_has_more_threads},
	{"another_thread_closes", another_thread_closes},
	{"another_thread_tells_a_heap", another_thread_tells_a_heap},
	{"another_thread_registers_a_heap", another_thread_registers_a_heap},
	{"another_thread_takes_a_sample", another_thread_takes_a_sample},
	{"producer_keeps_its_lock", producer_keeps_its_lock},
	{"parent_has_used_processor_time", parent_has_used_processor_time},
	{"parent_has_missed_events", parent_has_missed_events},
	{"parent_has_samples_without_stacks", parent_has_samples_without_stacks},
	{"a_profile_is_requested", a_profile_is_requested},
	{"no_profile_is_open", no_profile_is_open},
	{"no_stream_is_open", no_stream_is_open},
	{"profile_is_opened", profile_is_opened},
	{"profile_has_been_opened", profile_has_been_opened},
	{"profile_is_closed", profile_is_closed},
	{"directory_is_opened", directory_is_opened},
	{"profile_gets_its_name", profile_gets_its_name},
	{"kept_profile_is_looked_at", kept_profile_is_looked_at},
	{"profile_is_logged", profile_is_logged},
	{"profile_is_logged_in_a_file", profile_is_logged_in_a_file},
	{"symbols_are_read", symbols_are_read},
	{"symbols_are_read_beside_long_work", symbols_are_read_beside_long_work},
	{"file_of_symbols_is_closed", file_of_symbols_is_closed},
	{"kept_profile_cannot_be_removed", kept_profile_cannot_be_removed},
	{"statistics_get_their_name", statistics_get_their_name},
	{"stream_is_opened", stream_is_opened},
	{"missing_events_are_logged", missing_events_are_logged},
};

int main(int argc, char **argv)
{
#ifdef __SANITIZE_THREAD__
	SKIP("ThreadSanitizer allows no threads in a child that a thread among others has forked");
#endif
	return run_cases(cases, sizeof cases / sizeof cases[0], argc > 1 ? argv[1] : NULL);
}
